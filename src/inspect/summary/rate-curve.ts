import type { Load, RateReport } from "../report.ts";
import { isoTime } from "./iso-time.ts";

/** As many buckets are kept; then two become one. */
const BUCKETS_MAX = 480;
/** A bucket is never narrower: MariaDB and older servers tell whole seconds. */
const SECOND_US = 1_000_000;
const FIELDS = 3;

/** What of a curve goes from one thread to another. */
export interface RateState {
  widthSeconds: number;
  /** Number of the first bucket: its time divided by the width. */
  first: number;
  /** Transactions, rows, bytes of each bucket. */
  values: number[];
}

/**
 * Load over time in a bounded number of buckets, whose width doubles when there are too many.
 *
 * Invariant: bucket n holds what was committed in [n × width, (n + 1) × width), counted from 1970, whatever came first: so two curves of one log, made of its parts, add up to
 * the curve of the whole.
 */
export class RateCurve {
  #width = 1;
  #first = 0;
  #values: number[] = [];

  /** `atUs` 0: the time is not known, and the transaction is in no bucket. */
  add(atUs: number, transactions: number, rows: number, bytes: number): void {
    if (atUs > 0) this.#put(Math.floor(atUs / SECOND_US), transactions, rows, bytes);
  }

  #put(seconds: number, transactions: number, rows: number, bytes: number): void {
    let index = Math.floor(seconds / this.#width) - this.#first;
    if (index < 0 || index * FIELDS >= this.#values.length) index = this.#makeRoom(seconds);
    const at = index * FIELDS;
    const values = this.#values;
    values[at] = (values[at] as number) + transactions;
    values[at + 1] = (values[at + 1] as number) + rows;
    values[at + 2] = (values[at + 2] as number) + bytes;
  }

  merge({ widthSeconds, first, values }: RateState): void {
    while (this.#width < widthSeconds) this.#double();
    for (let i = 0; i < values.length; i += FIELDS) {
      const [transactions = 0, rows = 0, bytes = 0] = values.slice(i, i + FIELDS);
      if (transactions > 0) this.#put((first + i / FIELDS) * widthSeconds, transactions, rows, bytes);
    }
  }

  state(): RateState {
    return { widthSeconds: this.#width, first: this.#first, values: this.#values };
  }

  /** `isWholeSeconds`: clocks tell no fractions. */
  report(spanSeconds: number, isWholeSeconds: boolean): RateReport {
    const column = (field: number): number[] => this.#values.filter((_, i) => i % FIELDS === field);
    const [transactions, rows, bytes] = [column(0), column(1), column(2)];
    const total = { transactions: sum(transactions), rows: sum(rows), bytes: sum(bytes) };
    const busiest = transactions.reduce((best, value, i) => (value > (transactions[best] ?? 0) ? i : best), 0);
    const per = (load: Load, seconds: number): Load => ({
      transactions: load.transactions / seconds,
      rows: load.rows / seconds,
      bytes: load.bytes / seconds,
    });
    const at = (index: number): string => isoTime((this.#first + index) * this.#width * SECOND_US) ?? "";
    const peak = { transactions: transactions[busiest] ?? 0, rows: rows[busiest] ?? 0, bytes: bytes[busiest] ?? 0 };
    const isLong = spanSeconds >= 1;
    // Of whole seconds the last one is part of the span too.
    const meanSeconds = isWholeSeconds ? spanSeconds + 1 : spanSeconds;
    return {
      from: transactions.length === 0 ? null : at(0),
      bucketSeconds: this.#width,
      transactions,
      rows,
      bytes,
      perSecond: isLong ? per(total, meanSeconds) : null,
      perMinute: isLong ? per(total, meanSeconds / 60) : null,
      peak: transactions.length === 0 ? null : { ...per(peak, this.#width), at: at(busiest) },
    };
  }

  /** Makes the second a bucket of the curve; answers its index. */
  #makeRoom(seconds: number): number {
    if (this.#values.length === 0) {
      this.#first = Math.floor(seconds / this.#width);
      this.#values = [0, 0, 0];
      return 0;
    }
    for (;;) {
      const bucket = Math.floor(seconds / this.#width);
      const first = Math.min(bucket, this.#first);
      const end = Math.max(bucket + 1, this.#first + this.#values.length / FIELDS);
      if (end - first <= BUCKETS_MAX) {
        const before = Array.from({ length: (this.#first - first) * FIELDS }, () => 0);
        const after = Array.from({ length: (end - first) * FIELDS - before.length - this.#values.length }, () => 0);
        this.#values = [...before, ...this.#values, ...after];
        this.#first = first;
        return bucket - first;
      }
      this.#double();
    }
  }

  #double(): void {
    const first = Math.floor(this.#first / 2);
    const values: number[] = [];
    for (let i = 0; i < this.#values.length; i++) {
      const bucket = Math.floor((this.#first + Math.floor(i / FIELDS)) / 2) - first;
      const at = bucket * FIELDS + (i % FIELDS);
      values[at] = (values[at] ?? 0) + (this.#values[i] ?? 0);
    }
    this.#width *= 2;
    this.#first = first;
    this.#values = values;
  }
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
