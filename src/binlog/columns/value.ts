import { inflateRawSync, inflateSync } from "node:zlib";
import { ReplicationError } from "../../base/error.ts";
import { lengthCode, UNKNOWN_LENGTH } from "./length.ts";
import { COLUMN_TYPE, realType, stringLengthMax } from "./types.ts";
import { bitsOf, decimalText, doubleLiteral, doubleText, floatText, integerText } from "./value-number.ts";
import {
  dateText,
  datetimeText,
  oldDatetimeText,
  oldTimestampText,
  oldTimeText,
  timestampText,
  timeText,
} from "./value-time.ts";

/** What a row image does not say of its column; from the catalog, or from the table map's optional metadata. What is not known is undefined. */
export interface ValueFacts {
  /** Of integers. Undefined is signed. */
  unsigned?: boolean | undefined;
  /** Of CHAR, VARCHAR, TEXT, ENUM and SET: `utf8mb4`; `binary` for BINARY, VARBINARY and BLOB. */
  charset?: string | undefined;
  /** Of ENUM and SET, in order. */
  members?: readonly string[] | undefined;
  /** MariaDB's types that the log has as BINARY. */
  dataType?: "uuid" | "inet4" | "inet6" | undefined;
}

/**
 * `text`: for people. `literal`: the value in SQL, exact, whatever the connection's character set and sql_mode, in a session with time_zone '+00:00' and without
 * NO_ZERO_DATE; undefined where there is none (JSON, arrays of multi-valued indexes).
 */
export interface Value {
  text: string;
  literal: string | undefined;
}

/** JavaScript's `latin1` is ISO 8859-1, the servers' is Windows-1252: these are its bytes 0x80 to 0x9f. (Node 20's own decoder of that name takes it for the former.) */
const LATIN1_HIGH =
  "\u20ac\u0081\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u008d\u017d\u008f" +
  "\u0090\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u009d\u017e\u0178";
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Decodes the value in `[from, to)` of a row image, its length bytes included, as a RowWalker gives it. `type` and `metadata` are the table map's.
 * @throws ReplicationError UNSUPPORTED: a type that is not known
 */
export function decodeValue(
  type: number,
  metadata: number,
  bytes: Buffer,
  from: number,
  to: number,
  facts: ValueFacts = {},
): Value {
  const code = lengthCode(type, metadata);
  if (code === UNKNOWN_LENGTH) {
    throw new ReplicationError("UNSUPPORTED", `a value of column type ${type} with metadata ${metadata}`);
  }
  const start = from + Math.max(0, -code);
  switch (realType(type, metadata)) {
    case COLUMN_TYPE.TINY:
    case COLUMN_TYPE.SHORT:
    case COLUMN_TYPE.INT24:
    case COLUMN_TYPE.LONG:
    case COLUMN_TYPE.LONGLONG:
      return same(integerText(bytes, from, to, facts.unsigned ?? false));
    case COLUMN_TYPE.FLOAT:
      return { text: floatText(bytes.readFloatLE(from)), literal: doubleLiteral(bytes.readFloatLE(from)) };
    case COLUMN_TYPE.DOUBLE:
      return { text: doubleText(bytes.readDoubleLE(from)), literal: doubleLiteral(bytes.readDoubleLE(from)) };
    case COLUMN_TYPE.NEWDECIMAL:
      return same(decimalText(bytes, from, to, metadata >> 8, metadata & 0xff));
    case COLUMN_TYPE.BIT:
      return same(String(bitsOf(bytes, from, to, "high-first")));
    case COLUMN_TYPE.YEAR: {
      const year = bytes[from] as number;
      return year === 0 ? { text: "0000", literal: "0" } : same(String(1900 + year));
    }
    case COLUMN_TYPE.DATE:
    case COLUMN_TYPE.NEWDATE:
      return quoted(dateText(bytes, from));
    case COLUMN_TYPE.TIME:
      return quoted(oldTimeText(bytes, from));
    case COLUMN_TYPE.DATETIME:
      return quoted(oldDatetimeText(bytes, from));
    case COLUMN_TYPE.TIMESTAMP:
      return quoted(oldTimestampText(bytes, from));
    case COLUMN_TYPE.TIME2:
      return quoted(timeText(bytes, from, metadata));
    case COLUMN_TYPE.DATETIME2:
      return quoted(datetimeText(bytes, from, metadata));
    case COLUMN_TYPE.TIMESTAMP2:
      return quoted(timestampText(bytes, from, metadata));
    case COLUMN_TYPE.ENUM:
      return enumValue(bitsOf(bytes, from, to, "low-first"), facts.members);
    case COLUMN_TYPE.SET:
      return setValue(bitsOf(bytes, from, to, "low-first"), facts.members);
    case COLUMN_TYPE.STRING:
      return stringValue(bytes.subarray(start, to), stringLengthMax(metadata), facts);
    case COLUMN_TYPE.VARCHAR_COMPRESSED:
    case COLUMN_TYPE.BLOB_COMPRESSED:
      return characters(uncompressed(bytes.subarray(start, to)), facts.charset);
    case COLUMN_TYPE.JSON:
    case COLUMN_TYPE.TYPED_ARRAY:
      return { text: `${to - start} bytes of binary JSON`, literal: undefined };
    case COLUMN_TYPE.GEOMETRY:
    case COLUMN_TYPE.VECTOR:
      return binary(bytes.subarray(start, to));
    case COLUMN_TYPE.NULL:
      return same("NULL");
    default:
      return characters(bytes.subarray(start, to), facts.charset);
  }
}

export const NULL_TEXT: Value = { text: "NULL", literal: "NULL" };

const same = (text: string): Value => ({ text, literal: text });
/** Digits and signs only: nothing to escape. */
const quoted = (text: string): Value => ({ text, literal: `'${text}'` });

/** Index 0 is the value that a wrong one became: it shows as the empty string. */
function enumValue(index: bigint, members: readonly string[] | undefined): Value {
  const member = index === 0n ? "" : members?.[Number(index) - 1];
  return { text: member ?? String(index), literal: String(index) };
}

function setValue(bits: bigint, members: readonly string[] | undefined): Value {
  const named = members?.filter((_, i) => (bits >> BigInt(i)) & 1n);
  return { text: named?.join(",") ?? String(bits), literal: String(bits) };
}

/** The log cuts a BINARY's trailing zeros, which are part of its value, and a CHAR's spaces, which are not. */
function stringValue(value: Buffer, lengthMax: number, { charset, dataType }: ValueFacts): Value {
  if (charset !== "binary" && dataType === undefined) return characters(value, charset);
  const whole = Buffer.alloc(Math.max(lengthMax, value.length));
  value.copy(whole);
  switch (dataType) {
    case "uuid":
      return quoted(uuidText(whole));
    case "inet4":
      return quoted(whole.subarray(0, 4).join("."));
    case "inet6":
      return quoted(inet6Text(whole));
    case undefined:
      return binary(whole);
  }
}

const hex = (bytes: Buffer): string => bytes.toString("hex").toUpperCase();
const binary = (bytes: Buffer): Value => ({
  text: bytes.length === 0 ? "" : `0x${hex(bytes)}`,
  literal: `X'${hex(bytes)}'`,
});

function characters(bytes: Buffer, charset: string | undefined): Value {
  switch (charset) {
    case "binary":
      return binary(bytes);
    case "utf8mb4":
    case "utf8mb3":
    case "utf8":
    case "ascii": {
      // Not every server knows the name utf8mb3; what is valid there is so here.
      const literal = `_utf8mb4 X'${hex(bytes)}'`;
      const text = utf8Text(bytes);
      return text === undefined ? { text: literal, literal } : { text, literal };
    }
    case "latin1":
      return { text: latin1Text(bytes), literal: `_latin1 X'${hex(bytes)}'` };
    case undefined:
      return { text: utf8Text(bytes) ?? `0x${hex(bytes)}`, literal: `X'${hex(bytes)}'` };
    default: {
      const literal = `_${charset} X'${hex(bytes)}'`;
      return { text: literal, literal };
    }
  }
}

const latin1Text = (bytes: Buffer): string =>
  bytes.toString("latin1").replace(/[\u0080-\u009f]/g, (byte) => LATIN1_HIGH[byte.charCodeAt(0) - 0x80] ?? byte);

function utf8Text(bytes: Buffer): string | undefined {
  try {
    return UTF8.decode(bytes);
  } catch {
    return undefined;
  }
}

/**
 * MariaDB's compressed columns: a byte, 0 when the rest is plain; else bit 7, the algorithm (0: zlib), bit 3 when the stream has no zlib header, and the number of bytes that hold
 * the length, high byte first (Field_longstr::uncompress, sql/field.cc, 10.11).
 */
function uncompressed(value: Buffer): Buffer {
  const head = value[0] ?? 0;
  if (head === 0) return value.subarray(1);
  const packed = value.subarray(1 + (head & 0x07));
  try {
    return (head & 0x08) === 0 ? inflateSync(packed) : inflateRawSync(packed);
  } catch (error) {
    throw new ReplicationError("CORRUPT_EVENT", "a compressed value cannot be unpacked", { cause: error });
  }
}

/**
 * MariaDB keeps UUIDs that hold a time with its parts in reverse, so that they sort; bit 7 of the variant, and a version above, tell them apart (plugin/type_uuid/
 * sql_type_uuid.h, 10.11).
 */
function uuidText(record: Buffer): string {
  const reversed = ((record[6] as number) & -record.readInt8(8) & 0x80) !== 0;
  const parts = reversed
    ? [
        [12, 16],
        [10, 12],
        [8, 10],
        [6, 8],
        [0, 6],
      ]
    : [
        [0, 4],
        [4, 6],
        [6, 8],
        [8, 10],
        [10, 16],
      ];
  return parts.map(([from, to]) => record.toString("hex", from, to)).join("-");
}

const inet6Text = (bytes: Buffer): string => (bytes.toString("hex").match(/.{4}/g) ?? []).join(":");
