import type { Column } from "../schema/catalog.ts";
import { quoteName } from "../schema/names.ts";

/**
 * How one column of a table is compared: an SQL expression for each side whose texts are equal exactly when the values are. The sessions speak
 * `SET NAMES binary`, so that no character set of ours takes part, and have time zone +00:00 and an empty sql_mode.
 */
export interface ComparedColumn {
  name: string;
  source: string;
  target: string;
}

/** Longer strings are hashed by themselves: a row's concatenation stays far below max_allowed_packet, above which CONCAT gives NULL. */
const SHORT_BYTES_MAX = 1000;
/** What the longest row's concatenation may need: 65,535 bytes of short strings (the servers' limit of a row) and 4,096 columns of 64 bytes. */
export const CONCATENATION_BYTES_MAX = 512 * 1024;

const INTEGERS = new Set(["tinyint", "smallint", "mediumint", "int", "bigint", "integer"]);
const TEMPORAL = new Set(["date", "time", "datetime", "timestamp"]);
const CHARACTERS = new Set(["char", "varchar", "tinytext", "text", "mediumtext", "longtext"]);
const ONLY_AS_TEXT = new Set(["uuid", "inet4", "inet6"]);

/**
 * The expressions for a pair of columns of the same name. Values are compared in their stored form where both sides store alike (character set, ENUM and SET
 * members), else in a form that both know (utf8mb4, labels).
 */
export function compareColumns(source: Column, target: Column): ComparedColumn {
  return {
    name: source.name,
    source: tokenOf(source, target),
    target: tokenOf(target, source),
  };
}

/** The hash of a row: 56 hexadecimal digits, never NULL. SHA-224 is the one that MySQL 5.6 to 9.x (MD5 left with 9.6) and MariaDB all have. */
export function rowHash(tokens: readonly string[]): string {
  return `SHA2(${tokens.length === 0 ? "''" : `CONCAT(${tokens.join(",")})`},224)`;
}

/**
 * A column's part of the concatenation. It reads back in one way only: numbers and times end in `;`, strings begin with their length, hashes have a fixed one,
 * NULL is `N`.
 */
function tokenOf(column: Column, other: Column): string {
  const name = quoteName(column.name);
  const type = column.dataType;
  if (type === "float" || type === "double" || type === "real") return ended(floatingPoint(name));
  // ZEROFILL and the display width of YEAR are not part of the value.
  if (INTEGERS.has(type)) return ended(/zerofill/i.test(column.columnType) ? `CAST(${name} AS UNSIGNED)` : name);
  if (type === "decimal" || type === "numeric") return ended(/zerofill/i.test(column.columnType) ? `${name}+0` : name);
  if (type === "year" || type === "bit") return ended(`CAST(${name} AS UNSIGNED)`);
  if (TEMPORAL.has(type)) return ended(name);
  if (type === "enum" || type === "set") {
    return column.columnType === other.columnType
      ? ended(`CAST(${name} AS UNSIGNED)`)
      : hashed(`CONVERT(${name} USING utf8mb4)`);
  }
  if (ONLY_AS_TEXT.has(type)) return measured(`CAST(${name} AS CHAR)`);
  if (CHARACTERS.has(type) && column.charset !== undefined && other.charset !== undefined) {
    const bytes = column.charset === other.charset ? name : `CONVERT(${name} USING utf8mb4)`;
    return isShort(column) && isShort(other) ? measured(`CAST(${bytes} AS BINARY)`) : hashed(bytes);
  }
  if ((type === "binary" || type === "varbinary") && isShort(column) && isShort(other)) return measured(name);
  // BLOB, TEXT, JSON, GEOMETRY, VECTOR and whatever comes: the bytes as the server gives them.
  return hashed(name);
}

/** At most 3 bytes more per character when converted. */
function isShort(column: Column): boolean {
  return column.octetLength !== undefined && column.octetLength <= SHORT_BYTES_MAX;
}

const ended = (expression: string): string => `IFNULL(CONCAT(${expression},';'),'N')`;
const measured = (expression: string): string => `IFNULL(CONCAT(LENGTH(${expression}),':',${expression}),'N')`;
const hashed = (expression: string): string => `IFNULL(SHA2(${expression},224),'N')`;

/**
 * All 17 digits of a FLOAT or DOUBLE, alike on all servers. Inside an expression MySQL 8 and later give a number at most 22 characters and round what does not
 * fit, and the servers differ in when they turn to exponents. Numbers of 1 to 2^300 have room for every digit (`1.2345678901234567e89`) and are printed alike,
 * so others are brought there first, times a power of two, which is exact; a letter says which. Negative zero is 0, as MariaDB prints it.
 */
function floatingPoint(name: string): string {
  const size = `ABS(${name})`;
  const scaled = (letter: string, ...exponents: number[]): string =>
    `CONCAT('${letter}',${[size, ...exponents.map(powerOfTwo)].join("*")})`;
  return (
    `CONCAT(IF(${name}<0,'-',''),CASE WHEN ${name}=0 THEN '0' ` +
    `WHEN ${size}>=${powerOfTwo(900)} THEN ${scaled("a", -900)} ` +
    `WHEN ${size}>=${powerOfTwo(600)} THEN ${scaled("b", -600)} ` +
    `WHEN ${size}>=${powerOfTwo(300)} THEN ${scaled("c", -300)} ` +
    `WHEN ${size}>=1e0 THEN ${scaled("d", 0)} ` +
    `WHEN ${size}>=${powerOfTwo(-300)} THEN ${scaled("e", 300)} ` +
    `WHEN ${size}>=${powerOfTwo(-600)} THEN ${scaled("f", 600)} ` +
    `WHEN ${size}>=${powerOfTwo(-900)} THEN ${scaled("g", 900)} ` +
    `ELSE ${scaled("h", 1000, 100)} END)`
  );
}

/** As a DOUBLE literal that reads back exactly. Times 2^0, a FLOAT becomes a DOUBLE: without it only 6 digits are printed. */
function powerOfTwo(exponent: number): string {
  const text = String(2 ** exponent).replace("e+", "e");
  return text.includes("e") ? text : `${text}e0`;
}
