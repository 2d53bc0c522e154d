import { ReplicationError } from "../../base/error.ts";
import type { ReportedInterval } from "./load-report.ts";
import type { LoadSummary, Spread } from "./load-statistics.ts";

const NUMBER = String.raw`([\d.]+)`;
const INTERVAL = new RegExp(
  String.raw`^\[ ${NUMBER}s \] thds: ${NUMBER} tps: ${NUMBER} qps: ${NUMBER} \(r/w/o: ${NUMBER}/${NUMBER}/${NUMBER}\) ` +
    String.raw`lat \(ms,95%\): ${NUMBER} err/s:? ${NUMBER} reconn/s: ${NUMBER}`,
);

/** What sysbench printed for an interval (`db_report_intermediate`, src/db_driver.c, 1.0.20); undefined when the line is none of these. */
export function parseInterval(line: string): ReportedInterval | undefined {
  const match = INTERVAL.exec(line);
  if (match === null) return undefined;
  const at = (group: number): number => Number(match[group]);
  return {
    elapsedMs: at(1) * 1000,
    threads: at(2),
    transactionsPerSecond: at(3),
    statementsPerSecond: at(4),
    readsPerSecond: at(5),
    writesPerSecond: at(6),
    othersPerSecond: at(7),
    latencyMs95: at(8),
    errorsPerSecond: at(9),
    reconnectsPerSecond: at(10),
  };
}

/**
 * Reads the summary at the end of sysbench's output (`db_report_cumulative`, `sb_report_cumulative`, 1.0.20).
 * @throws ReplicationError UNSUPPORTED when a line is missing: another version of sysbench
 */
export function parseSummary(output: string): LoadSummary {
  const number = (label: string): number => Number(value(output, label, NUMBER)[0]);
  const spread = (label: string): Spread => {
    const [mean, deviation] = value(output, String.raw`${label} \(avg/stddev\)`, `${NUMBER}/${NUMBER}`);
    return { mean: Number(mean), deviation: Number(deviation) };
  };
  return {
    transactions: number("transactions"),
    reads: number("read"),
    writes: number("write"),
    others: number("other"),
    errors: number("ignored errors"),
    reconnects: number("reconnects"),
    elapsedMs: number("total time") * 1000,
    latencyMs: {
      min: number("min"),
      mean: number("avg"),
      max: number("max"),
      percentile95: number("95th percentile"),
      sum: number("sum"),
    },
    fairness: { transactions: spread("events"), seconds: spread("execution time") },
  };
}

function value(output: string, label: string, pattern: string): string[] {
  const match = new RegExp(String.raw`^ *${label}: *${pattern}`, "m").exec(output);
  if (match === null) {
    throw new ReplicationError("UNSUPPORTED", `sysbench printed no ${label.replaceAll("\\", "")}`, {
      hint: "use sysbench 1.0.20",
    });
  }
  return match.slice(1);
}
