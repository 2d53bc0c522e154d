import { round } from "../units.ts";
import type { LoadInterval, LoadSummary, Spread } from "./load-statistics.ts";

/** The document of `bench load … run --json`, whichever driver made the load. */
export interface LoadReport {
  /** `sysbench 1.0.20`, or `abreast` and its version. */
  driver: string;
  /** As the server tells it. */
  serverVersion: string;
  workload: string;
  /** What the workload was told: tables, tableSize, … */
  options: Readonly<Record<string, number | string>>;
  schemas: readonly string[];
  threads: number;
  seed: number;
  statements: "together" | "one-by-one";
  /** null: no limit. */
  transactions: number | null;
  seconds: number | null;
  ratePerSecond: number | null;
  intervals: readonly ReportedInterval[];
  summary: LoadSummary;
}

export type ReportedInterval = Omit<LoadInterval, "total">;

/** sysbench's own line, which scripts read: `[ 2s ] thds: 16 tps: … lat (ms,95%): … err/s: … reconn/s: …`. */
export function formatInterval(interval: ReportedInterval): string {
  const { readsPerSecond, writesPerSecond, othersPerSecond } = interval;
  return [
    `[ ${(interval.elapsedMs / 1000).toFixed(0)}s ] thds: ${interval.threads}`,
    `tps: ${interval.transactionsPerSecond.toFixed(2)}`,
    `qps: ${interval.statementsPerSecond.toFixed(2)}`,
    `(r/w/o: ${[readsPerSecond, writesPerSecond, othersPerSecond].map((rate) => rate.toFixed(2)).join("/")})`,
    `lat (ms,95%): ${interval.latencyMs95.toFixed(2)}`,
    `err/s: ${interval.errorsPerSecond.toFixed(2)}`,
    `reconn/s: ${interval.reconnectsPerSecond.toFixed(2)}`,
  ].join(" ");
}

/** The summary in sysbench's layout, so that what reads one reads the other. */
export function formatSummary(summary: LoadSummary): string {
  const seconds = summary.elapsedMs / 1000;
  const { reads, writes, others, latencyMs, fairness } = summary;
  const statements = reads + writes + others;
  const line = (indent: number, label: string, value: string): string =>
    `${" ".repeat(indent)}${`${label}:`.padEnd(41 - indent)}${value}`;
  const counted = (label: string, count: number): string =>
    line(4, label, `${String(count).padEnd(6)} (${perSecond(count, seconds)} per sec.)`);
  const ms = (label: string, value: number): string =>
    `${" ".repeat(9)}${label}:${value.toFixed(2).padStart(43 - label.length)}`;
  const spread = (label: string, { mean, deviation }: Spread): string =>
    `    ${`${label} (avg/stddev):`.padEnd(31)}${mean.toFixed(4)}/${deviation.toFixed(2)}`;
  return [
    "SQL statistics:",
    "    queries performed:",
    line(8, "read", String(reads)),
    line(8, "write", String(writes)),
    line(8, "other", String(others)),
    line(8, "total", String(statements)),
    counted("transactions", summary.transactions),
    counted("queries", statements),
    counted("ignored errors", summary.errors),
    counted("reconnects", summary.reconnects),
    "",
    "General statistics:",
    line(4, "total time", `${seconds.toFixed(4)}s`),
    line(4, "total number of events", String(summary.transactions)),
    "",
    "Latency (ms):",
    ms("min", latencyMs.min),
    ms("avg", latencyMs.mean),
    ms("max", latencyMs.max),
    ms("95th percentile", latencyMs.percentile95),
    ms("sum", latencyMs.sum),
    "",
    "Threads fairness:",
    spread("events", fairness.transactions),
    spread("execution time", fairness.seconds),
  ].join("\n");
}

const perSecond = (count: number, seconds: number): string => (seconds > 0 ? count / seconds : 0).toFixed(2);

/** Two digits behind the point, as sysbench prints. */
export function roundedInterval(interval: LoadInterval): ReportedInterval {
  const rates = Object.entries(interval).flatMap(([name, value]) =>
    typeof value === "number" ? [[name, round(value, 2)]] : [],
  );
  return Object.fromEntries(rates) as ReportedInterval;
}

export function roundedSummary(summary: LoadSummary): LoadSummary {
  const { latencyMs, fairness } = summary;
  const spread = ({ mean, deviation }: Spread): Spread => ({ mean: round(mean, 4), deviation: round(deviation, 2) });
  return {
    ...summary,
    elapsedMs: round(summary.elapsedMs, 1),
    latencyMs: {
      min: round(latencyMs.min, 2),
      mean: round(latencyMs.mean, 2),
      max: round(latencyMs.max, 2),
      percentile95: round(latencyMs.percentile95, 2),
      sum: round(latencyMs.sum, 2),
    },
    fairness: { transactions: spread(fairness.transactions), seconds: spread(fairness.seconds) },
  };
}
