import * as fc from "fast-check";
import { expect, it } from "vitest";
import { LatencyHistogram } from "./latency-histogram.ts";
import { LoadStatistics } from "./load-statistics.ts";

it("a percentile is within one per cent of the exact one, from a microsecond to a hundred seconds", () => {
  const latency = fc.double({ min: Math.log(0.001), max: Math.log(100_000), noNaN: true }).map(Math.exp);
  fc.assert(
    fc.property(
      fc.array(latency, { minLength: 1, maxLength: 300 }),
      fc.integer({ min: 1, max: 100 }),
      (latencies, percent) => {
        const histogram = new LatencyHistogram();
        for (const each of latencies) histogram.add(each);
        const sorted = [...latencies].sort((a, b) => a - b);
        const rank = Math.max(1, Math.floor((latencies.length * percent) / 100 + 0.5));
        const exact = sorted[rank - 1] ?? NaN;
        if (latencies.length * percent < 50) return; // less than half a value: sysbench answers the lowest bucket
        expect(Math.abs(histogram.percentile(percent) / exact - 1)).toBeLessThan(0.01);
      },
    ),
  );
});

it("latencies beyond both ends count in the first and the last bucket", () => {
  const histogram = new LatencyHistogram();
  histogram.add(0);
  histogram.add(1e9);
  expect(histogram.percentile(50)).toBeCloseTo(0.001, 6);
  expect(histogram.percentile(100)).toBeCloseTo(100_000, 3);
  histogram.clear();
  expect(histogram.percentile(95)).toBe(0);
});

it("an interval holds what came since the one before, the summary everything", () => {
  const statistics = new LoadStatistics(2);
  statistics.threads = 2;
  statistics.counts.writes += 8;
  statistics.counts.others += 4;
  statistics.committed(0, 10);
  statistics.committed(1, 30);
  expect(statistics.interval(500)).toMatchObject({
    transactionsPerSecond: 4,
    statementsPerSecond: 24,
    writesPerSecond: 16,
    othersPerSecond: 8,
    threads: 2,
  });
  statistics.counts.errors++;
  statistics.committed(0, 2);
  const second = statistics.interval(1500);
  expect(second).toMatchObject({ transactionsPerSecond: 1, statementsPerSecond: 0, errorsPerSecond: 1 });
  expect(second.latencyMs95).toBeCloseTo(2, 1);
  const summary = statistics.summary(2000);
  expect(summary).toMatchObject({
    transactions: 3,
    errors: 1,
    latencyMs: { min: 2, mean: 14, max: 30, sum: 42 },
    fairness: { transactions: { mean: 1.5, deviation: 0.5 } },
  });
  expect(summary.fairness.seconds.mean).toBeCloseTo(0.021, 9);
  expect(summary.fairness.seconds.deviation).toBeCloseTo(0.009, 9);
});

it("a load that made nothing has a summary of zeros", () => {
  expect(new LoadStatistics(1).summary(100)).toMatchObject({
    transactions: 0,
    latencyMs: { min: 0, mean: 0, max: 0, percentile95: 0, sum: 0 },
  });
});
