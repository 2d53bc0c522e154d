import type { Policy } from "./policy.ts";

/** What the scheduler needs to know of a transaction; the events stay outside. */
export interface SchedulerTransaction {
  /** Consecutive, in source order. */
  ordinal: number;
  bytes: number;
  rows: number;
  /** Never shares a run with others and is a barrier under every policy: DDL, XA, non-transactional changes. */
  alone: boolean;
  /** Cannot join the run before it: its events are of another format. */
  startsRun: boolean;
}

/** Consecutive transactions that one worker applies as one transaction of the target: ordinals `first` to `last`, both included. */
export interface Run {
  id: number;
  first: number;
  last: number;
  bytes: number;
  rows: number;
  /** 1 at the first try. */
  attempt: number;
}

export interface SchedulerOptions {
  /** The ordinal before the first transaction that will come. */
  startAfter: number;
  workers: number;
  policy: Policy;
  commitOrder: "preserve" | "relaxed";
  packTransactionsMax: number;
  packBytesMax: number;
  /** How long a run may be expected to take, by what former runs took per byte. */
  packMsMax: number;
  /** How often a run is tried again after a temporary failure before the scheduler halts. */
  retriesMax: number;
}

/** How long to wait before a run is tried again: 2^attempt × this, at most the second number. A deadlock's victim goes again at once. */
export const RETRY_BACKOFF_MS = { first: 50, max: 5_000 };

export type SchedulerInput =
  | { type: "transaction"; transaction: SchedulerTransaction }
  /** All changes of the run are done on the target; it can commit. */
  | { type: "executed"; worker: number }
  | { type: "committed"; worker: number }
  /** The run was rolled back. `never`: trying again cannot help. */
  | { type: "failed"; worker: number; retry: "now" | "later" | "never"; reason: string }
  /** A worker's session is up, at start or after a reconnect. */
  | { type: "worker-ready"; worker: number }
  | { type: "worker-lost"; worker: number }
  /** From now on start nothing new; what runs is finished. Answered by `drained`. */
  | { type: "drain" }
  | { type: "tick" };

export type SchedulerEffect =
  | { type: "execute"; worker: number; run: Run }
  /** While it executes: this run will be its next one, after the one at work, on the same session. It may be made ready, not begun. */
  | { type: "prepare"; worker: number; run: Run }
  /** `next`: the prepared run is begun as soon as the commit is on its way, and is what the worker tells of after `committed`. */
  | { type: "commit"; worker: number; run: Run; next: Run | undefined }
  /** The low-water mark: every transaction up to this ordinal is committed. */
  | { type: "advance"; lowWater: number }
  /** Call again with `tick` at this time. */
  | { type: "wake"; atMs: number }
  | { type: "halt"; run: Run; reason: string }
  | { type: "drained" };
