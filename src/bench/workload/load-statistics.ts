import type { StatementCounts } from "./answer-reader.ts";
import { countLatency, LATENCY_BUCKETS, latencyPercentile } from "./latency-histogram.ts";

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

const PERCENT = 95;
/** Where figures lie in a tally: these, two for each thread, the buckets of the latencies. */
const AT = {
  transactions: 0,
  reads: 1,
  writes: 2,
  others: 3,
  errors: 4,
  reconnects: 5,
  threads: 6,
  latencyMsMin: 7,
  latencyMsMax: 8,
} as const;
const THREADS_AT = 9;
const COUNTS = ["transactions", "reads", "writes", "others", "errors", "reconnects"] as const;

/**
 * The figures of one part of a load. They lie in shared memory, so that who makes the load counts and who reports it reads, without a message between them. Only one thread of this process
 * writes to a tally; a reader may see a transaction's statements a moment before the transaction.
 */
export class LoadTally implements LoadCounts {
  readonly memory: SharedArrayBuffer;
  readonly #at: Float64Array;
  readonly #buckets: Float64Array;

  /** `memory`: of a tally that exists. */
  constructor(threads: number, memory?: SharedArrayBuffer) {
    const bytes = (THREADS_AT + 2 * threads + LATENCY_BUCKETS) * Float64Array.BYTES_PER_ELEMENT;
    this.memory = memory ?? new SharedArrayBuffer(bytes);
    this.#at = new Float64Array(this.memory);
    this.#buckets = this.#at.subarray(THREADS_AT + 2 * threads);
    if (memory === undefined) this.#at[AT.latencyMsMin] = Infinity;
  }

  committed(thread: number, latencyMs: number): void {
    this.transactions++;
    countLatency(this.#buckets, latencyMs);
    this.#at[AT.latencyMsMin] = Math.min(this.latencyMsMin, latencyMs);
    this.#at[AT.latencyMsMax] = Math.max(this.latencyMsMax, latencyMs);
    const own = THREADS_AT + 2 * thread;
    this.#at[own] = this.#figure(own) + 1;
    this.#at[own + 1] = this.#figure(own + 1) + latencyMs;
  }

  /** Of each thread. */
  get perThread(): { transactions: number; latencyMs: number }[] {
    const threads = (this.#at.length - THREADS_AT - LATENCY_BUCKETS) / 2;
    return Array.from({ length: threads }, (_, thread) => ({
      transactions: this.#figure(THREADS_AT + 2 * thread),
      latencyMs: this.#figure(THREADS_AT + 2 * thread + 1),
    }));
  }

  get latencies(): Float64Array {
    return this.#buckets;
  }

  get latencyMsMin(): number {
    return this.#figure(AT.latencyMsMin);
  }

  get latencyMsMax(): number {
    return this.#figure(AT.latencyMsMax);
  }

  /** At work. */
  get threads(): number {
    return this.#figure(AT.threads);
  }

  set threads(threads: number) {
    this.#at[AT.threads] = threads;
  }

  get transactions(): number {
    return this.#figure(AT.transactions);
  }

  set transactions(count: number) {
    this.#at[AT.transactions] = count;
  }

  get reads(): number {
    return this.#figure(AT.reads);
  }

  set reads(count: number) {
    this.#at[AT.reads] = count;
  }

  get writes(): number {
    return this.#figure(AT.writes);
  }

  set writes(count: number) {
    this.#at[AT.writes] = count;
  }

  get others(): number {
    return this.#figure(AT.others);
  }

  set others(count: number) {
    this.#at[AT.others] = count;
  }

  get errors(): number {
    return this.#figure(AT.errors);
  }

  set errors(count: number) {
    this.#at[AT.errors] = count;
  }

  get reconnects(): number {
    return this.#figure(AT.reconnects);
  }

  set reconnects(count: number) {
    this.#at[AT.reconnects] = count;
  }

  #figure(place: number): number {
    return this.#at[place] as number;
  }
}

/** Makes sysbench's interval line and its summary of the tallies of all parts. */
export class LoadStatistics {
  readonly #tallies: readonly LoadTally[];
  #before: LoadCounts;
  #beforeLatencies: Float64Array;
  #beforeMs = 0;

  constructor(tallies: readonly LoadTally[]) {
    this.#tallies = tallies;
    this.#before = this.counts();
    this.#beforeLatencies = this.#latencies();
  }

  counts(): LoadCounts {
    const sum = (name: keyof LoadCounts): number => this.#tallies.reduce((total, tally) => total + tally[name], 0);
    return Object.fromEntries(COUNTS.map((name) => [name, sum(name)])) as unknown as LoadCounts;
  }

  /** Ends an interval, and begins the next one. */
  interval(elapsedMs: number): LoadInterval {
    const seconds = Math.max(elapsedMs - this.#beforeMs, 1) / 1000;
    const total = this.counts();
    const latencies = this.#latencies();
    const rate = (count: keyof LoadCounts): number => (total[count] - this.#before[count]) / seconds;
    const [readsPerSecond, writesPerSecond, othersPerSecond] = [rate("reads"), rate("writes"), rate("others")];
    const interval = {
      elapsedMs,
      threads: this.#tallies.reduce((sum, tally) => sum + tally.threads, 0),
      transactionsPerSecond: rate("transactions"),
      statementsPerSecond: readsPerSecond + writesPerSecond + othersPerSecond,
      readsPerSecond,
      writesPerSecond,
      othersPerSecond,
      latencyMs95: latencyPercentile(
        latencies.map((count, bucket) => count - (this.#beforeLatencies[bucket] as number)),
        PERCENT,
      ),
      errorsPerSecond: rate("errors"),
      reconnectsPerSecond: rate("reconnects"),
      total,
    };
    this.#before = total;
    this.#beforeLatencies = latencies;
    this.#beforeMs = elapsedMs;
    return interval;
  }

  summary(elapsedMs: number): LoadSummary {
    const counts = this.counts();
    const isEmpty = counts.transactions === 0;
    const perThread = this.#tallies.flatMap((tally) => tally.perThread);
    const sum = perThread.reduce((total, own) => total + own.latencyMs, 0);
    return {
      ...counts,
      elapsedMs,
      latencyMs: {
        min: isEmpty ? 0 : Math.min(...this.#tallies.map((tally) => tally.latencyMsMin)),
        mean: isEmpty ? 0 : sum / counts.transactions,
        max: Math.max(...this.#tallies.map((tally) => tally.latencyMsMax)),
        percentile95: latencyPercentile(this.#latencies(), PERCENT),
        sum,
      },
      fairness: {
        transactions: spread(perThread.map((own) => own.transactions)),
        seconds: spread(perThread.map((own) => own.latencyMs / 1000)),
      },
    };
  }

  #latencies(): Float64Array {
    const sum = new Float64Array(LATENCY_BUCKETS);
    for (const { latencies } of this.#tallies) {
      for (const [bucket, count] of latencies.entries()) sum[bucket] = (sum[bucket] as number) + count;
    }
    return sum;
  }
}

function spread(values: readonly number[]): Spread {
  const mean = values.reduce((total, value) => total + value, 0) / values.length;
  const variance = values.reduce((total, value) => total + (value - mean) ** 2, 0) / values.length;
  return { mean, deviation: Math.sqrt(variance) };
}
