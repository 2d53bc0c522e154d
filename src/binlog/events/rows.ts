import { ReplicationError } from "../../base/error.ts";
import { assert } from "../../base/assert.ts";
import { valueEnd } from "../columns/length.ts";
import { eventType } from "../event.ts";
import { EVENT_TYPE } from "../event-type.ts";
import type { BinlogFormat } from "../format.ts";
import { bodyReader, postHeaderLength } from "./body.ts";
import { tableIdOf } from "./table-map.ts";
import type { TableMapEvent } from "./table-map.ts";

export interface RowsEvent {
  kind: "rows";
  operation: "write" | "update" | "delete";
  /** 1: types 23–25, 2: 30–32 and 39. */
  version: 1 | 2;
  /** PARTIAL_UPDATE_ROWS: after-images may hold JSON differences. */
  partial: boolean;
  tableId: number;
  /** ROWS_FLAG. */
  flags: number;
  /** Version 2: after the two length bytes; empty in version 1. A view. */
  extraData: Buffer;
  columnCount: number;
  /** Offsets in the event of the bitmaps of columns present. Insert: only after; delete: only before; update: both. 0 when absent. */
  beforeBitmap: number;
  afterBitmap: number;
  /** The row images: `[rowsOffset, rowsEnd)` of the event. */
  rowsOffset: number;
  rowsEnd: number;
}

export const ROWS_FLAG = {
  STATEMENT_END: 1,
  NO_FOREIGN_KEY_CHECKS: 2,
  RELAXED_UNIQUE_CHECKS: 4,
  COMPLETE_ROWS: 8,
  /** MariaDB. */
  NO_CHECK_CONSTRAINT_CHECKS: 128,
} as const;

const OPERATIONS: Readonly<Record<number, RowsEvent["operation"]>> = {
  [EVENT_TYPE.WRITE_ROWS_V1]: "write",
  [EVENT_TYPE.UPDATE_ROWS_V1]: "update",
  [EVENT_TYPE.DELETE_ROWS_V1]: "delete",
  [EVENT_TYPE.WRITE_ROWS]: "write",
  [EVENT_TYPE.UPDATE_ROWS]: "update",
  [EVENT_TYPE.DELETE_ROWS]: "delete",
  [EVENT_TYPE.PARTIAL_UPDATE_ROWS]: "update",
};

const NO_EXTRA_DATA = Buffer.alloc(0);

/** Whether it is a row event that `decodeRows` reads; compressed ones must be unpacked first, those from before 5.1's release are not read. */
export function isRowsType(type: number): boolean {
  return (
    (type >= EVENT_TYPE.WRITE_ROWS && type <= EVENT_TYPE.DELETE_ROWS) ||
    (type >= EVENT_TYPE.WRITE_ROWS_V1 && type <= EVENT_TYPE.DELETE_ROWS_V1) ||
    type === EVENT_TYPE.PARTIAL_UPDATE_ROWS
  );
}

/**
 * Row events (Rows_event, libbinlogevents/include/rows_event.h, 8.0). Version 1 is MySQL 5.1 to 5.5 and MariaDB, version 2 MySQL since 5.6:
 *
 *     u48 table id (u32 when the post-header has 6 bytes); u16 flags; version 2: u16 length of extra data, itself included; extra data
 *     lenenc number of columns; a bit per column present; an update: again, for the after-image
 *     per row: a bit per present column that is NULL, then the values; an update: the before-image, then the after-image
 *     partial update: before each after-image lenenc options; when bit 0 is set, a bit per JSON column of the table that holds a difference
 */
export function decodeRows(event: Buffer, format: BinlogFormat): RowsEvent {
  const type = eventType(event);
  const operation = OPERATIONS[type];
  assert(operation !== undefined, "only row events of versions 1 and 2 are decoded as such");
  const reader = bodyReader(event, format);
  const version = type >= EVENT_TYPE.WRITE_ROWS ? 2 : 1;
  const postHeader = postHeaderLength(event, format, version === 2 ? 10 : 8);
  const tableId = postHeader === 6 ? reader.u32() : reader.u48();
  const flags = reader.u16();
  let extraLength = 0;
  if (version === 2) {
    extraLength = reader.u16() - 2;
    if (extraLength < 0) reader.fail("a row event's extra data is shorter than its length field");
  }
  const extraData = extraLength === 0 ? NO_EXTRA_DATA : reader.take(extraLength);
  const columnCount = reader.lenenc();
  const bitmapLength = (columnCount + 7) >> 3;
  const bitmap = reader.offset;
  reader.skip(bitmapLength);
  const second = reader.offset;
  if (operation === "update") reader.skip(bitmapLength);
  return {
    kind: "rows",
    operation,
    version,
    partial: type === EVENT_TYPE.PARTIAL_UPDATE_ROWS,
    tableId,
    flags,
    extraData,
    columnCount,
    beforeBitmap: operation === "write" ? 0 : bitmap,
    afterBitmap: operation === "write" ? bitmap : operation === "update" ? second : 0,
    rowsOffset: reader.offset,
    rowsEnd: reader.end,
  };
}

/** Whether a bitmap that starts at `bitmap` has `column`'s bit. */
export function hasBit(event: Buffer, bitmap: number, column: number): boolean {
  return (((event[bitmap + (column >> 3)] ?? 0) >> (column & 7)) & 1) === 1;
}

/** How many of the first `columns` bits are set. */
export function countBits(event: Buffer, bitmap: number, columns: number): number {
  let count = 0;
  for (let column = 0; column < columns; column++) if (hasBit(event, bitmap, column)) count++;
  return count;
}

export function rowsTableId(event: Buffer, format: BinlogFormat): number {
  return tableIdOf(event, format);
}

/** The flags without decoding the rest: they follow the table id. */
export function rowsFlags(event: Buffer, format: BinlogFormat): number {
  const old = format.postHeaderLengths[eventType(event)] === 6;
  const offset = format.headerLength + (old ? 4 : 6);
  if (offset + 2 > event.length) bodyReader(event, format).skip(8);
  return event.readUInt16LE(offset);
}

/**
 * Where a row image that begins at `offset` ends. `bitmap` has the columns present, `present` is how many those are.
 * @throws ReplicationError CORRUPT_EVENT when it runs past `rowsEnd`.
 */
function imageEnd(
  event: Buffer,
  offset: number,
  rows: RowsEvent,
  tableMap: TableMapEvent,
  bitmap: number,
  present: number,
): number {
  const { rowsEnd, columnCount } = rows;
  const { lengthCodes } = tableMap;
  const nulls = offset;
  let at = offset + ((present + 7) >> 3);
  if (at > rowsEnd) throw new ReplicationError("CORRUPT_EVENT", `a row is cut at byte ${offset} of ${rowsEnd}`);
  let index = 0;
  for (let column = 0; column < columnCount; column++) {
    if (present !== columnCount && !hasBit(event, bitmap, column)) continue;
    if (!hasBit(event, nulls, index)) {
      const code = lengthCodes[column] as number;
      const next = at + code;
      at = code >= 0 && next <= rowsEnd ? next : valueEnd(event, at, rowsEnd, code);
    }
    index++;
  }
  return at;
}

/** Where a partial update's list of JSON columns with differences ends, when an after-image's options begin at `offset`. */
export function partialOptionsEnd(event: Buffer, offset: number, rowsEnd: number, tableMap: TableMapEvent): number {
  const options = offset < rowsEnd ? (event[offset] as number) : 256;
  const end = offset + 1 + ((options & 1) === 1 ? (tableMap.jsonColumns + 7) >> 3 : 0);
  // One option exists, so the number never has more than a byte.
  if (options > 1 || end > rowsEnd) {
    throw new ReplicationError("CORRUPT_EVENT", "a partial update has unknown options");
  }
  return end;
}

/**
 * Rows changed: an update's two images count once. Walks the images by column type; no value is looked at.
 * @throws ReplicationError CORRUPT_EVENT when event and table map contradict each other.
 */
export function countRows(event: Buffer, tableMap: TableMapEvent, format: BinlogFormat): number {
  const rows = decodeRows(event, format);
  const { columnCount, rowsOffset, rowsEnd, beforeBitmap, afterBitmap } = rows;
  if (columnCount !== tableMap.columnCount || rows.tableId !== tableMap.tableId) {
    throw new ReplicationError("CORRUPT_EVENT", "a row event and its table map describe different tables");
  }
  const before = beforeBitmap === 0 ? 0 : countBits(event, beforeBitmap, columnCount);
  const after = afterBitmap === 0 ? 0 : countBits(event, afterBitmap, columnCount);
  // A minimal image of defaults alone has no columns and no bytes; the server then writes one row to an event.
  if (rowsOffset === rowsEnd) return before + after === 0 ? 1 : 0;
  let count = 0;
  let offset = rowsOffset;
  while (offset < rowsEnd) {
    const start = offset;
    if (beforeBitmap !== 0) offset = imageEnd(event, offset, rows, tableMap, beforeBitmap, before);
    if (rows.partial) offset = partialOptionsEnd(event, offset, rowsEnd, tableMap);
    if (afterBitmap !== 0) offset = imageEnd(event, offset, rows, tableMap, afterBitmap, after);
    if (offset === start) throw new ReplicationError("CORRUPT_EVENT", `a row without columns has bytes at ${start}`);
    count++;
  }
  return count;
}
