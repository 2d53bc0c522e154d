import { ByteReader } from "../../base/reader.ts";
import { COLUMN_TYPE, realType } from "../columns/types.ts";
import type { TableMapEvent } from "./table-map.ts";

/** What binlog_row_metadata adds to a table map. A field that the event does not carry is undefined. Arrays have one place per column of the table. */
export interface OptionalMetadata {
  /** Numeric columns: true for unsigned; undefined for other types. */
  unsigned: (boolean | undefined)[] | undefined;
  /** Collation id of each character column, ENUM and SET included where the event tells them. */
  collations: (number | undefined)[] | undefined;
  names: string[] | undefined;
  /** Members of ENUM and SET columns, in the column's character set. */
  members: (Buffer[] | undefined)[] | undefined;
  /** 0 geometry, 1 point, 2 linestring … of GEOMETRY columns. */
  geometryTypes: (number | undefined)[] | undefined;
  /** Column indices; prefix length in characters, 0 for the whole column. */
  primaryKey: { column: number; prefix: number }[] | undefined;
  /** False for invisible columns. */
  visible: boolean[] | undefined;
  /** Dimensions of VECTOR columns. */
  dimensions: (number | undefined)[] | undefined;
}

/** Table_map_event::Optional_metadata_field_type (libs/mysql/binlog/event/rows_event.h, 9.0). */
const FIELD = {
  SIGNEDNESS: 1,
  DEFAULT_CHARSET: 2,
  COLUMN_CHARSET: 3,
  COLUMN_NAME: 4,
  SET_STR_VALUE: 5,
  ENUM_STR_VALUE: 6,
  GEOMETRY_TYPE: 7,
  SIMPLE_PRIMARY_KEY: 8,
  PRIMARY_KEY_WITH_PREFIX: 9,
  ENUM_AND_SET_DEFAULT_CHARSET: 10,
  ENUM_AND_SET_COLUMN_CHARSET: 11,
  COLUMN_VISIBILITY: 12,
  VECTOR_DIMENSIONALITY: 13,
} as const;

/**
 * Reads `u8 field; lenenc length; value` to the end. Most values list one thing per column of a certain kind, in the table's order; charsets come as a default
 * and exceptions, whose index counts columns of that kind only. Unknown fields are left out.
 */
export function decodeOptionalMetadata(tableMap: TableMapEvent): OptionalMetadata {
  const metadata: OptionalMetadata = {
    unsigned: undefined,
    collations: undefined,
    names: undefined,
    members: undefined,
    geometryTypes: undefined,
    primaryKey: undefined,
    visible: undefined,
    dimensions: undefined,
  };
  const outer = new ByteReader(tableMap.optional);
  while (outer.remaining > 0) {
    const field = outer.u8();
    const reader = new ByteReader(outer.take(outer.lenenc()));
    switch (field) {
      case FIELD.SIGNEDNESS:
        metadata.unsigned = bitsOf(reader, tableMap, isNumeric);
        break;
      case FIELD.DEFAULT_CHARSET:
        metadata.collations = withDefault(reader, tableMap, isCharacter, metadata.collations);
        break;
      case FIELD.COLUMN_CHARSET:
        metadata.collations = numbersOf(reader, tableMap, isCharacter, metadata.collations);
        break;
      case FIELD.COLUMN_NAME:
        metadata.names = [];
        while (reader.remaining > 0) metadata.names.push(reader.text(reader.lenenc()));
        break;
      case FIELD.SET_STR_VALUE:
        metadata.members = membersOf(reader, tableMap, COLUMN_TYPE.SET, metadata.members);
        break;
      case FIELD.ENUM_STR_VALUE:
        metadata.members = membersOf(reader, tableMap, COLUMN_TYPE.ENUM, metadata.members);
        break;
      case FIELD.GEOMETRY_TYPE:
        metadata.geometryTypes = numbersOf(reader, tableMap, (type) => type === COLUMN_TYPE.GEOMETRY);
        break;
      case FIELD.SIMPLE_PRIMARY_KEY:
        metadata.primaryKey = [];
        while (reader.remaining > 0) metadata.primaryKey.push({ column: reader.lenenc(), prefix: 0 });
        break;
      case FIELD.PRIMARY_KEY_WITH_PREFIX:
        metadata.primaryKey = [];
        while (reader.remaining > 0) metadata.primaryKey.push({ column: reader.lenenc(), prefix: reader.lenenc() });
        break;
      case FIELD.ENUM_AND_SET_DEFAULT_CHARSET:
        metadata.collations = withDefault(reader, tableMap, isEnumOrSet, metadata.collations);
        break;
      case FIELD.ENUM_AND_SET_COLUMN_CHARSET:
        metadata.collations = numbersOf(reader, tableMap, isEnumOrSet, metadata.collations);
        break;
      case FIELD.COLUMN_VISIBILITY:
        metadata.visible = bitsOf(reader, tableMap, () => true).map((bit) => bit === true);
        break;
      case FIELD.VECTOR_DIMENSIONALITY:
        metadata.dimensions = numbersOf(reader, tableMap, (type) => type === COLUMN_TYPE.VECTOR);
        break;
      default:
        break;
    }
  }
  return metadata;
}

type OfKind = (type: number) => boolean;

/** YEAR too, always unsigned: both servers write a bit for it (seen in MySQL 9.7 and MariaDB 11.8). */
const isNumeric: OfKind = (type) =>
  (type >= COLUMN_TYPE.TINY && type <= COLUMN_TYPE.DOUBLE) ||
  type === COLUMN_TYPE.LONGLONG ||
  type === COLUMN_TYPE.INT24 ||
  type === COLUMN_TYPE.YEAR ||
  type === COLUMN_TYPE.NEWDECIMAL;

/** VECTOR too, as the binary string that it is in MySQL 9; JSON and GEOMETRY are not. */
const isCharacter: OfKind = (type) =>
  type === COLUMN_TYPE.STRING ||
  type === COLUMN_TYPE.VAR_STRING ||
  type === COLUMN_TYPE.VARCHAR ||
  type === COLUMN_TYPE.VARCHAR_COMPRESSED ||
  type === COLUMN_TYPE.BLOB_COMPRESSED ||
  type === COLUMN_TYPE.VECTOR ||
  (type >= COLUMN_TYPE.TINY_BLOB && type <= COLUMN_TYPE.BLOB);

const isEnumOrSet: OfKind = (type) => type === COLUMN_TYPE.ENUM || type === COLUMN_TYPE.SET;

/** Indices of the table's columns of that kind. */
function columnsOf({ types, metadata, columnCount }: TableMapEvent, ofKind: OfKind): number[] {
  const columns: number[] = [];
  for (let i = 0; i < columnCount; i++) {
    if (ofKind(realType(types[i] as number, metadata[i] as number))) columns.push(i);
  }
  return columns;
}

/** One bit per column of that kind, the highest of a byte first. */
function bitsOf(reader: ByteReader, tableMap: TableMapEvent, ofKind: OfKind): (boolean | undefined)[] {
  const result = blank<boolean>(tableMap);
  let byte = 0;
  for (const [i, column] of columnsOf(tableMap, ofKind).entries()) {
    if ((i & 7) === 0) byte = reader.u8();
    result[column] = ((byte >> (7 - (i & 7))) & 1) === 1;
  }
  return result;
}

/** One number per column of that kind. */
function numbersOf(
  reader: ByteReader,
  tableMap: TableMapEvent,
  ofKind: OfKind,
  result: (number | undefined)[] = blank(tableMap),
): (number | undefined)[] {
  for (const column of columnsOf(tableMap, ofKind)) {
    if (reader.remaining === 0) break;
    result[column] = reader.lenenc();
  }
  return result;
}

function withDefault(
  reader: ByteReader,
  tableMap: TableMapEvent,
  ofKind: OfKind,
  result: (number | undefined)[] = blank(tableMap),
): (number | undefined)[] {
  const columns = columnsOf(tableMap, ofKind);
  const collation = reader.lenenc();
  for (const column of columns) result[column] = collation;
  while (reader.remaining > 0) {
    const column = columns[reader.lenenc()] ?? reader.fail("a character set is given for a column that is not there");
    result[column] = reader.lenenc();
  }
  return result;
}

function membersOf(
  reader: ByteReader,
  tableMap: TableMapEvent,
  type: number,
  result: (Buffer[] | undefined)[] = blank(tableMap),
): (Buffer[] | undefined)[] {
  for (const column of columnsOf(tableMap, (real) => real === type)) {
    const members: Buffer[] = [];
    for (let left = reader.lenenc(); left > 0; left--) members.push(reader.take(reader.lenenc()));
    result[column] = members;
  }
  return result;
}

function blank<T>({ columnCount }: TableMapEvent): (T | undefined)[] {
  return Array.from<T | undefined>({ length: columnCount });
}
