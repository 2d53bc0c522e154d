import { assert } from "../base/assert.ts";
import type { Dependencies } from "./policy.ts";
import type { SchedulerTransaction } from "./scheduler-types.ts";

export interface Entry {
  readonly transaction: SchedulerTransaction;
  /** Everything up to here must be committed; barriers before it are counted in. */
  upTo: number;
  /** Of those that it depends on, the ones that were not committed when it came. */
  readonly also: readonly number[];
  phase: "pending" | "running" | "committed";
  /** How many of `also` are not committed. */
  unmet: number;
  /** Who has this one in `also`. */
  readonly dependents: number[];
  /** Who waits until the low-water mark is here. */
  readonly lowWaterDependents: number[];
  /** The run that it is in, while running. */
  runId: number;
  /** The run that is being put together with it. */
  mark: number;
}

/** Of all entries, how many may be below the low-water mark: one in so many. */
const PASSED_PART = 8;

/**
 * The transactions above the low-water mark, and which of them could begin. Each knows how many of its dependencies are missing, and each tells those that depend on it
 * when it commits: so a commit costs as much as it has dependents, however many others wait.
 *
 * Invariant: `ready` has exactly the pending transactions all of whose dependencies are committed. One missing would starve; one too many would be applied too early.
 */
export class Window {
  lowWater: number;
  /** Sums over transactions without a run. */
  pendingTransactions = 0;
  pendingBytes = 0;
  pendingRows = 0;
  readonly #oneBound: boolean;
  /** `entries[passed + i]` has ordinal `lowWater + 1 + i`. */
  readonly #entries: Entry[] = [];
  /** Entries below the low-water mark, which go when they are some: moving the others for each would cost as much as all the rest. */
  #passed = 0;
  /** Ascending. */
  readonly #ready: number[] = [];
  #lastBarrier = 0;
  /** No pending one is below. */
  #firstPending: number;
  #marks = 0;

  /** `oneBound`: a transaction waits for everything up to its latest dependency, as a server that knows only commit parents does. */
  constructor(startAfter: number, oneBound: boolean) {
    this.lowWater = startAfter;
    this.#firstPending = startAfter + 1;
    this.#oneBound = oneBound;
  }

  /** How many are above the low-water mark. */
  get size(): number {
    return this.#entries.length - this.#passed;
  }

  get last(): number {
    return this.lowWater + this.size;
  }

  has(ordinal: number): boolean {
    return ordinal > this.lowWater && ordinal <= this.last;
  }

  at(ordinal: number): Entry {
    const entry = this.#entries[this.#passed + ordinal - this.lowWater - 1];
    assert(entry !== undefined, "the window has this transaction");
    return entry;
  }

  isCommitted(ordinal: number): boolean {
    return ordinal <= this.lowWater || this.at(ordinal).phase === "committed";
  }

  add(transaction: SchedulerTransaction, dependencies: Dependencies): void {
    const { ordinal, barrier, applied } = transaction;
    assert(ordinal === this.last + 1, "transactions arrive in source order, each once");
    const also = dependencies.also.filter((other) => !this.isCommitted(other));
    let upTo = Math.max(barrier ? ordinal - 1 : dependencies.upTo, this.#lastBarrier);
    if (this.#oneBound) upTo = Math.max(upTo, ...also.splice(0));
    assert(upTo < ordinal, "a transaction depends on earlier ones only");
    const entry: Entry = {
      transaction,
      upTo,
      also,
      phase: applied ? "committed" : "pending",
      unmet: also.length,
      dependents: [],
      lowWaterDependents: [],
      runId: 0,
      mark: 0,
    };
    this.#entries.push(entry);
    if (barrier) this.#lastBarrier = ordinal;
    if (applied) return;
    for (const other of also) this.at(other).dependents.push(ordinal);
    if (upTo > this.lowWater) this.at(upTo).lowWaterDependents.push(ordinal);
    this.pendingTransactions++;
    this.pendingBytes += transaction.bytes;
    this.pendingRows += transaction.rows;
    this.#noteReady(entry);
  }

  /** A number that no entry carries yet: marking entries is cheaper than a set of ordinals for every try. */
  newMark(): number {
    return ++this.#marks;
  }

  claim(ordinals: readonly number[], runId: number): void {
    for (const ordinal of ordinals) {
      const entry = this.at(ordinal);
      assert(entry.phase === "pending", "a transaction is in one run at a time");
      entry.phase = "running";
      entry.runId = runId;
      this.pendingTransactions--;
      this.pendingBytes -= entry.transaction.bytes;
      this.pendingRows -= entry.transaction.rows;
    }
    const at = this.#readyIndex(ordinals[0] ?? 0);
    if (ordinals.length === 1) {
      if (this.#ready[at] === ordinals[0]) this.#ready.splice(at, 1);
    } else {
      const kept = this.#ready.slice(at).filter((ordinal) => this.at(ordinal).phase === "pending");
      this.#ready.length = at;
      for (const ordinal of kept) this.#ready.push(ordinal);
    }
  }

  /** `inOrder`: from now on it waits for everything before it. */
  giveBack(ordinals: readonly number[], { inOrder }: { inOrder: boolean } = { inOrder: false }): void {
    for (const ordinal of ordinals) {
      const entry = this.at(ordinal);
      if (inOrder) {
        entry.upTo = ordinal - 1;
        if (entry.upTo > this.lowWater) this.at(entry.upTo).lowWaterDependents.push(ordinal);
      }
      entry.phase = "pending";
      entry.runId = 0;
      this.pendingTransactions++;
      this.pendingBytes += entry.transaction.bytes;
      this.pendingRows += entry.transaction.rows;
      this.#firstPending = Math.min(this.#firstPending, ordinal);
      this.#noteReady(entry);
    }
  }

  commit(ordinals: readonly number[]): void {
    for (const ordinal of ordinals) {
      const entry = this.at(ordinal);
      entry.phase = "committed";
      for (const other of entry.dependents) {
        const dependent = this.at(other);
        dependent.unmet--;
        this.#noteReady(dependent);
      }
    }
  }

  /** Moves the low-water mark over what is committed. @returns whether it moved */
  advance(): boolean {
    const first = this.#passed;
    while (this.#entries[this.#passed]?.phase === "committed") this.#passed++;
    if (this.#passed === first) return false;
    this.lowWater += this.#passed - first;
    for (let at = first; at < this.#passed; at++) {
      for (const other of this.#entries[at]?.lowWaterDependents ?? []) {
        if (other > this.lowWater) this.#noteReady(this.at(other));
      }
    }
    if (this.#passed * PASSED_PART > this.#entries.length) {
      this.#entries.splice(0, this.#passed);
      this.#passed = 0;
    }
    return true;
  }

  /** The first one behind `after` that could begin. */
  readyAfter(after: number): number | undefined {
    return this.#ready[this.#readyIndex(after + 1)];
  }

  /** The first one that has not begun. */
  firstPending(): number | undefined {
    this.#firstPending = Math.max(this.#firstPending, this.lowWater + 1);
    while (this.#firstPending <= this.last && this.at(this.#firstPending).phase !== "pending") this.#firstPending++;
    return this.#firstPending <= this.last ? this.#firstPending : undefined;
  }

  isReady(entry: Entry): boolean {
    return entry.phase === "pending" && entry.unmet === 0 && entry.upTo <= this.lowWater;
  }

  #noteReady(entry: Entry): void {
    if (!this.isReady(entry)) return;
    const { ordinal } = entry.transaction;
    const at = this.#readyIndex(ordinal);
    if (this.#ready[at] !== ordinal) this.#ready.splice(at, 0, ordinal);
  }

  /** Where `ordinal` is among the ready, or would be. */
  #readyIndex(ordinal: number): number {
    let low = 0;
    let high = this.#ready.length;
    if (high > 0 && (this.#ready[high - 1] as number) < ordinal) return high;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#ready[middle] as number) < ordinal) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
