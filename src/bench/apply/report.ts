import type { Durability } from "../contest/contest.ts";
import { formatTable } from "../table.ts";
import { megabytes } from "../units.ts";
import {
  type ApplyBest,
  type ApplyPreserved,
  type ApplyRoundTrip,
  type ApplySummary,
  bestOf,
  preservedOf,
  roundTripOf,
  summaryOf,
} from "./comparison.ts";

export interface ApplyRun {
  /** The contender, as `--runs` calls it. */
  name: string;
  who: "native" | "abreast";
  workers: number;
  /** How parallelism was found, in the server's words where it is the server's. */
  policy: string;
  commitOrder: "preserve" | "relaxed";
  /** `preserve`: each transaction keeps the source's GTID on the target. */
  gtid: "own" | "preserve";
  /** Between engine and target, as measured; null without `--round-trip`. */
  roundTripMs: number | null;
  /** From START REPLICA, or from the start of the engine, with an empty relay log, until everything is applied. */
  seconds: number;
  /** User and system time of all threads of the engine's process in these seconds; null for the server's own replica, which has no process of its own. */
  engineCpuSeconds: number | null;
  rssBytesMax: number | null;
  /** User and system time of the target server during the run. */
  targetCpuSeconds: number;
  /** CHECKSUM TABLE of every table agrees with the source. */
  identical: boolean;
}

/** What was measured. */
export interface ApplyMeasured {
  server: string;
  serverVersion: string;
  durability: Durability;
  transactions: number;
  workload: { name: string; tables: number; tableSize: number; distribution: string; threads: number; seed: number };
  /** Bytes of the backlog in the source's binlog. */
  binlogBytes: number;
  runs: ApplyRun[];
}

/** The document of `bench apply --json`: what was measured, and what follows from it. */
export interface ApplyReport extends ApplyMeasured {
  contenders: ApplySummary[];
  best: ApplyBest;
  preserve: ApplyPreserved[];
  roundTrip: ApplyRoundTrip | null;
}

export function reportOf(measured: ApplyMeasured): ApplyReport {
  const { runs } = measured;
  return {
    ...measured,
    contenders: summaryOf(runs),
    best: bestOf(runs),
    preserve: preservedOf(runs),
    roundTrip: roundTripOf(runs),
  };
}

export function formatReport(report: ApplyReport): string {
  const { workload, best } = report;
  const rows = report.runs.map((run) => [
    run.name,
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
    ...conclusions(report),
  ].join("\n");
}

function* conclusions({ contenders, best, preserve, roundTrip }: ApplyReport): Generator<string> {
  for (const { name, runs, secondsMin, secondsMedian } of contenders) {
    if (runs > 1)
      yield `${name}: ${runs} runs, fastest ${secondsMin.toFixed(1)} s, median ${secondsMedian.toFixed(1)} s`;
  }
  for (const { workers, native, abreast, ratio } of preserve) {
    yield (
      `Source's GTIDs and commit order preserved, workers ${workers}: native ${native.toFixed(1)} s, ` +
      `Abreast ${abreast.toFixed(1)} s: ${ratio.toFixed(2)} times as fast.`
    );
  }
  if (roundTrip !== null) {
    yield (
      `Round trip of ${roundTrip.ms.toFixed(1)} ms to the target: ${roundTrip.seconds.toFixed(1)} s instead of ` +
      `${roundTrip.secondsWithout.toFixed(1)} s: ${Math.round(roundTrip.speed * 100)} % of the speed.`
    );
  }
  if (best.ratio !== null) {
    yield (
      `Commit order preserved: native ${best.native?.toFixed(1)} s, Abreast ${best.abreast?.toFixed(1)} s: ` +
      `${best.ratio.toFixed(2)} times as fast.`
    );
  }
}

const HEADINGS = [
  "run",
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
