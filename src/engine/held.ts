import { assert } from "../base/assert.ts";
import type { Checkpoint, WorkerCheckpoint } from "../apply/checkpoint.ts";
import type { Run } from "../schedule/scheduler-types.ts";
import { EMPTY_BODY } from "../transaction/event-list.ts";
import type { RelayPosition, Transaction } from "../transaction/transaction.ts";
import { AppliedAhead, type Numbered } from "./ahead.ts";
import { advance, checkpointOf, copyProgress, type Progress } from "./progress.ts";

interface HeldTransaction {
  transaction: Transaction;
  sinceMs: number;
  /** Who committed it, while transactions before it are not. */
  committedBy: number | undefined;
  /** Of the last one of a run: what the checkpoint that goes with it claims to be complete. */
  claim: Claim | undefined;
}

/** Everything up to here is on the target. `relayEnd`: undefined while it is where this engine began. */
interface Claim {
  ordinal: number;
  relayEnd: RelayPosition | undefined;
}

/**
 * The transactions above the low-water mark, by the scheduler's ordinals, and what the target's checkpoint says once some of them are committed.
 *
 * Invariant: a worker's checkpoint claims only what is certain at its commit: what is committed now, its own run, and what its session commits before it. Claiming a
 * transaction that another worker has at work would lose it in a crash.
 */
export class HeldTransactions {
  readonly #held = new Map<number, HeldTransaction>();
  readonly #preserve: boolean;
  readonly #writes: boolean;
  #low: Progress;
  #lowOrdinal = 0;
  #lowRelayEnd: RelayPosition | undefined;
  /** The furthest claim that is committed. It may be behind the low-water mark: of the runs that are committed together, none knew of the others. */
  #claimed: Claim = { ordinal: 0, relayEnd: undefined };
  /** The number of ordinal 0 since the channel began. */
  readonly #base: bigint;
  /** With the order preserved: where the last run's checkpoint ended, so that the next one's begins from there. */
  #planned: { ordinal: number; progress: Progress } | undefined;
  bytes = 0;

  /** `writes`: the workers write checkpoints; with preserved GTIDs they do not. */
  constructor(progress: Progress, { preserve, writes }: { preserve: boolean; writes: boolean }) {
    this.#low = copyProgress(progress);
    this.#base = progress.transactions;
    this.#preserve = preserve;
    this.#writes = writes;
  }

  /** Up to the low-water mark. A view: copy it to keep it. */
  get low(): Readonly<Progress> {
    return this.#low;
  }

  get size(): number {
    return this.#held.size;
  }

  /** The first one above the low-water mark. */
  get oldest(): Transaction | undefined {
    return this.#held.values().next().value?.transaction;
  }

  get(ordinal: number): Transaction {
    return this.#at(ordinal).transaction;
  }

  add(ordinal: number, transaction: Transaction, nowMs: number): void {
    const held = { transaction, sinceMs: nowMs, committedBy: undefined, claim: undefined };
    this.#held.set(ordinal, held);
    this.bytes += bytesOf(held);
  }

  /** They are on the target. Their events are no longer needed. */
  commit(ordinals: readonly number[], worker: number): void {
    for (const ordinal of ordinals) {
      const held = this.#at(ordinal);
      this.bytes -= bytesOf(held);
      held.committedBy = worker;
      // With the order preserved the low-water mark is about to pass it.
      if (!this.#preserve) held.transaction = { ...held.transaction, body: EMPTY_BODY };
      if (held.claim !== undefined && held.claim.ordinal > this.#claimed.ordinal) this.#claimed = held.claim;
    }
  }

  /**
   * The low-water mark is at `ordinal` now.
   * @returns what it passed, since when the last of them was here, and up to where no later engine will need our relay log: it begins from what the target's checkpoint claims
   */
  advance(ordinal: number): {
    transactions: number;
    rows: number;
    relayEnd: RelayPosition | undefined;
    sinceMs: number;
  } {
    assert(ordinal > this.#lowOrdinal, "the low-water mark moves over at least one transaction");
    const passed = { transactions: 0, rows: 0, sinceMs: 0 };
    for (; this.#lowOrdinal < ordinal; this.#lowOrdinal++) {
      const held = this.#at(this.#lowOrdinal + 1);
      const { transaction } = held;
      this.#held.delete(this.#lowOrdinal + 1);
      this.bytes -= bytesOf(held);
      advance(this.#low, transaction);
      passed.transactions++;
      passed.rows += transaction.rows;
      passed.sinceMs = held.sinceMs;
      this.#lowRelayEnd = transaction.relayEnd;
    }
    if (this.#planned !== undefined && this.#planned.ordinal < this.#lowOrdinal) this.#planned = undefined;
    return { ...passed, relayEnd: this.#writes ? this.#claimed.relayEnd : this.#lowRelayEnd };
  }

  /** What the target holds now, as far as nothing is missing before it. */
  lowCheckpoint(): Checkpoint {
    return checkpointOf(this.#low);
  }

  /** What `worker` writes with `run`. `behind`: the run that its session commits before. */
  checkpoint(worker: number, run: Run, behind: Run | undefined): WorkerCheckpoint {
    const last = this.#base + BigInt(run.last);
    if (!this.#writes) return { low: NOWHERE, ahead: "", last };
    if (this.#preserve) {
      this.#claim(run, run.last);
      return { low: checkpointOf(this.#progressAt(run.last)), ahead: "", last };
    }
    const own = new Set([...(behind?.ordinals ?? []), ...run.ordinals]);
    const progress = copyProgress(this.#low);
    let ordinal = this.#lowOrdinal + 1;
    for (; this.#isCertain(ordinal, own); ordinal++) advance(progress, this.get(ordinal));
    this.#claim(run, ordinal - 1);
    const ahead = AppliedAhead.of(this.#ownAbove(ordinal, worker, own));
    return { low: checkpointOf(progress), ahead: ahead.toString(), last };
  }

  /** For every try of a run anew: another one may know more. */
  #claim(run: Run, ordinal: number): void {
    const relayEnd = ordinal === this.#lowOrdinal ? this.#lowRelayEnd : this.get(ordinal).relayEnd;
    this.#at(run.last).claim = { ordinal, relayEnd };
  }

  *#ownAbove(from: number, worker: number, own: ReadonlySet<number>): Generator<Numbered> {
    for (const [ordinal, { transaction, committedBy }] of this.#held) {
      if (ordinal < from || (committedBy !== worker && !own.has(ordinal))) continue;
      yield { number: this.#base + BigInt(ordinal), transaction };
    }
  }

  #isCertain(ordinal: number, own: ReadonlySet<number>): boolean {
    return own.has(ordinal) || this.#held.get(ordinal)?.committedBy !== undefined;
  }

  /** With the order preserved everything up to `ordinal` is committed when `ordinal` is. */
  #progressAt(ordinal: number): Progress {
    const planned = this.#planned;
    const isOnTheWay = planned !== undefined && planned.ordinal <= ordinal;
    const progress = copyProgress(isOnTheWay ? planned.progress : this.#low);
    for (let next = (isOnTheWay ? planned.ordinal : this.#lowOrdinal) + 1; next <= ordinal; next++) {
      advance(progress, this.get(next));
    }
    this.#planned = { ordinal, progress };
    return progress;
  }

  #at(ordinal: number): HeldTransaction {
    const held = this.#held.get(ordinal);
    assert(held !== undefined, "a transaction is kept until the low-water mark has passed it");
    return held;
  }
}

const NOWHERE: Checkpoint = { source: { file: "", position: 0 }, gtids: "", transactions: 0n };

const bytesOf = ({ transaction: { body, eventBytes }, committedBy }: HeldTransaction): number =>
  committedBy === undefined && "events" in body ? eventBytes : 0;
