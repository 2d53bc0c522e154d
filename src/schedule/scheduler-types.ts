import type { Policy } from "./policy.ts";
import type { Writeset } from "./writeset.ts";

/** What the scheduler and its policies need to know of a transaction; the events stay outside. */
export interface SchedulerTransaction {
  /** Consecutive, in source order. */
  ordinal: number;
  bytes: number;
  rows: number;
  /** Never shares a run with others: DDL, XA, non-transactional changes, what is too big for memory. */
  alone: boolean;
  /** Waits for all before it, and all behind wait for it, under every policy: DDL, statements, XA, non-transactional changes. */
  barrier: boolean;
  /** Cannot join the run before it: its events are of another format. */
  startsRun: boolean;
  /** The target has it already, from a former engine that applied out of order. */
  applied: boolean;
  /** The source's binlog file that it is in: logical clocks start anew in each. */
  file: string;
  /** The source's logical clock (MySQL 5.7+); 0 and 0 when the source gives none. */
  lastCommitted: number;
  sequenceNumber: number;
  /** MariaDB: transactions of one group commit have the same. */
  commitId: bigint | undefined;
  /** The source's connection that ran it; undefined when the binlog does not tell. */
  sessionId: number | undefined;
  /** Schemas of the tables that it changes. */
  schemas: ReadonlySet<string>;
  /** Only for policies that need it; undefined then: nothing is known. */
  writeset: Writeset | undefined;
}

/**
 * Transactions that one worker applies as one transaction of the target, in source order. With `preserve` they are consecutive; with `relaxed` others may lie
 * between them.
 */
export interface Run {
  id: number;
  ordinals: readonly number[];
  first: number;
  last: number;
  bytes: number;
  rows: number;
  /** 1 at the first try. */
  attempt: number;
  /** Everything before it was committed when this try began: what fails now does not fail for coming too early. */
  atTurn: boolean;
  /** Rows that are missing or already there are settled as the operator chose, not met with a halt. */
  resolve: boolean;
}

export interface SchedulerOptions {
  /** The ordinal before the first transaction that will come. */
  startAfter: number;
  workers: number;
  policy: Policy;
  commitOrder: "preserve" | "relaxed";
  /**
   * `graph`: a transaction that waits holds up nobody who does not depend on it. `low-water-mark`: as the server does, each transaction waits until everything up to
   * its latest dependency is committed, and nothing behind it is begun meanwhile.
   */
  dependency: "graph" | "low-water-mark";
  packTransactionsMax: number;
  packBytesMax: number;
  /** Rows of a run; one transaction may have more. */
  packRowsMax: number;
  /** How long a run may be expected to take, by what former runs took per byte. */
  packMsMax: number;
  /** How often a run is tried again after a temporary failure before the scheduler halts. */
  retriesMax: number;
  /** The operator chose what becomes of conflicts: they do not halt. */
  resolvesConflicts: boolean;
}

/** How long to wait before a run is tried again: 2^attempt × this, at most the second number. A deadlock's victim goes again at once. */
export const RETRY_BACKOFF_MS = { first: 50, max: 5_000 };

export type SchedulerInput =
  | { type: "transaction"; transaction: SchedulerTransaction }
  /** All changes of the run are done on the target; it can commit. */
  | { type: "executed"; worker: number }
  | { type: "committed"; worker: number }
  /** The run was rolled back. `never`: trying again cannot help. */
  | { type: "failed"; worker: number; retry: "now" | "later" | "never"; isConflict: boolean; reason: string }
  /** The target says that `waiter` waits for locks of these. */
  | { type: "lock-wait"; waiter: number; blockers: readonly number[] }
  /** A worker's session is up, at start or after a reconnect. */
  | { type: "worker-ready"; worker: number }
  | { type: "worker-lost"; worker: number }
  /** From now on this many workers, numbers 0 to count - 1. */
  | { type: "workers"; count: number }
  /** From now on start nothing new; what runs is finished. Answered by `drained`. */
  | { type: "drain" }
  | { type: "tick" };

export type SchedulerEffect =
  | { type: "execute"; worker: number; run: Run }
  /** While it executes: this run will be its next one, after the one at work, on the same session. It may be made ready, not begun. */
  | { type: "prepare"; worker: number; run: Run }
  /** `next`: the prepared run is begun as soon as the commit is on its way, and is what the worker tells of after `committed`. */
  | { type: "commit"; worker: number; run: Run; next: Run | undefined }
  /** It holds locks that an earlier transaction needs: it gives them back, and tells `failed` with `now`. */
  | { type: "rollback"; worker: number; run: Run }
  /** The low-water mark: every transaction up to this ordinal is committed. */
  | { type: "advance"; lowWater: number }
  /** The worker is no longer needed: its session can go. It comes back with `worker-ready`. */
  | { type: "retire"; worker: number }
  /** Call again with `tick` at this time. */
  | { type: "wake"; atMs: number }
  | { type: "halt"; run: Run; reason: string }
  | { type: "drained" };
