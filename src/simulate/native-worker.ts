import { assert } from "../base/assert.ts";
import type { Beside } from "./beside.ts";
import type { LockOwner, LockTable } from "./locks.ts";
import type { Machine, Resumable } from "./machine.ts";
import type { NativeTransaction } from "./native.ts";

export interface NativeWorkerEvents {
  /** Executed, and not yet in the commit queue. */
  executed: (worker: NativeWorker) => void;
  /** In the commit queue: whose turn it is next may come in behind it. */
  inQueue: (worker: NativeWorker) => void;
  committed: (worker: NativeWorker, transaction: NativeTransaction) => void;
  /** It gives its locks back. */
  rolledBack: (worker: NativeWorker) => void;
  /** Everything before it is committed. */
  hasTurn: (ordinal: number) => boolean;
}

type State = "free" | "waking" | "locks" | "executing" | "executed" | "flushing" | "rolling-back" | "again";

/** A worker thread of the server's own replica: one transaction at a time, from being woken until its group is on the disk. */
export class NativeWorker implements Resumable, LockOwner {
  /** Microseconds by what it did; `turn`: waiting to enter the commit queue. */
  readonly times = { computing: 0, cores: 0, flush: 0, turn: 0, lock: 0 };
  current: NativeTransaction | undefined;
  readonly #machine: Machine;
  readonly #beside: Beside;
  readonly #locks: LockTable<NativeWorker>;
  readonly #costs: { wakeUs: number; rollbackPart: number };
  readonly #events: NativeWorkerEvents;
  #state: State = "free";
  #sinceUs = 0;
  #workUs = 0;
  #isInterrupted = false;

  constructor(
    machine: Machine,
    beside: Beside,
    locks: LockTable<NativeWorker>,
    costs: { wakeUs: number; rollbackPart: number },
    events: NativeWorkerEvents,
  ) {
    this.#machine = machine;
    this.#beside = beside;
    this.#locks = locks;
    this.#costs = costs;
    this.#events = events;
  }

  get isFree(): boolean {
    return this.#state === "free";
  }

  execute(transaction: NativeTransaction): void {
    this.current = transaction;
    this.#enter("waking");
    this.#machine.sleep(this.#costs.wakeUs, this);
  }

  joined(): void {
    this.#enter("flushing");
    this.#events.inQueue(this);
  }

  /** Its group is on the disk. */
  flushed(): void {
    const transaction = this.current;
    assert(transaction !== undefined, "who commits is at work");
    this.current = undefined;
    this.#enter("free");
    if (transaction.keys.length > 0) this.#locks.release(this, transaction.keys);
    this.#events.committed(this, transaction);
  }

  resume(): void {
    if (this.#state === "waking") return this.#takeLocks();
    if (this.#state === "executing") {
      if (this.#isInterrupted) return this.#rollBack();
      this.#enter("executed");
      return this.#events.executed(this);
    }
    assert(this.#state === "rolling-back", `a worker that is ${this.#state} waits for nothing`);
    this.#locks.release(this, this.current?.keys ?? []);
    this.#enter("again");
    this.goAgain();
  }

  retryLocks(): void {
    if (this.#state === "locks") this.#takeLocks();
  }

  /** One that was rolled back begins again when everything before it is committed. */
  goAgain(): void {
    if (this.#state === "again" && this.#events.hasTurn(this.current?.ordinal ?? 0)) this.#takeLocks();
  }

  #takeLocks(): void {
    const { current } = this;
    assert(current !== undefined, "locks are a transaction's");
    if (current.keys.length > 0 && !this.#locks.take(this, current.keys)) {
      this.#enter("locks");
      // The server knows the order: a later one that has what an earlier one wants is rolled back at once.
      for (const blocker of this.#locks.blockers(this, current.keys)) {
        if ((blocker.current?.ordinal ?? 0) > current.ordinal) blocker.#giveBack();
      }
      return;
    }
    this.#enter("executing");
    this.#compute(current.executeUs);
  }

  #giveBack(): void {
    if (this.#state === "executing") this.#isInterrupted = true;
    else if (this.#state === "executed") this.#rollBack();
  }

  #rollBack(): void {
    this.#isInterrupted = false;
    this.#events.rolledBack(this);
    this.#enter("rolling-back");
    this.#compute((this.current?.executeUs ?? 0) * this.#costs.rollbackPart);
  }

  #compute(us: number): void {
    this.#workUs = this.#machine.workUs(us);
    this.#machine.compute(us, this);
    this.#beside.add(us);
  }

  #enter(state: State): void {
    const { nowUs } = this.#machine;
    const tookUs = nowUs - this.#sinceUs;
    if (this.#state === "executing" || this.#state === "rolling-back") {
      this.times.computing += this.#workUs;
      this.times.cores += Math.max(0, tookUs - this.#workUs);
    } else if (this.#state === "flushing") this.times.flush += tookUs;
    else if (this.#state === "executed") this.times.turn += tookUs;
    else if (this.#state === "locks" || this.#state === "again") this.times.lock += tookUs;
    this.#state = state;
    this.#sinceUs = nowUs;
  }
}

/**
 * The server's commit queue: the first one in a group is its leader, and does the work of all of them, one after the other; then one flush takes them all. Who comes meanwhile is in the next group.
 */
export class GroupCommit implements Resumable {
  flushes = 0;
  busyUs = 0;
  readonly #machine: Machine;
  readonly #costs: { commitUs: number; flushUs: number; flushKbUs: number };
  #group: NativeWorker[] = [];
  #waiting: NativeWorker[] = [];
  #isWriting = false;

  constructor(machine: Machine, costs: { commitUs: number; flushUs: number; flushKbUs: number }) {
    this.#machine = machine;
    this.#costs = costs;
  }

  join(worker: NativeWorker): void {
    this.#waiting.push(worker);
    if (this.#group.length === 0) this.#begin();
    worker.joined();
  }

  resume(): void {
    if (this.#isWriting) {
      this.#isWriting = false;
      let kb = 0;
      for (const { current } of this.#group) kb += current?.kb ?? 0;
      const us = this.#costs.flushUs + kb * this.#costs.flushKbUs;
      this.busyUs += us;
      this.#machine.sleep(us, this);
      return;
    }
    const done = this.#group;
    this.#group = [];
    if (this.#waiting.length > 0) this.#begin();
    for (const worker of done) worker.flushed();
  }

  #begin(): void {
    this.#group = this.#waiting;
    this.#waiting = [];
    this.#isWriting = true;
    this.flushes++;
    this.#machine.compute(this.#group.length * this.#costs.commitUs, this);
  }
}
