import { formatTable } from "../table.ts";
import type { Contender } from "./contenders.ts";

export type Durability = "durable" | "relaxed";

export interface ApplyRun extends Omit<Contender, "name"> {
  /** From START REPLICA, or from the start of the engine, with an empty relay log, until everything is applied. */
  seconds: number;
  /** User and system time of the engine's whole process, its start included; null for the server's own replica, which has no process of its own. */
  engineCpuSeconds: number | null;
  rssBytesMax: number | null;
  /** User and system time of the target server during the run. */
  targetCpuSeconds: number;
  /** CHECKSUM TABLE of every table agrees with the source. */
  identical: boolean;
}

/** The document of `bench apply --json`. */
export interface ApplyReport {
  server: string;
  serverVersion: string;
  durability: Durability;
  transactions: number;
  workload: { name: string; tables: number; tableSize: number; distribution: string; threads: number; seed: number };
  /** Bytes of the backlog in the source's binlog. */
  binlogBytes: number;
  runs: ApplyRun[];
  best: ApplyBest;
}

/** Among runs that keep the commit order; null where there is none. `ratio` says how many times faster Abreast is. */
export interface ApplyBest {
  native: number | null;
  abreast: number | null;
  ratio: number | null;
}

export function bestOf(runs: readonly ApplyRun[]): ApplyBest {
  const fastest = (who: ApplyRun["who"]): number | null => {
    const seconds = runs.filter((run) => run.who === who && run.commitOrder === "preserve").map((run) => run.seconds);
    return seconds.length === 0 ? null : Math.min(...seconds);
  };
  const native = fastest("native");
  const abreast = fastest("abreast");
  return { native, abreast, ratio: native === null || abreast === null ? null : round(native / abreast, 2) };
}

export function formatReport(report: ApplyReport): string {
  const { workload, best } = report;
  const rows = report.runs.map((run) => [
    run.who,
    `${run.workers}`,
    run.policy,
    run.commitOrder,
    run.gtid,
    run.seconds.toFixed(1),
    `${Math.round(report.transactions / run.seconds)}`,
    best.native === null ? "" : (best.native / run.seconds).toFixed(2),
    run.engineCpuSeconds === null ? "" : `${Math.round((run.engineCpuSeconds * 1e6) / report.transactions)}`,
    run.rssBytesMax === null ? "" : megabytes(run.rssBytesMax),
    run.targetCpuSeconds.toFixed(1),
    run.identical ? "yes" : "NO",
  ]);
  return [
    `${report.server} (${report.serverVersion}), ${report.durability}: ${report.transactions} transactions of ${workload.name}, ` +
      `${megabytes(report.binlogBytes)} MB of binlog, from ${workload.threads} threads`,
    `${workload.tables} tables of ${workload.tableSize} rows, ${workload.distribution} distribution, seed ${workload.seed}`,
    "",
    formatTable(HEADINGS, rows, NUMBERS),
    "",
    ...(best.ratio === null
      ? []
      : [
          `Commit order preserved: native ${best.native?.toFixed(1)} s, Abreast ${best.abreast?.toFixed(1)} s: ${best.ratio.toFixed(2)} times faster.`,
        ]),
  ].join("\n");
}

const HEADINGS = [
  "who",
  "workers",
  "policy",
  "commit order",
  "gtid",
  "seconds",
  "trx/s",
  "x native",
  "engine µs/trx",
  "RSS MB",
  "target CPU s",
  "identical",
];
const NUMBERS = new Set(["workers", "seconds", "trx/s", "x native", "engine µs/trx", "RSS MB", "target CPU s"]);

export function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)}`;
}
