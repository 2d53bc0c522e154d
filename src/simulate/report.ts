import type { CellResult, Waits } from "./cell.ts";
import type { CostModel } from "./cost-model.ts";
import type { CriticalPathReport } from "./critical-path.ts";
import type { LagReport } from "./lag-curve.ts";

export type { PathPart } from "./critical-path.ts";
export type { Waits } from "./cell.ts";

/** One setting and what it would do. */
export interface SimulatedRun extends Omit<CellResult, "criticalPath" | "lag"> {
  /** How many times as fast as one worker with the same policy, order and packing. */
  speedup: number;
}

/** The fields of the JSON that `simulate --json` prints: docs/cli-json.md describes them. Times are seconds, shares are of 1. */
export interface SimulateReport {
  /** The files that were read, in order. */
  files: readonly string[];
  transactions: number;
  rows: number;
  bytes: number;
  /** Of the log's own time, ISO 8601; undefined when it does not tell. */
  firstAt: string | undefined;
  lastAt: string | undefined;
  /** What was changed about the log before it was simulated, in words. */
  whatIf: readonly string[];
  /** The server that wrote the log; undefined: there is no transaction. */
  source: { flavour: "mysql" | "mariadb"; serverVersion: string } | undefined;
  runs: readonly SimulatedRun[];
  /** Which of `runs` is recommended. */
  best: number;
  recommendation: string;
  /** Of the recommended run. */
  criticalPath: CriticalPathReport;
  lag: LagReport;
  /** Of one worker with the same policy, order and packing, for comparison. */
  lagOfOneWorker: LagReport | undefined;
  costs: CostModel;
  faults: readonly { file: string; offset: number; reason: string }[];
}

/** In the order in which they are shown. */
export const WAIT_NAMES = [
  "dependency",
  "commitOrder",
  "engine",
  "flush",
  "cores",
  "network",
  "locks",
  "emptyQueue",
] as const satisfies readonly (keyof Waits)[];

export const WAIT_WORDS: Readonly<Record<keyof Waits, string>> = {
  dependency: "dependency",
  commitOrder: "commit order",
  engine: "engine",
  flush: "flush",
  cores: "cores",
  network: "network",
  locks: "locks",
  emptyQueue: "empty queue",
};
