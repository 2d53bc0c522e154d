import { ByteReader } from "../../base/reader.ts";
import { lengthCode } from "../columns/length.ts";
import type { LengthCode } from "../columns/length.ts";
import { COLUMN_TYPE } from "../columns/types.ts";
import { contentEnd } from "../checksum.ts";
import type { BinlogFormat } from "../format.ts";
import { bodyReader, postHeaderLength } from "./body.ts";

export interface TableMapEvent {
  kind: "table-map";
  tableId: number;
  flags: number;
  schema: string;
  table: string;
  columnCount: number;
  /** One byte per column: MYSQL_TYPE_ as in the log (ENUM and SET hide behind STRING). */
  types: Buffer;
  /** Per column: the type's metadata as one number (little-endian of 1 or 2 bytes; STRING and NEWDECIMAL: first byte high). */
  metadata: Uint16Array;
  /** How long each column's value is in a row image. */
  lengthCodes: Int32Array;
  /** Columns of type JSON: as many bits say in a partial update which of them hold differences. */
  jsonColumns: number;
  /** Bit i of the bytes: column i may be NULL. */
  nullBits: Buffer;
  /** Raw fields of binlog_row_metadata; empty when the server writes none. `decodeOptionalMetadata` reads them. */
  optional: Buffer;
}

/** Table ids had 4 bytes before 5.1.4; then the post-header is 6 bytes long. */
const OLD_POST_HEADER_LENGTH = 6;
const POST_HEADER_LENGTH = 8;

/**
 * TABLE_MAP (19; Table_map_event, libbinlogevents/include/rows_event.h, 8.0), before the row events of a statement:
 *
 *     u48 table id; u16 flags; u8 length, schema, 0; u8 length, table, 0
 *     lenenc number of columns; types; lenenc length, metadata of those types that have some; a bit per column that may be NULL
 *     optional fields to the end (binlog_row_metadata, since 8.0.1 and MariaDB 10.5)
 */
export function decodeTableMap(event: Buffer, format: BinlogFormat): TableMapEvent {
  const reader = bodyReader(event, format);
  const postHeader = postHeaderLength(event, format, POST_HEADER_LENGTH);
  const tableId = postHeader === OLD_POST_HEADER_LENGTH ? reader.u32() : reader.u48();
  const flags = reader.u16();
  const schema = reader.text(reader.u8());
  reader.skip(1);
  const table = reader.text(reader.u8());
  reader.skip(1);
  const columnCount = reader.lenenc();
  const types = reader.take(columnCount);
  const metadataLength = reader.lenenc();
  const metadata = decodeMetadata(types, reader.take(metadataLength));
  const lengthCodes = new Int32Array(columnCount);
  let jsonColumns = 0;
  for (let i = 0; i < columnCount; i++) {
    lengthCodes[i] = lengthCode(types[i] as number, metadata[i] as number) satisfies LengthCode;
    if (types[i] === COLUMN_TYPE.JSON) jsonColumns++;
  }
  const nullBits = reader.take((columnCount + 7) >> 3);
  return {
    kind: "table-map",
    tableId,
    flags,
    schema,
    table,
    columnCount,
    types,
    metadata,
    lengthCodes,
    jsonColumns,
    nullBits,
    optional: reader.rest(),
  };
}

/** Each type has 0, 1 or 2 bytes of metadata; two are a number with the low byte first, except where the first tells something of its own. */
function decodeMetadata(types: Buffer, bytes: Buffer): Uint16Array {
  const reader = new ByteReader(bytes);
  const metadata = new Uint16Array(types.length);
  for (let i = 0; i < types.length; i++) {
    switch (types[i]) {
      case COLUMN_TYPE.STRING:
      case COLUMN_TYPE.ENUM:
      case COLUMN_TYPE.SET:
      case COLUMN_TYPE.NEWDECIMAL:
        metadata[i] = (reader.u8() << 8) | reader.u8();
        break;
      case COLUMN_TYPE.VARCHAR:
      case COLUMN_TYPE.VAR_STRING:
      case COLUMN_TYPE.VARCHAR_COMPRESSED:
      case COLUMN_TYPE.BIT:
        metadata[i] = reader.u16();
        break;
      case COLUMN_TYPE.FLOAT:
      case COLUMN_TYPE.DOUBLE:
      case COLUMN_TYPE.TINY_BLOB:
      case COLUMN_TYPE.BLOB:
      case COLUMN_TYPE.MEDIUM_BLOB:
      case COLUMN_TYPE.LONG_BLOB:
      case COLUMN_TYPE.BLOB_COMPRESSED:
      case COLUMN_TYPE.GEOMETRY:
      case COLUMN_TYPE.JSON:
      case COLUMN_TYPE.VECTOR:
      case COLUMN_TYPE.TIMESTAMP2:
      case COLUMN_TYPE.DATETIME2:
      case COLUMN_TYPE.TIME2:
        metadata[i] = reader.u8();
        break;
      case COLUMN_TYPE.TYPED_ARRAY:
        metadata[i] = skipElementType(reader);
        break;
      default:
        break;
    }
  }
  return metadata;
}

/** An array's element type comes first, then that type's own (Field_typed_array::do_save_field_metadata, sql/field.cc, 8.0). */
function skipElementType(reader: ByteReader): number {
  const element = reader.u8();
  if (element === COLUMN_TYPE.VARCHAR) reader.skip(3);
  else if (element === COLUMN_TYPE.NEWDECIMAL) reader.skip(2);
  else if (element === COLUMN_TYPE.TIME2 || element === COLUMN_TYPE.DATETIME2) reader.skip(1);
  return element;
}

/** The table id of a table map or a row event: the first field of both. */
export function tableIdOf(event: Buffer, format: BinlogFormat): number {
  const fixed = format.headerLength;
  const old = format.postHeaderLengths[event[4] as number] === OLD_POST_HEADER_LENGTH;
  if (fixed + OLD_POST_HEADER_LENGTH > contentEnd(event, format))
    bodyReader(event, format).skip(OLD_POST_HEADER_LENGTH);
  const low = event.readUInt32LE(fixed);
  return old ? low : low + event.readUInt16LE(fixed + 4) * 0x1_0000_0000;
}

/** Tables that one statement changes, and then some: a statement's maps are never forgotten before its rows have come. */
const GENERATION_MAX = 4096;

interface KnownMap {
  body: Buffer;
  map: TableMapEvent;
}

/**
 * Table maps in force, by table id.
 *
 * Invariant: `get` answers what the last `add` of that id said. A map whose body has the same bytes as before keeps its decoded form: sources repeat a map in
 * every statement, and decoding each would cost more than all else in a small transaction. Sources count table ids up with every DDL and FLUSH, so maps are
 * kept in two generations and those that were not added again for so long are dropped: memory is bounded.
 */
export class TableMaps {
  #young = new Map<number, KnownMap>();
  #old = new Map<number, KnownMap>();

  add(event: Buffer, format: BinlogFormat): TableMapEvent {
    const tableId = tableIdOf(event, format);
    const from = format.headerLength;
    const to = contentEnd(event, format);
    const known = this.#young.get(tableId);
    if (known !== undefined && isSame(known, event, from, to)) return known.map;
    const older = this.#old.get(tableId);
    if (older !== undefined && isSame(older, event, from, to)) return this.#keep(tableId, older);
    // A copy: the map must not hold on to the packet that it came in.
    const own = Buffer.from(event);
    return this.#keep(tableId, { body: own.subarray(from, to), map: decodeTableMap(own, format) });
  }

  #keep(tableId: number, known: KnownMap): TableMapEvent {
    if (this.#young.size >= GENERATION_MAX) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(tableId, known);
    return known.map;
  }

  get(tableId: number): TableMapEvent | undefined {
    return (this.#young.get(tableId) ?? this.#old.get(tableId))?.map;
  }

  /** At a new file or connection: the source counts table ids anew. */
  clear(): void {
    this.#young.clear();
    this.#old.clear();
  }
}

/** A call into the runtime costs as much as comparing this many bytes, and most maps are shorter. */
const BYTES_COMPARED_HERE_MAX = 160;

function isSame({ body }: KnownMap, event: Buffer, from: number, to: number): boolean {
  const { length } = body;
  if (length !== to - from) return false;
  if (length > BYTES_COMPARED_HERE_MAX) return body.compare(event, from, to) === 0;
  for (let i = 0; i < length; i++) if (body[i] !== event[from + i]) return false;
  return true;
}
