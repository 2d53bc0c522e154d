/** sysbench's (src/sb_logger.c, src/sb_histogram.c, 1.0.20): 1024 buckets in a geometric series, so each is 1.8 % wider than the one before. */
const BUCKETS = 1024;
const MS_MIN = 0.001;
const MS_MAX = 100_000;
const BUCKETS_PER_E = (BUCKETS - 1) / Math.log(MS_MAX / MS_MIN);

/**
 * How often which latency was seen, in 8 KB whatever the number of transactions. A percentile is that of a bucket, hence right to 1.8 %, and the same as sysbench's for the
 * same latencies.
 */
export class LatencyHistogram {
  readonly #counts = new Float64Array(BUCKETS);
  #total = 0;

  add(latencyMs: number): void {
    const bucket = Math.floor(Math.log(latencyMs / MS_MIN) * BUCKETS_PER_E + 0.5);
    const index = Math.min(Math.max(bucket, 0), BUCKETS - 1);
    this.#counts[index] = (this.#counts[index] as number) + 1;
    this.#total++;
  }

  /** Milliseconds; 0 when nothing was added. */
  percentile(percent: number): number {
    if (this.#total === 0) return 0;
    const wanted = Math.floor((this.#total * percent) / 100 + 0.5);
    let seen = 0;
    let bucket = 0;
    for (; bucket < BUCKETS - 1; bucket++) {
      seen += this.#counts[bucket] as number;
      if (seen >= wanted) break;
    }
    return MS_MIN * Math.exp(bucket / BUCKETS_PER_E);
  }

  clear(): void {
    this.#counts.fill(0);
    this.#total = 0;
  }
}
