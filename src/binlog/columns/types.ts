/**
 * Column types as a table map names them (include/field_types.h, MySQL 9; MariaDB's two of its own from sql/field_types… include/mysql.h.pp, 10.11). The names
 * are the field's, without MYSQL_TYPE_.
 */
export const COLUMN_TYPE = {
  DECIMAL: 0,
  TINY: 1,
  SHORT: 2,
  LONG: 3,
  FLOAT: 4,
  DOUBLE: 5,
  NULL: 6,
  TIMESTAMP: 7,
  LONGLONG: 8,
  INT24: 9,
  DATE: 10,
  TIME: 11,
  DATETIME: 12,
  YEAR: 13,
  NEWDATE: 14,
  VARCHAR: 15,
  BIT: 16,
  TIMESTAMP2: 17,
  DATETIME2: 18,
  TIME2: 19,
  TYPED_ARRAY: 20,
  /** MariaDB's compressed columns. */
  BLOB_COMPRESSED: 140,
  VARCHAR_COMPRESSED: 141,
  VECTOR: 242,
  JSON: 245,
  NEWDECIMAL: 246,
  ENUM: 247,
  SET: 248,
  TINY_BLOB: 249,
  MEDIUM_BLOB: 250,
  LONG_BLOB: 251,
  BLOB: 252,
  VAR_STRING: 253,
  STRING: 254,
  GEOMETRY: 255,
} as const;

/**
 * The type behind STRING: CHAR and BINARY, ENUM or SET, told by the metadata's first byte. Its bits 4 and 5 hold, inverted, the upper bits of a CHAR's length
 * (Field_string::do_save_field_metadata, sql/field.cc, 8.0).
 */
export function stringType(metadata: number): number {
  const first = metadata >> 8;
  return first === COLUMN_TYPE.ENUM || first === COLUMN_TYPE.SET ? first : COLUMN_TYPE.STRING;
}

/** Bytes that a CHAR or BINARY column can hold at most, by STRING's metadata. */
export function stringLengthMax(metadata: number): number {
  return (((metadata >> 4) & 0x300) ^ 0x300) + (metadata & 0xff);
}

/** The column's type with ENUM and SET told from STRING. */
export function realType(type: number, metadata: number): number {
  return type === COLUMN_TYPE.STRING ? stringType(metadata) : type;
}
