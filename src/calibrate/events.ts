import { EVENT_HEADER_LENGTH } from "../binlog/event.ts";
import { EVENT_TYPE } from "../binlog/event-type.ts";
import { COLUMN_TYPE } from "../binlog/columns/types.ts";
import type { BinlogFormat } from "../binlog/format.ts";

/** Row events made here, for tables `(id INT PRIMARY KEY, k INT, text VARCHAR(n))` whose columns are never NULL: as MySQL 8.0 logs them, which every server reads. */

export interface Row {
  id: number;
  k: number;
  text: string;
}

export interface LoggedTable {
  id: number;
  schema: string;
  name: string;
  /** Of the column's definition, in bytes: at least 256, so that lengths have two bytes. */
  textBytesMax: number;
}

const POST_HEADER_LENGTHS = new Map<number, number>([
  [EVENT_TYPE.FORMAT_DESCRIPTION, 98],
  [EVENT_TYPE.TABLE_MAP, 8],
  [EVENT_TYPE.WRITE_ROWS, 10],
  [EVENT_TYPE.UPDATE_ROWS, 10],
  [EVENT_TYPE.DELETE_ROWS, 10],
]);

/** Post-header lengths of libbinlogevents/include/rows_event.h and binlog_event.h, 8.0; those of events that are not made here do not matter. */
export const FORMAT: BinlogFormat = {
  binlogVersion: 4,
  serverVersion: "8.0.40",
  flavour: "mysql",
  checksum: "none",
  headerLength: EVENT_HEADER_LENGTH,
  postHeaderLengths: Uint8Array.from({ length: 42 }, (_, type) => POST_HEADER_LENGTHS.get(type) ?? 0),
};

const COLUMNS = 3;
const ALL_COLUMNS = 0b111;
const NO_NULLS = 0;
const STATEMENT_END = 1;

export function tableMap({ id, schema, name, textBytesMax }: LoggedTable): Buffer {
  return event(EVENT_TYPE.TABLE_MAP, [
    littleEndian(6, id),
    littleEndian(2, 0),
    Buffer.of(schema.length),
    Buffer.from(schema),
    Buffer.of(0, name.length),
    Buffer.from(name),
    Buffer.of(0, COLUMNS, COLUMN_TYPE.LONG, COLUMN_TYPE.LONG, COLUMN_TYPE.VARCHAR, 2),
    littleEndian(2, textBytesMax),
    Buffer.of(NO_NULLS),
  ]);
}

export const insertRows = (table: LoggedTable, rows: readonly Row[]): Buffer =>
  rowsEvent(EVENT_TYPE.WRITE_ROWS, table, 1, rows);

export const deleteRows = (table: LoggedTable, rows: readonly Row[]): Buffer =>
  rowsEvent(EVENT_TYPE.DELETE_ROWS, table, 1, rows);

/** Before and after images in turn. */
export const updateRows = (table: LoggedTable, images: readonly Row[]): Buffer =>
  rowsEvent(EVENT_TYPE.UPDATE_ROWS, table, 2, images);

function rowsEvent(type: number, { id }: LoggedTable, imagesOfRow: 1 | 2, images: readonly Row[]): Buffer {
  return event(type, [
    littleEndian(6, id),
    littleEndian(2, STATEMENT_END),
    littleEndian(2, 2),
    Buffer.of(COLUMNS, ...Array.from({ length: imagesOfRow }, () => ALL_COLUMNS)),
    ...images.map(image),
  ]);
}

const image = ({ id, k, text }: Row): Buffer =>
  Buffer.concat([
    Buffer.of(NO_NULLS),
    littleEndian(4, id),
    littleEndian(4, k),
    littleEndian(2, text.length),
    Buffer.from(text, "latin1"),
  ]);

function event(type: number, parts: readonly Buffer[]): Buffer {
  const whole = Buffer.concat([Buffer.alloc(EVENT_HEADER_LENGTH), ...parts]);
  whole[4] = type;
  whole.writeUInt32LE(1, 5);
  whole.writeUInt32LE(whole.length, 9);
  return whole;
}

function littleEndian(bytes: number, value: number): Buffer {
  const buffer = Buffer.alloc(bytes);
  buffer.writeUIntLE(value, 0, bytes);
  return buffer;
}
