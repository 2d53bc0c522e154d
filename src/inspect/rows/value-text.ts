import { applyDifferences, decodeJson, decodeJsonDifferences } from "../../binlog/columns/json.ts";
import { COLUMN_TYPE } from "../../binlog/columns/types.ts";
import { decodeValue } from "../../binlog/columns/value.ts";
import { bitsOf, doubleLiteral, doubleText, floatText } from "../../binlog/columns/value-number.ts";
import { quoteUtf8, type SqlText } from "./sql-text.ts";
import type { ColumnPlan } from "./table-plan.ts";

const HIGH_UNIT = 0x1_0000_0000;
/** Above, a double does not have every integer: 2^53 / 2^32. */
const HIGH_MAX = 0x20_0000;

/**
 * Writes the value in `[from, to)` of a row image, its length bytes included, as a literal: exact in a session of the character set utf8mb4, the time zone UTC and a sql_mode that
 * takes zero dates and backslashes. `compared`: what a column is compared with; else what it is set to.
 * @throws ReplicationError CORRUPT_EVENT, UNSUPPORTED
 */
export function writeValue(
  sql: SqlText,
  column: ColumnPlan,
  event: Buffer,
  from: number,
  to: number,
  compared: boolean,
): void {
  const start = from + column.lengthBytes;
  switch (column.as) {
    case "signed":
      writeInteger(sql, event, from, to, false);
      return;
    case "unsigned":
      writeInteger(sql, event, from, to, true);
      return;
    case "utf8":
      if (!sql.quotedUtf8(event, start, to)) writeBytes(sql, "_utf8mb4 ", event, start, to);
      return;
    case "latin1":
      if (!sql.quotedLatin1(event, start, to)) writeBytes(sql, "_latin1 ", event, start, to);
      return;
    case "bytes":
      sql.hex(event, start, to);
      return;
    case "padded-bytes":
      sql.hex(event, start, to, Math.max(0, column.lengthMax - (to - start)));
      return;
    case "characters":
      writeBytes(sql, `_${column.facts.charset ?? "binary"} `, event, start, to);
      return;
    case "guessed-text":
      if (!sql.quotedUtf8(event, start, to)) sql.hex(event, start, to);
      return;
    case "members":
      writeMembers(sql, column, event, from, to);
      return;
    case "real":
      sql.ascii(realText(event, from, to, compared));
      return;
    case "json": {
      const { text, expression } = decodeJson(event, start, to);
      if (expression !== undefined) sql.text(expression);
      else sql.text(compared ? `CAST(${quoteUtf8(text)} AS JSON)` : quoteUtf8(text));
      return;
    }
    case "other":
      sql.text(decodeValue(column.type, column.metadata, event, from, to, column.facts).literal ?? "NULL");
  }
}

/** A JSON column that a partial update changes: what it is set to. */
export function writeDifferences(sql: SqlText, column: ColumnPlan, event: Buffer, from: number, to: number): void {
  sql.text(applyDifferences(column.name, decodeJsonDifferences(event, from + column.lengthBytes, to)));
}

/** `CAST(column AS BINARY)=…` compares bytes, whatever the collation calls equal: for text that is not a key. */
export function writeBytesComparison(sql: SqlText, column: ColumnPlan, event: Buffer, from: number, to: number): void {
  const start = from + column.lengthBytes;
  sql.ascii("CAST(");
  sql.bytes(column.nameBytes);
  sql.ascii(" AS BINARY)=");
  if (column.as !== "utf8" || !sql.quotedUtf8(event, start, to)) sql.hex(event, start, to);
}

function writeBytes(sql: SqlText, introducer: string, event: Buffer, from: number, to: number): void {
  sql.ascii(introducer);
  sql.hex(event, from, to);
}

function writeInteger(sql: SqlText, event: Buffer, from: number, to: number, unsigned: boolean): void {
  switch (to - from) {
    case 1: {
      const byte = event[from] as number;
      sql.integer(unsigned ? byte : (byte << 24) >> 24);
      return;
    }
    case 2:
      sql.integer(unsigned ? event.readUInt16LE(from) : event.readInt16LE(from));
      return;
    case 3:
      sql.integer(unsigned ? event.readUIntLE(from, 3) : event.readIntLE(from, 3));
      return;
    case 4:
      sql.integer(unsigned ? event.readUInt32LE(from) : event.readInt32LE(from));
      return;
    default: {
      const high = unsigned ? event.readUInt32LE(from + 4) : event.readInt32LE(from + 4);
      if (high < HIGH_MAX && high >= -HIGH_MAX) sql.integer(high * HIGH_UNIT + event.readUInt32LE(from));
      else sql.ascii(String(unsigned ? event.readBigUInt64LE(from) : event.readBigInt64LE(from)));
    }
  }
}

function writeMembers(sql: SqlText, column: ColumnPlan, event: Buffer, from: number, to: number): void {
  const { enumLiterals, namesSet, facts } = column;
  const bits = bitsOf(event, from, to, "low-first");
  if (namesSet) {
    sql.text(quoteUtf8((facts.members ?? []).filter((_, i) => (bits >> BigInt(i)) & 1n).join(",")));
    return;
  }
  const literal = enumLiterals?.[Number(bits)];
  if (literal === undefined) sql.ascii(String(bits));
  else sql.text(literal);
}

/** The fewest digits that become the very value; a comparison takes place in DOUBLE, where 3.14 is no FLOAT's value. */
function realText(event: Buffer, from: number, to: number, compared: boolean): string {
  const isFloat = to - from === 4;
  const value = isFloat ? event.readFloatLE(from) : event.readDoubleLE(from);
  if (compared || value === 0) return doubleLiteral(value);
  return isFloat ? floatText(value) : doubleText(value);
}

/** Whether a column of this type holds documents that an update can give as differences. */
export const isJson = (column: ColumnPlan): boolean => column.type === COLUMN_TYPE.JSON;
