import { assert } from "../../base/assert.ts";
import { EVENT_HEADER_LENGTH, eventType } from "../../binlog/event.ts";
import { EVENT_TYPE } from "../../binlog/event-type.ts";
import { ROWS_FLAG, type RowsEvent } from "../../binlog/events/rows.ts";
import { ABSENT_VALUE, NULL_VALUE, type RowImage, RowWalker } from "../../binlog/events/row-walker.ts";
import { type TableMapEvent, TableMaps } from "../../binlog/events/table-map.ts";
import type { BinlogFormat } from "../../binlog/format.ts";
import type { BodyBatches } from "../worker-session.ts";

/** A rows event of a transaction with the table map that it goes by. Both can be sent as a statement of their own. */
export interface MappedRows {
  mapEvent: Buffer;
  map: TableMapEvent;
  event: Buffer;
}

/** One row of a rows event. Offsets and images are of `source`; values absent or NULL have no bytes. */
export interface SingleRow {
  mapEvent: Buffer;
  map: TableMapEvent;
  /** The event that it came in. */
  source: Buffer;
  rows: RowsEvent;
  /** Undefined: the operation has no such image. */
  before: RowImage | undefined;
  after: RowImage | undefined;
  bounds: { start: number; after: number; end: number };
}

/** The rows events of a transaction, each with its table map. */
export async function* mappedRows(batches: BodyBatches, format: BinlogFormat): AsyncGenerator<MappedRows> {
  const maps = new TableMaps();
  const events = new Map<number, Buffer>();
  for await (const batch of batches) {
    for (const event of batch) {
      if (eventType(event) === EVENT_TYPE.TABLE_MAP) {
        events.set(maps.add(event, format).tableId, event);
        continue;
      }
      const tableId = event.readUIntLE(format.headerLength, 6);
      const map = maps.get(tableId);
      const mapEvent = events.get(tableId);
      assert(map !== undefined && mapEvent !== undefined, "rows events follow their table map");
      yield { mapEvent, map, event };
    }
  }
}

export function* singleRows({ mapEvent, map, event }: MappedRows, format: BinlogFormat): Generator<SingleRow> {
  const walker = new RowWalker();
  const slotOf = Int32Array.from(map.types, (_, column) => column);
  const rows = walker.open(event, map, format, { slotOf, count: slotOf.length });
  while (walker.next()) {
    yield {
      mapEvent,
      map,
      source: event,
      rows,
      before: rows.beforeBitmap === 0 ? undefined : copyOf(walker.before),
      after: rows.afterBitmap === 0 ? undefined : copyOf(walker.after),
      bounds: { ...walker.bounds },
    };
  }
}

const copyOf = ({ starts, ends }: RowImage): RowImage => ({ starts: starts.slice(), ends: ends.slice() });

/** The row as a rows event of its own. */
export function asEvent({ source, rows, bounds }: SingleRow): Buffer {
  return rowsEvent(eventType(source), source, [
    source.subarray(EVENT_HEADER_LENGTH, rows.rowsOffset),
    source.subarray(bounds.start, bounds.end),
  ]);
}

/** The after-image as an insert. */
export function asInsert(row: SingleRow): Buffer {
  const { source, rows, bounds } = row;
  assert(rows.afterBitmap !== 0 && !rows.partial, "only a whole after-image can be inserted");
  return rowsEvent(typeOf(rows, "write"), source, [
    postHeader(row),
    source.subarray(rows.afterBitmap, rows.afterBitmap + bitmapLength(row)),
    source.subarray(bounds.after, bounds.end),
  ]);
}

/** An update that finds its row by these columns of the after-image, and gives it that image: what is there is replaced without having to be known. */
export function asReplacement(row: SingleRow, columns: readonly number[]): Buffer {
  const { source, rows, bounds } = row;
  assert(rows.afterBitmap !== 0 && !rows.partial, "only a whole after-image can replace a row");
  const key = keyImage(row, columns);
  return rowsEvent(typeOf(rows, "update"), source, [
    postHeader(row),
    key.bitmap,
    source.subarray(rows.afterBitmap, rows.afterBitmap + bitmapLength(row)),
    ...key.image,
    source.subarray(bounds.after, bounds.end),
  ]);
}

/** A delete of the row that has the after-image's values in these columns. */
export function asDeleteBy(row: SingleRow, columns: readonly number[]): Buffer {
  const key = keyImage(row, columns);
  return rowsEvent(typeOf(row.rows, "delete"), row.source, [postHeader(row), key.bitmap, ...key.image]);
}

/** An image of only these columns, of which none is NULL, as binlog_row_image=MINIMAL has them. */
function keyImage(row: SingleRow, columns: readonly number[]): { bitmap: Buffer; image: Buffer[] } {
  const bitmap = Buffer.alloc(bitmapLength(row));
  const values: Buffer[] = [];
  for (const column of columns.toSorted((a, b) => a - b)) {
    const value = bytesOf(row, row.after, column);
    assert(value !== undefined, "a key that names a row is in its image");
    bitmap[column >> 3] = (bitmap[column >> 3] ?? 0) | (1 << (column & 7));
    values.push(value);
  }
  return { bitmap, image: [Buffer.alloc((columns.length + 7) >> 3), ...values] };
}

/** The bytes of a value, its length before it; undefined when it is NULL or absent. */
export function bytesOf({ source }: SingleRow, image: RowImage | undefined, column: number): Buffer | undefined {
  const from = image?.starts[column] ?? ABSENT_VALUE;
  return from < 0 ? undefined : source.subarray(from, image?.ends[column]);
}

export const isNull = (image: RowImage | undefined, column: number): boolean => image?.starts[column] === NULL_VALUE;

const bitmapLength = ({ rows }: SingleRow): number => (rows.columnCount + 7) >> 3;

const TYPES = {
  1: { write: EVENT_TYPE.WRITE_ROWS_V1, update: EVENT_TYPE.UPDATE_ROWS_V1, delete: EVENT_TYPE.DELETE_ROWS_V1 },
  2: { write: EVENT_TYPE.WRITE_ROWS, update: EVENT_TYPE.UPDATE_ROWS, delete: EVENT_TYPE.DELETE_ROWS },
} as const;

const typeOf = (rows: RowsEvent, operation: RowsEvent["operation"]): number => TYPES[rows.version][operation];

const TABLE_ID_AND_FLAGS = 8;
/** Length field of version 2's extra data: it counts itself. The partition that it names is another one's for another operation. */
const NO_EXTRA_DATA = Buffer.of(2, 0);

/** Table id, flags, no extra data, number of columns. */
function postHeader({ source, rows }: SingleRow): Buffer {
  const fixedEnd = EVENT_HEADER_LENGTH + TABLE_ID_AND_FLAGS;
  const extra = rows.version === 2 ? NO_EXTRA_DATA.length + rows.extraData.length : 0;
  const firstBitmap = rows.beforeBitmap === 0 ? rows.afterBitmap : rows.beforeBitmap;
  return Buffer.concat([
    source.subarray(EVENT_HEADER_LENGTH, fixedEnd),
    ...(rows.version === 2 ? [NO_EXTRA_DATA] : []),
    source.subarray(fixedEnd + extra, firstBitmap),
  ]);
}

function rowsEvent(type: number, source: Buffer, parts: readonly Buffer[]): Buffer {
  const event = Buffer.concat([source.subarray(0, EVENT_HEADER_LENGTH), ...parts]);
  event[4] = type;
  event.writeUInt32LE(event.length, 9);
  const flagsAt = EVENT_HEADER_LENGTH + TABLE_ID_AND_FLAGS - 2;
  // COMPLETE_ROWS is said of the images that the source wrote.
  const flags = (event.readUInt16LE(flagsAt) | ROWS_FLAG.STATEMENT_END) & ~ROWS_FLAG.COMPLETE_ROWS;
  event.writeUInt16LE(flags, flagsAt);
  return event;
}
