import { charsetName, type Column, type Key, type Table } from "../schema/catalog.ts";
import { quoteName } from "../schema/names.ts";

/** A row's place in the key's order: one SQL literal per key column, as its source expression gave them. */
export type KeyPoint = readonly string[];

/** Rows after `from` up to and including `to`, in key order; undefined: from the first, to the last. */
export interface KeyRange {
  from: KeyPoint | undefined;
  to: KeyPoint | undefined;
}

export const WHOLE_TABLE: KeyRange = { from: undefined, to: undefined };

/** How rows of one side are walked: the key's columns in order, with what to select so that a literal can be made of the value. */
export interface KeyWalk {
  keyName: string;
  columns: { name: string; quoted: string; select: string; literal: (bytes: Buffer) => string }[];
}

const NUMBERS = new Set(["tinyint", "smallint", "mediumint", "int", "bigint", "integer", "decimal", "numeric"]);
const TIMES = new Set(["date", "time", "datetime", "timestamp"]);
const BYTES = new Set(["binary", "varbinary"]);

/** undefined when a key column is of a type that is not walked (BLOB, JSON, UUID, …): then the table is compared as one without a key. */
export function keyWalk(table: Table, key: Key): KeyWalk | undefined {
  const columns: KeyWalk["columns"] = [];
  for (const { name, descending } of key.columns) {
    const column = table.columns.find((candidate) => candidate.name === name);
    const way = column === undefined || descending ? undefined : wayOf(column);
    if (column === undefined || way === undefined) return undefined;
    columns.push({ name: column.name, quoted: quoteName(column.name), ...way });
  }
  return { keyName: key.name, columns };
}

function wayOf(column: Column): { select: string; literal: (bytes: Buffer) => string } | undefined {
  const name = quoteName(column.name);
  const type = column.dataType;
  if (NUMBERS.has(type)) return { select: `${name}+0`, literal: text };
  if (type === "float" || type === "double") {
    return { select: `${name}*1e0`, literal: (bytes) => (bytes.includes("e") ? text(bytes) : `${text(bytes)}e0`) };
  }
  if (type === "bit" || type === "year" || type === "enum" || type === "set") {
    return { select: `CAST(${name} AS UNSIGNED)`, literal: text };
  }
  if (TIMES.has(type)) return { select: name, literal: (bytes) => `'${text(bytes)}'` };
  if (BYTES.has(type)) return { select: name, literal: hexLiteral };
  if ((type === "char" || type === "varchar") && column.charset !== undefined) {
    return { select: `CAST(${name} AS BINARY)`, literal: (bytes) => `_${column.charset} ${hexLiteral(bytes)}` };
  }
  return undefined;
}

const text = (bytes: Buffer): string => bytes.toString("latin1");
const hexLiteral = (bytes: Buffer): string => `X'${bytes.toString("hex")}'`;

/**
 * Whether both sides have the rows in one order, so that a range of the source is a range of the target: the same columns with the same collations
 * and, where the order is the members', the same members.
 */
export function walksAlike(source: Table, target: Table, key: Key): boolean {
  return key.columns.every(({ name }) => {
    const ours = source.columns.find((column) => column.name === name);
    const theirs = target.columns.find((column) => column.name === name);
    if (ours === undefined || theirs === undefined) return false;
    if (ours.dataType === "enum" || ours.dataType === "set") return ours.columnType === theirs.columnType;
    return ours.dataType === theirs.dataType && ours.collation === theirs.collation;
  });
}

/** ` WHERE …` for the rows of a range. Written out column by column (a > 1 OR a = 1 AND b > 2), for no server uses an index for (a, b) > (1, 2). */
export function rangeCondition(walk: KeyWalk, range: KeyRange): string {
  const parts: string[] = [];
  if (range.from !== undefined) parts.push(beyond(walk, range.from, ">", ">"));
  if (range.to !== undefined) parts.push(beyond(walk, range.to, "<", "<="));
  return parts.length === 0 ? "" : ` WHERE ${parts.join(" AND ")}`;
}

function beyond(walk: KeyWalk, point: KeyPoint, strict: ">" | "<", last: ">" | "<="): string {
  const alternatives = walk.columns.map((column, index) => {
    const equal = walk.columns.slice(0, index).map((earlier, at) => `${earlier.quoted}=${point[at]}`);
    const operator = index === walk.columns.length - 1 ? last : strict;
    return [...equal, `${column.quoted}${operator}${point[index]}`].join(" AND ");
  });
  if (alternatives.length === 1) return alternatives[0] as string;
  // The first column alone bounds the range too: said by itself, the optimizer sees it whatever it makes of the rest.
  const bound = `${walk.columns[0]?.quoted}${strict}=${point[0]}`;
  return `${bound} AND (${alternatives.join(" OR ")})`;
}

export function keyOrder(walk: KeyWalk): string {
  return walk.columns.map((column) => column.quoted).join(",");
}

export function keySelect(walk: KeyWalk): string {
  return walk.columns.map((column) => column.select).join(",");
}

export function keyPoint(walk: KeyWalk, values: readonly (Buffer | null)[]): KeyPoint {
  return walk.columns.map((column, index) => column.literal(values[index] ?? Buffer.alloc(0)));
}

/** For people: `17`, `'2026-01-01'`, `abc`, `0x00ff`; several columns in parentheses. */
export function describeKey(point: KeyPoint): string {
  const values = point.map((literal) => {
    const hex = /^(_\w+ )?X'([0-9a-f]*)'$/.exec(literal);
    if (hex === null) return literal;
    const bytes = Buffer.from(hex[2] ?? "", "hex");
    const charset = charsetName(hex[1]?.slice(1).trim() ?? "binary");
    const readable =
      charset.startsWith("utf8") || charset === "ascii" ? bytes.toString("utf8") : bytes.toString("latin1");
    return hex[1] !== undefined && /^[^\p{Cc}\ufffd]*$/u.test(readable) ? `'${readable}'` : `0x${hex[2]}`;
  });
  return values.length === 1 ? (values[0] as string) : `(${values.join(", ")})`;
}
