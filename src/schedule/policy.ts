import type { SchedulerTransaction } from "./scheduler-types.ts";

/**
 * What a transaction must wait for. Ordinals are those of `SchedulerTransaction`; one that lies before the first transaction of this run is committed.
 * - `upTo`: everything up to this ordinal must be committed (the server's commit parent: its low-water mark rule). `ordinal - 1`: it waits for all before it.
 * - `also`: each of these must be committed (a dependency graph); any order, may repeat, may be below `upTo`.
 */
export interface Dependencies {
  upTo: number;
  also: readonly number[];
}

/**
 * A policy answers one question, once per transaction, in source order: which earlier transactions must it wait for?
 * It may remember what it was asked (a writeset history), in bounded memory, but it never hears of workers, time or outcomes: that is the scheduler's.
 * Too many dependencies cost speed; one too few breaks the data. The first transaction that a policy sees waits for all before it: a policy knows nothing of those.
 */
export interface Policy {
  /** In the server's words: `logical-clock`, `writeset`, … */
  readonly name: string;
  /** Whether it looks at `SchedulerTransaction.writeset`: making one costs time. */
  readonly needsWriteset: boolean;
  /**
   * Its answers are guesses (MariaDB's optimistic mode): a run that fails while earlier transactions are not committed has perhaps only come too early, and
   * is tried again in order. Needs the commit order preserved.
   */
  readonly speculative: boolean;
  dependencies(transaction: SchedulerTransaction): Dependencies;
}
