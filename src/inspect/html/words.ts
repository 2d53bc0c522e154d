import { formatCount, formatDuration } from "../../base/units.ts";
import type { StatementReport, TableReport } from "../report.ts";

/** How many of the longest lists a page shows: it is for reading, and the JSON has them all. */
export const ROWS_MAX = 200;

export function tableName({ schema, table }: { schema: string; table: string }): string {
  return `${schema}.${table}`;
}

export function rowsOf({ inserts, updates, deletes }: TableReport): number {
  return inserts + updates + deletes;
}

/** `2 h`, `1 min 30 s`, `5 s`: without the zeros that a table has. */
export function roundDuration(seconds: number): string {
  return formatDuration(seconds * 1000)
    .replace(/ 00 \w+$/, "")
    .replace(".0 ", " ");
}

/** `0.25`, `8.3`, `1,234`: of a rate two digits are enough. */
export function perSecond(value: number): string {
  return value < 9.95 ? String(Number(value.toPrecision(2))) : formatCount(value);
}

/** `34 %`, with a digit more for small parts. */
export function percent(share: number): string {
  const value = share * 100;
  return `${value > 0 && value < 9.95 ? value.toFixed(1) : value.toFixed(0)} %`;
}

/** `2026-11-30 03:12:04` of an ISO time; "" of none. */
export function when(at: string | null): string {
  return at === null ? "" : at.slice(0, 19).replace("T", " ");
}

/** Seconds since 1970. */
export function secondsOf(at: string): number {
  return Date.parse(at) / 1000;
}

/** `binlog.000003:1234`, as a server names a place. */
export function place({ file, position }: { file: string; position: number }): string {
  return `${file}:${position}`;
}

/** `ALTER TABLE shop.orders`: what fits beside a line in a chart. */
export function shortStatement({ text }: StatementReport): string {
  const words = text
    .replaceAll(/\/\*[\s\S]*?\*\/|\bIF\s+(?:NOT\s+)?EXISTS\b/gi, " ")
    .trim()
    .split(/\s+/);
  const short = words.slice(0, 3).join(" ");
  return short.length > 32 ? `${short.slice(0, 31)}…` : short;
}
