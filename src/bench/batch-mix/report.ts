import type { Durability } from "../contest/contest.ts";
import { formatTable } from "../table.ts";
import { round } from "../units.ts";

export interface BatchMixRun {
  who: "native" | "abreast";
  dependency: "graph" | "low-water-mark";
  workers: number;
  policy: string;
  /** As it was: a server that cannot leave the order keeps it. */
  commitOrder: "preserve" | "relaxed";
  seconds: number;
  /** User and system time of the engine's process in these seconds; null for the server's own replica, which has no process of its own. */
  engineCpuSeconds: number | null;
  /** Transactions that execute or commit on the target at the same time, on average while at least one does: sampled on the target every 20 ms, for everybody alike. */
  meanConcurrency: number;
  /** The same as the engine counts it: a run counts until the engine has heard of its end, which on a busy machine is later. */
  engineConcurrency: number | null;
  /** CHECKSUM TABLE of every table agrees with the source. */
  identical: boolean;
}

/** The document of `bench batch-mix --json`. */
export interface BatchMixReport {
  server: string;
  serverVersion: string;
  durability: Durability;
  workload: {
    name: "batch-mix";
    transactions: number;
    batches: number;
    batchRowsMin: number;
    batchRowsMax: number;
    batchSessions: number;
    smallSessions: number;
    seed: number;
  };
  runs: BatchMixRun[];
  /** How many times the mean concurrency of Abreast with the low-water mark rule the graph has; null when one of the two did not run. */
  graphRatio: number | null;
  /** The same by what the engine counts. */
  graphRatioOfEngine: number | null;
}

export function graphRatioOf(
  runs: readonly BatchMixRun[],
  measure: "meanConcurrency" | "engineConcurrency",
): number | null {
  const concurrency = (dependency: BatchMixRun["dependency"]): number =>
    runs.find((run) => run.who === "abreast" && run.dependency === dependency)?.[measure] ?? 0;
  const lowWaterMark = concurrency("low-water-mark");
  const graph = concurrency("graph");
  return lowWaterMark === 0 || graph === 0 ? null : round(graph / lowWaterMark, 2);
}

export function formatBatchMix(report: BatchMixReport): string {
  const { workload, runs, graphRatio, graphRatioOfEngine } = report;
  const rows = runs.map((run) => [
    run.who,
    run.dependency,
    `${run.workers}`,
    run.policy,
    run.commitOrder,
    run.seconds.toFixed(1),
    run.engineCpuSeconds === null ? "" : run.engineCpuSeconds.toFixed(1),
    run.meanConcurrency.toFixed(2),
    run.engineConcurrency?.toFixed(2) ?? "",
    run.identical ? "yes" : "NO",
  ]);
  return [
    `${report.server} (${report.serverVersion}), ${report.durability}: ${workload.batches} batches of ${workload.batchRowsMin} to ` +
      `${workload.batchRowsMax} rows from ${workload.batchSessions} sessions among ${workload.transactions - workload.batches} ` +
      `small transactions from ${workload.smallSessions}, seed ${workload.seed}`,
    "",
    formatTable(HEADINGS, rows, NUMBERS),
    "",
    ...(graphRatio === null || graphRatioOfEngine === null
      ? []
      : [
          `Abreast: the graph lets ${graphRatio.toFixed(1)} times as many transactions run together as the low-water mark ` +
            `(${graphRatioOfEngine.toFixed(1)} times as the engine counts).`,
        ]),
  ].join("\n");
}

const HEADINGS = [
  "who",
  "dependency",
  "workers",
  "policy",
  "commit order",
  "seconds",
  "engine CPU s",
  "together",
  "by engine",
  "identical",
];
const NUMBERS = new Set(["workers", "seconds", "engine CPU s", "together", "by engine"]);
