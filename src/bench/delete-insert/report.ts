import type { Durability } from "../contest/contest.ts";
import { formatTable } from "../table.ts";
import { verdictOf } from "./verdict.ts";

export interface DeleteInsertRun {
  variant: string;
  who: "native" | "abreast";
  workers: number;
  policy: string;
  /** As it was: a server that cannot leave the order keeps it. */
  commitOrder: "preserve" | "relaxed";
  /** Transactions applied. */
  transactions: number;
  seconds: number;
  /** Transactions that were rolled back and tried again. */
  retries: number;
  lockWaits: number;
  lockWaitTimeouts: number;
  /** Transactions that gave their locks back because an earlier one waited for them; null for the server's own replica, which counts them as retries. */
  lockBreaks: number | null;
  /** CHECKSUM TABLE of every table agrees with the source. */
  identical: boolean;
}

/** The document of `bench delete-insert --json`. */
export interface DeleteInsertReport {
  server: string;
  serverVersion: string;
  durability: Durability;
  isolation: "READ-COMMITTED";
  workload: { name: "delete-insert"; sessions: number; rounds: number; seed: number };
  runs: DeleteInsertRun[];
}

export function formatDeleteInsert(report: DeleteInsertReport): string {
  const { workload, runs } = report;
  const rows = runs.map((run) => [
    run.variant,
    run.who,
    `${run.workers}`,
    run.policy,
    run.commitOrder,
    run.seconds.toFixed(1),
    `${run.retries}`,
    `${run.lockWaits}`,
    `${run.lockWaitTimeouts}`,
    run.lockBreaks === null ? "" : `${run.lockBreaks}`,
    run.identical ? "yes" : "NO",
  ]);
  return [
    `${report.server} (${report.serverVersion}), ${report.durability}, ${report.isolation}: ${workload.sessions} sessions, ` +
      `${workload.rounds} rounds each, seed ${workload.seed}`,
    "",
    formatTable(HEADINGS, rows, NUMBERS),
    "",
    ...[...new Set(runs.map((run) => run.variant))].map((variant) =>
      verdictOf(runs.filter((run) => run.variant === variant)),
    ),
  ].join("\n");
}

const HEADINGS = [
  "variant",
  "who",
  "workers",
  "policy",
  "commit order",
  "seconds",
  "retries",
  "lock waits",
  "lock timeouts",
  "lock breaks",
  "identical",
];
const NUMBERS = new Set(["workers", "seconds", "retries", "lock waits", "lock timeouts", "lock breaks"]);
