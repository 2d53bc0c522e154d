import type { Session } from "../wire/session.ts";
import { rowHash } from "./row-hash.ts";
import {
  keyOrder,
  keyPoint,
  type KeyPoint,
  type KeyRange,
  keySelect,
  type KeyWalk,
  rangeCondition,
} from "./key-range.ts";

/** What all rows of a range come to: equal counts and sums mean equal rows, each as often, but for one chance in 2^64. */
export interface Checksum {
  rows: number;
  sum: string;
}

export interface HashedRow {
  /** The key's values as bytes, joined: equal for equal keys. */
  id: string;
  point: KeyPoint;
  hash: string;
}

export const same = (a: Checksum, b: Checksum): boolean => a.rows === b.rows && a.sum === b.sum;

/** Only 64 bits of each hash are summed up: the expression is computed again for every use. */
const checksumOf = (hash: string): string => `COUNT(*),COALESCE(SUM(CAST(CONV(LEFT(${hash},16),16,10) AS UNSIGNED)),0)`;

/** One side of the comparison of one table: a session on the server, and how its rows are hashed and, with a key, walked. */
export class Side {
  readonly #session: Session;
  readonly #table: string;
  readonly #hash: string;
  readonly #columns: readonly string[];

  /** `table`: quoted; `tokens`: one expression per compared column (row-hash.ts); `columns`: their quoted names; `index`: walked by, when this side has it. */
  constructor(session: Session, table: string, tokens: readonly string[], columns: readonly string[], index?: string) {
    this.#session = session;
    this.#table = index === undefined ? table : `${table} FORCE INDEX (${index})`;
    this.#hash = rowHash(tokens);
    this.#columns = columns;
  }

  /** `where`: ` WHERE …`, or empty for all rows. */
  async checksum(where = ""): Promise<Checksum> {
    const [row] = await this.#rows(`SELECT ${checksumOf(this.#hash)} FROM ${this.#table}${where}`);
    return { rows: Number(row?.[0]), sum: String(row?.[1]) };
  }

  /** The key of the row that is `rows` after the range's start, or undefined when the range ends before. */
  async boundary(walk: KeyWalk, range: KeyRange, rows: number): Promise<KeyPoint | undefined> {
    const [row] = await this.#rows(
      `SELECT ${keySelect(walk)} FROM ${this.#table}${rangeCondition(walk, range)} ORDER BY ${keyOrder(walk)} LIMIT 1 OFFSET ${rows - 1}`,
    );
    return row === undefined ? undefined : keyPoint(walk, row);
  }

  /** Keys and hashes of the rows of a range, in key order. */
  async hashedRows(walk: KeyWalk, range: KeyRange): Promise<HashedRow[]> {
    const rows = await this.#rows(
      `SELECT ${keySelect(walk)},${this.#hash} FROM ${this.#table}${rangeCondition(walk, range)} ORDER BY ${keyOrder(walk)}`,
    );
    return rows.map((row) => {
      const point = keyPoint(walk, row);
      return { id: point.join(), point, hash: String(row.at(-1)) };
    });
  }

  /** Checksums of the rows by the first `length` digits of their hash, of those whose hash begins with `prefix`. */
  async buckets(prefix: string, length: number): Promise<Map<string, Checksum>> {
    const rows = await this.#rows(
      `SELECT LEFT(h,${length}),${checksumOf("h")} FROM (SELECT ${this.#hash} AS h FROM ${this.#table}) AS hashes ` +
        `WHERE LEFT(h,${prefix.length})='${prefix}' GROUP BY 1`,
    );
    return new Map(rows.map((row) => [String(row[0]), { rows: Number(row[1]), sum: String(row[2]) }]));
  }

  /** How often each hash that begins with `prefix` occurs. */
  async hashCounts(prefix: string): Promise<Map<string, number>> {
    const rows = await this.#rows(
      `SELECT h,COUNT(*) FROM (SELECT ${this.#hash} AS h FROM ${this.#table}) AS hashes WHERE LEFT(h,${prefix.length})='${prefix}' GROUP BY h`,
    );
    return new Map(rows.map((row) => [String(row[0]), Number(row[1])]));
  }

  /** The first values of a row with this hash, for people. */
  async describeRow(hash: string): Promise<string> {
    const shown = this.#columns.slice(0, 6);
    const [row] = await this.#rows(
      `SELECT ${shown.map((column) => `LEFT(${column},40)`).join(",")} FROM ${this.#table} WHERE ${this.#hash}='${hash}' LIMIT 1`,
    );
    const values = row?.map((value) => (value === null ? "NULL" : readable(value))) ?? [];
    return `(${values.join(", ")}${this.#columns.length > shown.length ? ", …" : ""})`;
  }

  async #rows(sql: string): Promise<(Buffer | null)[][]> {
    const results = await this.#session.execute(sql, { binary: true });
    return results.at(-1)?.rows ?? [];
  }
}

function readable(value: Buffer): string {
  const text = value.toString("utf8");
  return /[\p{Cc}\ufffd]/u.test(text) ? `0x${value.toString("hex")}` : text;
}
