/** sysbench's (src/sb_logger.c, src/sb_histogram.c, 1.0.20): 1024 buckets in a geometric series, so each is 1.8 % wider than the one before. */
export const LATENCY_BUCKETS = 1024;
const MS_MIN = 0.001;
const MS_MAX = 100_000;
const BUCKETS_PER_E = (LATENCY_BUCKETS - 1) / Math.log(MS_MAX / MS_MIN);

/** Counts a latency in its bucket. Memory does not grow with the transactions, and a percentile is right to 1 %, and the same as sysbench's of the same latencies. */
export function countLatency(buckets: Float64Array, latencyMs: number): void {
  const bucket = Math.floor(Math.log(latencyMs / MS_MIN) * BUCKETS_PER_E + 0.5);
  const index = Math.min(Math.max(bucket, 0), LATENCY_BUCKETS - 1);
  buckets[index] = (buckets[index] as number) + 1;
}

/** Milliseconds; 0 when nothing was counted. */
export function latencyPercentile(buckets: Float64Array, percent: number): number {
  let total = 0;
  for (const count of buckets) total += count;
  if (total === 0) return 0;
  const wanted = Math.floor((total * percent) / 100 + 0.5);
  let seen = 0;
  let bucket = 0;
  for (; bucket < LATENCY_BUCKETS - 1; bucket++) {
    seen += buckets[bucket] as number;
    if (seen >= wanted) break;
  }
  return MS_MIN * Math.exp(bucket / BUCKETS_PER_E);
}
