import { assert } from "../base/assert.ts";
import { describeKey, type KeyPoint, type KeyRange, type KeyWalk, rangeCondition, WHOLE_TABLE } from "./key-range.ts";
import type { Difference, DifferentRow } from "./report.ts";
import { type Checksum, type HashedRow, same, type Side } from "./side.ts";

export interface CompareOptions {
  /** Rows of a chunk to begin with; it grows and shrinks so that a chunk takes about a second. */
  chunkRows: number;
  /** How many differing rows to name, per table. */
  rowsShownMax: number;
  nowMs: () => number;
  /** Rows of the source compared since the last call. */
  onRows: (rows: number) => void;
  signal: AbortSignal | undefined;
}

export interface Comparison {
  rows: number;
  chunks: number;
  differences: Difference[];
}

const CHUNK_MS_GOAL = 1000;
const CHUNK_ROWS_MIN = 100;
const CHUNK_ROWS_MAX = 1_000_000;
/** So few rows are fetched with key and hash instead of being split further. */
const FETCHED_ROWS_MAX = 500;
const PARTS_PER_SPLIT = 8;
/** More differences than this are joined into ranges. */
const DIFFERENCES_MAX = 100;

/**
 * Compares a table chunk by chunk in the order of a key that both sides have. Chunks follow each other without a gap and the last is open at its end, so rows that
 * only the target has are found wherever they lie: before the source's first key, between two, or after its last.
 */
export class KeyedComparison {
  readonly #source: Side;
  readonly #target: Side;
  readonly #walk: KeyWalk;
  readonly #options: CompareOptions;
  readonly #differences: Difference[] = [];
  #rowsShown = 0;

  constructor(source: Side, target: Side, walk: KeyWalk, options: CompareOptions) {
    this.#source = source;
    this.#target = target;
    this.#walk = walk;
    this.#options = options;
  }

  async run(): Promise<Comparison> {
    const { nowMs, onRows, signal } = this.#options;
    let chunkRows = this.#options.chunkRows;
    let rows = 0;
    let chunks = 0;
    let from: KeyPoint | undefined;
    let startedMs = nowMs();
    let boundary = this.#source.boundary(this.#walk, WHOLE_TABLE, chunkRows);
    for (;;) {
      signal?.throwIfAborted();
      const to = await boundary;
      const range = { from, to };
      const sums = this.#checksums(range);
      if (to !== undefined) {
        // Sent right behind the source's checksum: the server finds the next boundary while we wait for the target.
        boundary = this.#source.boundary(this.#walk, { from: to, to: undefined }, chunkRows);
        boundary.catch(() => {});
      }
      const [source, target] = await sums;
      chunks++;
      rows += source.rows;
      onRows(source.rows);
      if (!same(source, target)) await this.#narrow(range, source, target);
      if (to === undefined) return { rows, chunks, differences: this.#differences };
      from = to;
      const tookMs = nowMs() - startedMs;
      startedMs = nowMs();
      if (tookMs > 2 * CHUNK_MS_GOAL) chunkRows = Math.max(CHUNK_ROWS_MIN, chunkRows >> 1);
      else if (tookMs < CHUNK_MS_GOAL / 4) chunkRows = Math.min(CHUNK_ROWS_MAX, chunkRows * 2);
    }
  }

  #checksums(range: KeyRange): Promise<[Checksum, Checksum]> {
    const where = rangeCondition(this.#walk, range);
    return Promise.all([this.#source.checksum(where), this.#target.checksum(where)]);
  }

  /** Splits a range that differs until its rows are few enough to be fetched, as long as rows are still to be shown. */
  async #narrow(range: KeyRange, source: Checksum, target: Checksum): Promise<void> {
    this.#options.signal?.throwIfAborted();
    if (this.#rowsShown >= this.#options.rowsShownMax) return this.#add(range, source, target);
    if (Math.max(source.rows, target.rows) <= FETCHED_ROWS_MAX) return this.#fetch(range, source, target);
    const larger = source.rows >= target.rows ? this.#source : this.#target;
    const step = Math.ceil(Math.max(source.rows, target.rows) / PARTS_PER_SPLIT);
    let from = range.from;
    for (;;) {
      const to = (await larger.boundary(this.#walk, { from, to: range.to }, step)) ?? range.to;
      const part = { from, to };
      const [partSource, partTarget] = await this.#checksums(part);
      if (!same(partSource, partTarget)) await this.#narrow(part, partSource, partTarget);
      if (to === range.to || String(to) === String(range.to)) return;
      from = to;
    }
  }

  async #fetch(range: KeyRange, source: Checksum, target: Checksum): Promise<void> {
    const [sourceRows, targetRows] = await Promise.all([
      this.#source.hashedRows(this.#walk, range),
      this.#target.hashedRows(this.#walk, range),
    ]);
    const different = differentRows(sourceRows, targetRows);
    assert(different.length > 0, "a range whose checksums differ has a row that differs");
    const shown = different.slice(0, this.#options.rowsShownMax - this.#rowsShown);
    this.#rowsShown += shown.length;
    this.#differences.push({
      keyFrom: different[0]?.row ?? null,
      keyTo: different.at(-1)?.row ?? null,
      sourceRows: source.rows,
      targetRows: target.rows,
      rows: shown,
    });
  }

  #add(range: KeyRange, source: Checksum, target: Checksum): void {
    const last = this.#differences.at(-1);
    const keyTo = range.to === undefined ? null : describeKey(range.to);
    if (last !== undefined && this.#differences.length >= DIFFERENCES_MAX) {
      last.keyTo = keyTo;
      last.sourceRows += source.rows;
      last.targetRows += target.rows;
      return;
    }
    this.#differences.push({
      keyFrom: range.from === undefined ? null : describeKey(range.from),
      keyTo,
      sourceRows: source.rows,
      targetRows: target.rows,
      rows: [],
    });
  }
}

/** In the source's key order; rows that only the target has come where they stand there, after the source's rows before them. */
function differentRows(source: readonly HashedRow[], target: readonly HashedRow[]): DifferentRow[] {
  const onTarget = new Map(target.map((row) => [row.id, row.hash]));
  const onSource = new Set(source.map((row) => row.id));
  const different: DifferentRow[] = [];
  let at = 0;
  const takeTargetOnly = (until: string | undefined): void => {
    while (at < target.length && target[at]?.id !== until) {
      const row = target[at++] as HashedRow;
      if (!onSource.has(row.id)) different.push({ row: describeKey(row.point), what: "only on target" });
    }
  };
  for (const row of source) {
    const hash = onTarget.get(row.id);
    if (hash === undefined) different.push({ row: describeKey(row.point), what: "only on source" });
    else {
      takeTargetOnly(row.id);
      if (hash !== row.hash) different.push({ row: describeKey(row.point), what: "values differ" });
    }
  }
  takeTargetOnly(undefined);
  return different;
}
