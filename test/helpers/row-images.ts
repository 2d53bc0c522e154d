import { COLUMN_TYPE } from "../../src/binlog/columns/types.ts";
import { le, makeEvent } from "./binlog-event.ts";

/** A column of a table map made by hand. */
export interface LoggedColumn {
  type: number;
  metadata: Buffer;
}

export const LOGGED = {
  int: { type: COLUMN_TYPE.LONG, metadata: Buffer.alloc(0) },
  double: { type: COLUMN_TYPE.DOUBLE, metadata: Buffer.of(8) },
  varchar: (bytesMax: number): LoggedColumn => ({ type: COLUMN_TYPE.VARCHAR, metadata: le(2, bytesMax) }),
  fixed: (bytes: number): LoggedColumn => ({
    type: COLUMN_TYPE.STRING,
    metadata: Buffer.of(COLUMN_TYPE.STRING, bytes),
  }),
  blob: (lengthBytes: number): LoggedColumn => ({ type: COLUMN_TYPE.BLOB, metadata: Buffer.of(lengthBytes) }),
} as const;

/** A value as the log has it, without its length; null: NULL; undefined: not in the image. */
export type LoggedValue = Buffer | null | undefined;

export function makeTableMap(tableId: number, schema: string, table: string, columns: readonly LoggedColumn[]): Buffer {
  const metadata = Buffer.concat(columns.map((column) => column.metadata));
  return makeEvent(19, [
    le(6, tableId),
    le(2, 1),
    schema.length,
    schema,
    0,
    table.length,
    table,
    0,
    columns.length,
    Buffer.from(columns.map(({ type }) => type)),
    metadata.length,
    metadata,
    Buffer.alloc((columns.length + 7) >> 3, 0xff),
  ]);
}

const TYPES = { write: 30, update: 31, delete: 32 } as const;

/** One row; `images`: the only one, or before and after. */
export function makeRow(
  operation: keyof typeof TYPES,
  tableId: number,
  columns: readonly LoggedColumn[],
  images: readonly (readonly LoggedValue[])[],
): Buffer {
  return makeEvent(TYPES[operation], [
    le(6, tableId),
    le(2, 1),
    le(2, 2),
    columns.length,
    ...images.map((image) => bits(image.map((value) => value !== undefined))),
    ...images.map((image) => makeImage(columns, image)),
  ]);
}

function makeImage(columns: readonly LoggedColumn[], image: readonly LoggedValue[]): Buffer {
  const present = image.filter((value) => value !== undefined);
  return Buffer.concat([
    bits(present.map((value) => value === null)),
    ...image.map((value, index) => (value ? withLength(columns[index] as LoggedColumn, value) : Buffer.alloc(0))),
  ]);
}

function withLength({ type, metadata }: LoggedColumn, value: Buffer): Buffer {
  switch (type) {
    case COLUMN_TYPE.VARCHAR:
      return Buffer.concat([le(metadata.readUInt16LE() > 255 ? 2 : 1, value.length), value]);
    case COLUMN_TYPE.STRING:
      return Buffer.concat([le(1, value.length), value]);
    case COLUMN_TYPE.BLOB:
      return Buffer.concat([le(metadata[0] as number, value.length), value]);
    default:
      return value;
  }
}

function bits(flags: readonly boolean[]): Buffer {
  const bytes = Buffer.alloc((flags.length + 7) >> 3);
  for (const [index, flag] of flags.entries())
    if (flag) bytes[index >> 3] = (bytes[index >> 3] as number) | (1 << (index & 7));
  return bytes;
}
