import { ByteReader } from "../../base/reader.ts";
import { COLUMN_TYPE } from "./types.ts";
import { decimalText } from "./value-number.ts";

/**
 * A JSON document of MySQL. `text`: the document. `expression`: SQL that makes it anew where its text alone would not, since it holds what JSON text cannot say (DECIMAL, times,
 * bytes); undefined: the text is enough.
 */
export interface JsonValue {
  text: string;
  expression: string | undefined;
}

const KIND = {
  SMALL_OBJECT: 0,
  LARGE_OBJECT: 1,
  SMALL_ARRAY: 2,
  LARGE_ARRAY: 3,
  LITERAL: 4,
  INT16: 5,
  UINT16: 6,
  INT32: 7,
  UINT32: 8,
  INT64: 9,
  UINT64: 10,
  DOUBLE: 11,
  STRING: 12,
  OPAQUE: 15,
} as const;

const LITERALS = ["null", "true", "false"] as const;
/** JSON_DOCUMENT_MAX_DEPTH (sql/json_dom.h, 8.0): deeper ones no server makes. */
const DEPTH_MAX = 100;

/**
 * Decodes the binary form (sql/json_binary.h, 8.0) in `[from, to)`: a byte that tells the kind, then
 *
 *     object: number of members, bytes in all, per member: offset of its key, u16 length of it; per member: u8 kind, offset or the value itself; keys; values
 *     array: the same without keys. Small ones have u16 for numbers and offsets, large ones u32. Offsets count from the number of members.
 *     string: length in groups of 7 bits, low ones first; UTF-8. opaque: u8 column type, length likewise, bytes
 *
 * No bytes at all are the document null.
 * @throws ReplicationError CORRUPT_EVENT
 */
export function decodeJson(bytes: Buffer, from: number, to: number): JsonValue {
  if (from === to) return { text: "null", expression: undefined };
  const kind = bytes[from] as number;
  const value = decode(new ByteReader(bytes, from + 1, to), kind, 0);
  if (kind !== KIND.OPAQUE) return value;
  // As a member it is put into a document by itself; alone it would be no JSON.
  return { text: value.text, expression: `JSON_EXTRACT(JSON_ARRAY(${value.expression ?? "NULL"}),'$[0]')` };
}

function decode(reader: ByteReader, kind: number, depth: number): JsonValue {
  switch (kind) {
    case KIND.SMALL_OBJECT:
    case KIND.LARGE_OBJECT:
    case KIND.SMALL_ARRAY:
    case KIND.LARGE_ARRAY:
      if (depth >= DEPTH_MAX) return reader.fail("a JSON document is too deep");
      return decodeContainer(reader, kind, depth + 1);
    case KIND.LITERAL:
      return plain(LITERALS[reader.u8()] ?? reader.fail("a JSON document has an unknown literal"));
    case KIND.INT16:
      return plain(String((reader.u16() << 16) >> 16));
    case KIND.UINT16:
      return plain(String(reader.u16()));
    case KIND.INT32:
      return plain(String(reader.u32() | 0));
    case KIND.UINT32:
      return plain(String(reader.u32()));
    case KIND.INT64:
      return plain(String(reader.i64()));
    case KIND.UINT64:
      return plain(String(reader.u64()));
    case KIND.DOUBLE:
      return plain(doubleJson(reader.take(8).readDoubleLE()));
    case KIND.STRING:
      return plain(JSON.stringify(reader.text(variableLength(reader))));
    case KIND.OPAQUE:
      return decodeOpaque(reader);
    default:
      return reader.fail(`a JSON document has a value of the unknown kind ${kind}`);
  }
}

function decodeContainer(outer: ByteReader, kind: number, depth: number): JsonValue {
  const large = kind === KIND.LARGE_OBJECT || kind === KIND.LARGE_ARRAY;
  const isObject = kind === KIND.SMALL_OBJECT || kind === KIND.LARGE_OBJECT;
  const { bytes, offset: base } = outer;
  const number = (reader: ByteReader): number => (large ? reader.u32() : reader.u16());
  const count = number(outer);
  const size = number(outer);
  const end = base + size;
  if (end > outer.end) outer.fail("a JSON document runs past its end");
  const entries = new ByteReader(bytes, outer.offset, end);
  const keys: string[] = [];
  if (isObject) {
    for (let i = 0; i < count; i++) {
      const at = base + number(entries);
      keys.push(new ByteReader(bytes, at, end).text(entries.u16()));
    }
  }
  const texts: string[] = [];
  const values: JsonValue[] = [];
  let special = false;
  for (let i = 0; i < count; i++) {
    const valueKind = entries.u8();
    const inlined = isInlined(valueKind, large);
    const at = entries.offset;
    const offset = number(entries);
    // An offset at or before its own container would go round for ever.
    if (!inlined && base + offset < entries.offset) outer.fail("a JSON document refers to itself");
    const value = decode(new ByteReader(bytes, inlined ? at : base + offset, end), valueKind, depth);
    special ||= value.expression !== undefined;
    values.push(value);
    texts.push(isObject ? `${JSON.stringify(keys[i])}: ${value.text}` : value.text);
  }
  const text = isObject ? `{${texts.join(", ")}}` : `[${texts.join(", ")}]`;
  if (!special) return plain(text);
  const parts = values.map((value, i) => (isObject ? `${quoted(keys[i] ?? "")},${sqlOf(value)}` : sqlOf(value)));
  return { text, expression: `${isObject ? "JSON_OBJECT" : "JSON_ARRAY"}(${parts.join(",")})` };
}

const isInlined = (kind: number, large: boolean): boolean =>
  kind === KIND.LITERAL ||
  kind === KIND.INT16 ||
  kind === KIND.UINT16 ||
  (large && (kind === KIND.INT32 || kind === KIND.UINT32));

const plain = (text: string): JsonValue => ({ text, expression: undefined });
const sqlOf = ({ text, expression }: JsonValue): string => expression ?? `CAST(${quoted(text)} AS JSON)`;

/** In a session whose character set is UTF-8. */
const quoted = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;

/** A number that stays a DOUBLE when it is read again. */
function doubleJson(value: number): string {
  const text = Object.is(value, -0) ? "-0" : String(value);
  return /[.e]/.test(text) ? text : `${text}.0`;
}

function variableLength(reader: ByteReader): number {
  let length = 0;
  for (let shift = 0; shift < 35; shift += 7) {
    const byte = reader.u8();
    length += (byte & 0x7f) * 2 ** shift;
    if ((byte & 0x80) === 0) return length;
  }
  return reader.fail("a JSON document has a length of more than five bytes");
}

/** Values of column types that JSON has no word for. */
function decodeOpaque(reader: ByteReader): JsonValue {
  const type = reader.u8();
  const value = reader.take(variableLength(reader));
  switch (type) {
    case COLUMN_TYPE.NEWDECIMAL: {
      const [precision = 0, scale = 0] = value;
      const text = decimalText(value, 2, value.length, precision, scale);
      return { text, expression: `CAST(${text} AS DECIMAL(${precision},${scale}))` };
    }
    case COLUMN_TYPE.DATE:
      return moment(dayText(packedOf(value) >> 41n), "DATE");
    case COLUMN_TYPE.TIME: {
      const packed = packedOf(value);
      const whole = packed < 0n ? -packed : packed;
      return moment(`${packed < 0n ? "-" : ""}${clockText(whole)}`, "TIME(6)");
    }
    case COLUMN_TYPE.DATETIME:
    case COLUMN_TYPE.TIMESTAMP: {
      const packed = packedOf(value);
      return moment(`${dayText(packed >> 41n)} ${clockText(packed & 0x1ff_ffff_ffffn)}`, "DATETIME(6)");
    }
    default:
      return {
        text: JSON.stringify(`base64:type${type}:${value.toString("base64")}`),
        expression: `X'${value.toString("hex")}'`,
      };
  }
}

const moment = (text: string, type: string): JsonValue => ({
  text: `"${text}"`,
  expression: `CAST('${text}' AS ${type})`,
});
const packedOf = (value: Buffer): bigint => new ByteReader(value).i64();
const pad = (value: bigint, digits: number): string => String(value).padStart(digits, "0");

/** Of my_time.cc's packed form, its fraction and its time of day cut off: (year * 13 + month) << 5 | day. */
function dayText(packed: bigint): string {
  const months = packed >> 5n;
  return `${pad(months / 13n, 4)}-${pad(months % 13n, 2)}-${pad(packed & 31n, 2)}`;
}

/** Hours, minutes and seconds above 24 bits of microseconds. */
function clockText(packed: bigint): string {
  const clock = packed >> 24n;
  return `${pad(clock >> 12n, 2)}:${pad((clock >> 6n) & 63n, 2)}:${pad(clock & 63n, 2)}.${pad(packed & 0xff_ffffn, 6)}`;
}

/** One step of a partial update: JSON_REPLACE, JSON_INSERT, JSON_ARRAY_INSERT or JSON_REMOVE at a path. */
export interface JsonDifference {
  operation: "replace" | "insert" | "remove";
  path: string;
  /** Undefined with `remove`. */
  value: JsonValue | undefined;
}

const OPERATIONS = ["replace", "insert", "remove"] as const;

/**
 * The differences that a partial update has in place of a document (Json_diff_vector::read_binary, sql/json_diff.cc, 8.0): `u8 operation; lenenc length, path;
 * lenenc length, value` until the end.
 */
export function decodeJsonDifferences(bytes: Buffer, from: number, to: number): JsonDifference[] {
  const reader = new ByteReader(bytes, from, to);
  const differences: JsonDifference[] = [];
  while (reader.remaining > 0) {
    const operation = OPERATIONS[reader.u8()] ?? reader.fail("a JSON difference has an unknown operation");
    const path = reader.text(reader.lenenc());
    let value: JsonValue | undefined;
    if (operation !== "remove") {
      const length = reader.lenenc();
      const at = reader.offset;
      reader.skip(length);
      value = decodeJson(bytes, at, at + length);
    }
    differences.push({ operation, path, value });
  }
  return differences;
}

/** SQL of type JSON that is `document` with these differences. */
export function applyDifferences(document: string, differences: readonly JsonDifference[]): string {
  return differences.reduce((sql, { operation, path, value }) => {
    const at = `${sql},${quoted(path)}`;
    if (operation === "remove" || value === undefined) return `JSON_REMOVE(${at})`;
    const replaces = operation === "replace";
    const name = replaces ? "JSON_REPLACE" : path.endsWith("]") ? "JSON_ARRAY_INSERT" : "JSON_INSERT";
    return `${name}(${at},${sqlOf(value)})`;
  }, document);
}
