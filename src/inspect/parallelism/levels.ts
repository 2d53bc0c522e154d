import type { Policy } from "../../schedule/policy.ts";
import type { SchedulerTransaction } from "../../schedule/scheduler-types.ts";
import { boundReason, WAIT_REASONS, type WaitReason } from "./waits.ts";

/** What one policy gets out of a log. */
export interface PolicyParallelism {
  /** Transactions that could run at a time, over all steps: how many workers would have something to do. */
  meanReady: number;
  /** In 95 of 100 steps it was this many or fewer. */
  p95Ready: number;
  /** Steps in all: the most transactions of which each had to wait for the one before. */
  longestChain: number;
  /** How many transactions could not begin as soon as they were in the window, by reason; reasons without any are left out. */
  waits: Partial<Record<WaitReason, number>>;
}

/**
 * A log executed in steps: each transaction takes one step and there are workers for all that may run, but only `window` transactions are looked at: one comes in
 * when the one that many before it, and all before that, are done.
 *
 * Invariant: a transaction's step is one behind the last step of all that it waits for. Steps up to `floor` are complete: nothing that is still to come can be in them, since
 * all that comes waits for the window's beginning. So memory is bounded by the window, however long the log is.
 */
export class Levels {
  readonly #policy: Policy;
  readonly #window: number;
  /** By ordinal modulo the window's size. */
  readonly #stepOf: Int32Array;
  /** The last step of all transactions up to this one. */
  readonly #lastStepUpTo: Int32Array;
  /** How many transactions are in a step; by step modulo the size, which no two open steps share. */
  readonly #inStep: Int32Array;
  /** Of complete steps: how many there are of each size. */
  readonly #stepsOfSize = new Map<number, number>();
  readonly #waits = new Map<WaitReason, number>();
  #first = 0;
  #last = 0;
  #lastStep = 0;
  #floor = 0;
  #lastBarrier = 0;

  constructor(policy: Policy, window: number) {
    this.#policy = policy;
    this.#window = window;
    this.#stepOf = new Int32Array(window);
    this.#lastStepUpTo = new Int32Array(window);
    this.#inStep = new Int32Array(window + 1);
  }

  get policy(): Policy {
    return this.#policy;
  }

  push(transaction: SchedulerTransaction): void {
    const { ordinal, barrier } = transaction;
    if (this.#first === 0) this.#begin(ordinal);
    const dependencies = this.#policy.dependencies(transaction);
    const upTo = barrier ? ordinal - 1 : Math.max(dependencies.upTo, this.#lastBarrier);
    this.#complete(this.#lastUpTo(ordinal - this.#window));
    const bound = this.#lastUpTo(upTo);
    let waitsFor = Math.max(this.#floor, bound);
    for (const other of dependencies.also) {
      if (other > ordinal - this.#window && other >= this.#first) {
        waitsFor = Math.max(waitsFor, this.#stepOf[other % this.#window] as number);
      }
    }
    if (waitsFor > this.#floor) {
      const told = { lastBarrier: this.#lastBarrier, needsWriteset: this.#policy.needsWriteset };
      const reason = waitsFor > bound ? "conflict" : boundReason(transaction, { ...dependencies, upTo }, told);
      this.#waits.set(reason, (this.#waits.get(reason) ?? 0) + 1);
    }
    if (barrier) this.#lastBarrier = ordinal;
    this.#place(ordinal, waitsFor + 1);
  }

  result(): PolicyParallelism {
    const sizes = new Map(this.#stepsOfSize);
    for (let step = this.#floor + 1; step <= this.#lastStep; step++) {
      const size = this.#inStep[step % this.#inStep.length] as number;
      sizes.set(size, (sizes.get(size) ?? 0) + 1);
    }
    const transactions = this.#first === 0 ? 0 : this.#last - this.#first + 1;
    const waits = WAIT_REASONS.flatMap((reason): [WaitReason, number][] => {
      const count = this.#waits.get(reason);
      return count === undefined ? [] : [[reason, count]];
    });
    return {
      meanReady: this.#lastStep === 0 ? 0 : transactions / this.#lastStep,
      p95Ready: quantile(sizes, 0.95 * this.#lastStep),
      longestChain: this.#lastStep,
      waits: Object.fromEntries(waits),
    };
  }

  #begin(ordinal: number): void {
    this.#first = ordinal;
    this.#last = ordinal - 1;
    // What lies before the log is a barrier that is done.
    this.#lastBarrier = ordinal - 1;
  }

  /** The last step of everything up to this ordinal. What has left the window is complete. */
  #lastUpTo(ordinal: number): number {
    if (ordinal < this.#first) return 0;
    return ordinal <= this.#last - this.#window ? this.#floor : (this.#lastStepUpTo[ordinal % this.#window] as number);
  }

  #complete(step: number): void {
    while (this.#floor < step) {
      const slot = ++this.#floor % this.#inStep.length;
      const size = this.#inStep[slot] as number;
      this.#stepsOfSize.set(size, (this.#stepsOfSize.get(size) ?? 0) + 1);
      this.#inStep[slot] = 0;
    }
  }

  #place(ordinal: number, step: number): void {
    const slot = ordinal % this.#window;
    this.#lastStep = Math.max(this.#lastStep, step);
    this.#stepOf[slot] = step;
    this.#lastStepUpTo[slot] = this.#lastStep;
    (this.#inStep[step % this.#inStep.length] as number)++;
    this.#last = ordinal;
  }
}

/** The smallest size that this many of the steps do not exceed. */
function quantile(sizes: ReadonlyMap<number, number>, wanted: number): number {
  let seen = 0;
  for (const [size, steps] of [...sizes].sort(([a], [b]) => a - b)) {
    seen += steps;
    if (seen >= wanted) return size;
  }
  return 0;
}
