import type { StatementCounts } from "./answer-reader.ts";
import { LatencyHistogram } from "./latency-histogram.ts";

export interface LoadCounts extends StatementCounts {
  /** Each counts once, when it is committed. */
  transactions: number;
  /** Deadlocks and lock wait timeouts: each was rolled back and made anew. */
  errors: number;
  reconnects: number;
}

/** What happened since the interval before. Rates are per second. */
export interface LoadInterval {
  /** Since the start of the load. */
  elapsedMs: number;
  /** At work. */
  threads: number;
  transactionsPerSecond: number;
  statementsPerSecond: number;
  readsPerSecond: number;
  writesPerSecond: number;
  othersPerSecond: number;
  latencyMs95: number;
  errorsPerSecond: number;
  reconnectsPerSecond: number;
  total: LoadCounts;
}

export interface LoadSummary extends LoadCounts {
  elapsedMs: number;
  /** From the begin of a transaction (with a rate: from when it was due) to the answer to its commit, retries included. */
  latencyMs: { min: number; mean: number; max: number; percentile95: number; sum: number };
  /** Of the threads: how alike they were. `deviation` is the standard deviation. */
  fairness: { transactions: Spread; seconds: Spread };
}

export interface Spread {
  mean: number;
  deviation: number;
}

interface ThreadTotals {
  transactions: number;
  latencyMs: number;
}

const PERCENT = 95;

/** Counts for sysbench's interval line and its summary; the memory does not grow with the transactions. */
export class LoadStatistics {
  readonly counts: LoadCounts = { transactions: 0, reads: 0, writes: 0, others: 0, errors: 0, reconnects: 0 };
  /** Threads at work. */
  threads = 0;
  readonly #perThread: ThreadTotals[];
  readonly #sinceStart = new LatencyHistogram();
  readonly #sinceInterval = new LatencyHistogram();
  #latencyMsMin = Infinity;
  #latencyMsMax = 0;
  #before: LoadCounts = { ...this.counts };
  #beforeMs = 0;

  constructor(threads: number) {
    this.#perThread = Array.from({ length: threads }, () => ({ transactions: 0, latencyMs: 0 }));
  }

  committed(thread: number, latencyMs: number): void {
    this.counts.transactions++;
    this.#sinceStart.add(latencyMs);
    this.#sinceInterval.add(latencyMs);
    this.#latencyMsMin = Math.min(this.#latencyMsMin, latencyMs);
    this.#latencyMsMax = Math.max(this.#latencyMsMax, latencyMs);
    const own = this.#perThread[thread] as ThreadTotals;
    own.transactions++;
    own.latencyMs += latencyMs;
  }

  /** Ends an interval, and begins the next one. */
  interval(elapsedMs: number): LoadInterval {
    const seconds = Math.max(elapsedMs - this.#beforeMs, 1) / 1000;
    const rate = (count: keyof LoadCounts): number => (this.counts[count] - this.#before[count]) / seconds;
    const [readsPerSecond, writesPerSecond, othersPerSecond] = [rate("reads"), rate("writes"), rate("others")];
    const interval = {
      elapsedMs,
      threads: this.threads,
      transactionsPerSecond: rate("transactions"),
      statementsPerSecond: readsPerSecond + writesPerSecond + othersPerSecond,
      readsPerSecond,
      writesPerSecond,
      othersPerSecond,
      latencyMs95: this.#sinceInterval.percentile(PERCENT),
      errorsPerSecond: rate("errors"),
      reconnectsPerSecond: rate("reconnects"),
      total: { ...this.counts },
    };
    this.#sinceInterval.clear();
    this.#before = { ...this.counts };
    this.#beforeMs = elapsedMs;
    return interval;
  }

  summary(elapsedMs: number): LoadSummary {
    const { transactions } = this.counts;
    const sum = this.#perThread.reduce((total, own) => total + own.latencyMs, 0);
    return {
      ...this.counts,
      elapsedMs,
      latencyMs: {
        min: transactions === 0 ? 0 : this.#latencyMsMin,
        mean: transactions === 0 ? 0 : sum / transactions,
        max: this.#latencyMsMax,
        percentile95: this.#sinceStart.percentile(PERCENT),
        sum,
      },
      fairness: {
        transactions: spread(this.#perThread.map((own) => own.transactions)),
        seconds: spread(this.#perThread.map((own) => own.latencyMs / 1000)),
      },
    };
  }
}

function spread(values: readonly number[]): Spread {
  const mean = values.reduce((total, value) => total + value, 0) / values.length;
  const variance = values.reduce((total, value) => total + (value - mean) ** 2, 0) / values.length;
  return { mean, deviation: Math.sqrt(variance) };
}
