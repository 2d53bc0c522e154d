import * as fc from "fast-check";
import { expect, it } from "vitest";
import { countLatency, LATENCY_BUCKETS, latencyPercentile } from "./latency-histogram.ts";
import { LoadStatistics, LoadTally } from "./load-statistics.ts";

it("a percentile is within one per cent of the exact one, from a microsecond to a hundred seconds", () => {
  const latency = fc.double({ min: Math.log(0.001), max: Math.log(100_000), noNaN: true }).map(Math.exp);
  fc.assert(
    fc.property(
      fc.array(latency, { minLength: 1, maxLength: 300 }),
      fc.integer({ min: 1, max: 100 }),
      (latencies, percent) => {
        const buckets = new Float64Array(LATENCY_BUCKETS);
        for (const each of latencies) countLatency(buckets, each);
        const sorted = [...latencies].sort((a, b) => a - b);
        const rank = Math.max(1, Math.floor((latencies.length * percent) / 100 + 0.5));
        const exact = sorted[rank - 1] ?? NaN;
        if (latencies.length * percent < 50) return; // less than half a value: sysbench answers the lowest bucket
        expect(Math.abs(latencyPercentile(buckets, percent) / exact - 1)).toBeLessThan(0.01);
      },
    ),
  );
});

it("latencies beyond both ends count in the first and the last bucket", () => {
  const buckets = new Float64Array(LATENCY_BUCKETS);
  expect(latencyPercentile(buckets, 95)).toBe(0);
  countLatency(buckets, 0);
  countLatency(buckets, 1e9);
  expect(latencyPercentile(buckets, 50)).toBeCloseTo(0.001, 6);
  expect(latencyPercentile(buckets, 100)).toBeCloseTo(100_000, 3);
});

it("an interval holds what came since the one before, the summary everything, both of all parts", () => {
  const [first, second] = [new LoadTally(1), new LoadTally(2)];
  const statistics = new LoadStatistics([first, second]);
  // As another thread has it.
  const elsewhere = new LoadTally(2, second.memory);
  first.threads = 1;
  elsewhere.threads = 2;
  first.writes += 8;
  elsewhere.others += 4;
  first.committed(0, 10);
  elsewhere.committed(1, 30);
  expect(statistics.interval(500)).toMatchObject({
    transactionsPerSecond: 4,
    statementsPerSecond: 24,
    writesPerSecond: 16,
    othersPerSecond: 8,
    threads: 3,
  });
  elsewhere.errors++;
  first.committed(0, 2);
  const interval = statistics.interval(1500);
  expect(interval).toMatchObject({ transactionsPerSecond: 1, statementsPerSecond: 0, errorsPerSecond: 1 });
  expect(interval.latencyMs95).toBeCloseTo(2, 1);
  const summary = statistics.summary(2000);
  expect(summary).toMatchObject({
    transactions: 3,
    errors: 1,
    latencyMs: { min: 2, mean: 14, max: 30, sum: 42 },
    fairness: { transactions: { mean: 1 } },
  });
  expect(summary.fairness.transactions.deviation).toBeCloseTo(Math.sqrt(2 / 3), 9);
  expect(summary.fairness.seconds.mean).toBeCloseTo(0.014, 9);
});

it("a load that made nothing has a summary of zeros", () => {
  expect(new LoadStatistics([new LoadTally(1)]).summary(100)).toMatchObject({
    transactions: 0,
    latencyMs: { min: 0, mean: 0, max: 0, percentile95: 0, sum: 0 },
  });
});
