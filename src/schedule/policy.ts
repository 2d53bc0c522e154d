import type { SchedulerTransaction } from "./scheduler-types.ts";

/**
 * What a transaction must wait for. Ordinals are those of `SchedulerTransaction`.
 * - `barrier`: everything before it must be committed first, and nothing behind it starts before it has committed.
 * - `upTo`: everything up to this ordinal must be committed (the server's commit parent, its low-water mark rule). 0: nothing.
 * - `also`: each of these must be committed (a dependency graph).
 */
export interface Dependencies {
  barrier: boolean;
  upTo: number;
  also: readonly number[];
}

/**
 * A policy answers one question, once per transaction, in source order: which earlier transactions must it wait for?
 * It may remember what it was asked (a writeset history), but it never hears of workers, time or outcomes: that is the scheduler's.
 * Too many dependencies cost speed; one too few breaks the data.
 */
export interface Policy {
  readonly name: string;
  dependencies(transaction: SchedulerTransaction): Dependencies;
}
