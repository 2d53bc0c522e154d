import { assert } from "../base/assert.ts";
import type { KeyHashes } from "./key-hashes.ts";
import type { Beside } from "./beside.ts";
import type { LockOwner, LockTable } from "./locks.ts";
import type { LogDevice, Machine, Resumable } from "./machine.ts";

/** A run as a session sees it. */
export interface SessionRun {
  executeUs: number;
  kb: number;
  /** More queries than one: each waits for the answer to the one before. */
  extraRoundTrips: number;
  /** Row locks, by transaction, where they matter; none otherwise. */
  keys: readonly KeyHashes[];
}

export interface SessionEvents {
  /** The answer is at the engine. */
  executed: () => void;
  committed: () => void;
  rolledBack: () => void;
  /** It waits for locks. */
  blocked: () => void;
}

export interface SessionCosts {
  roundTripUs: number;
  commitUs: number;
  rollbackPart: number;
}

/** Core time, and waiting of each kind, in microseconds. */
export interface SessionTimes {
  computing: number;
  cores: number;
  network: number;
  flush: number;
  lock: number;
}

type Command = { kind: "execute"; run: SessionRun } | { kind: "commit" } | { kind: "rollback" };

type State = "idle" | "sent" | "locks" | "executing" | "more" | "committing" | "flushing" | "rolling-back";

/**
 * A worker's session on the target, and the server's thread behind it: takes one command after the other, as they come over the wire. The answer to a commit does not keep it from
 * the next run, when that was sent with the commit.
 */
export class TargetSession implements Resumable, LockOwner {
  readonly times: SessionTimes = { computing: 0, cores: 0, network: 0, flush: 0, lock: 0 };
  readonly #machine: Machine;
  readonly #device: LogDevice;
  readonly #beside: Beside;
  readonly #locks: LockTable<TargetSession>;
  readonly #costs: SessionCosts;
  readonly #events: SessionEvents;
  /** Arrived or on their way, in order. */
  readonly #commands: Command[] = [];
  #state: State = "idle";
  #sinceUs = 0;
  #workUs = 0;
  /** What it executes, or has executed and not yet committed. */
  #run: SessionRun | undefined;
  #isInterrupted = false;
  readonly #wakeUp: Resumable = { resume: () => this.#next() };

  constructor(
    machine: Machine,
    device: LogDevice,
    beside: Beside,
    locks: LockTable<TargetSession>,
    costs: SessionCosts,
    events: SessionEvents,
  ) {
    this.#machine = machine;
    this.#device = device;
    this.#beside = beside;
    this.#locks = locks;
    this.#costs = costs;
    this.#events = events;
  }

  execute(run: SessionRun): void {
    this.#send({ kind: "execute", run });
  }

  commit(): void {
    this.#send({ kind: "commit" });
  }

  /** Rolls back what it executes, or has executed. */
  rollback(): void {
    if (this.#state === "idle") this.#send({ kind: "rollback" });
    else if (this.#state === "locks") {
      this.#locks.leave(this);
      this.#enter("idle");
      this.#beginRollback();
    } else this.#isInterrupted = true;
  }

  /** The run that waits for locks. */
  get blockedRun(): SessionRun | undefined {
    return this.#state === "locks" ? this.#run : undefined;
  }

  /** Who has them. */
  get blockers(): readonly TargetSession[] {
    return this.#locks.blockers(this, this.blockedRun?.keys ?? []);
  }

  /** The locks that it waited for may be free. */
  retryLocks(): void {
    if (this.#state === "locks") this.#takeLocks();
  }

  resume(): void {
    switch (this.#state) {
      case "executing":
        return this.#executedPart();
      case "more":
        return this.#executed();
      case "committing":
        this.#enter("flushing");
        return this.#device.flush(this.#run?.kb ?? 0, this);
      case "flushing": {
        this.#release();
        this.#answer(this.#events.committed);
        return this.#finish();
      }
      case "rolling-back":
        this.#release();
        this.#answer(this.#events.rolledBack);
        return this.#finish();
      default:
        assert(false, `a session that is ${this.#state} waits for nothing`);
    }
  }

  #send(command: Command): void {
    this.#commands.push(command);
    if (this.#state !== "idle" || this.#commands.length > 1) return;
    this.#enter("sent");
    this.#machine.sleep(this.#costs.roundTripUs / 2, this.#wakeUp);
  }

  /** Takes the next command that has arrived. */
  #next(): void {
    const command = this.#commands.shift();
    if (command === undefined) return this.#enter("idle");
    switch (command.kind) {
      case "execute":
        assert(this.#run === undefined, "a session is one transaction at a time");
        this.#run = command.run;
        return this.#takeLocks();
      case "commit":
        this.#enter("committing");
        return this.#compute(this.#costs.commitUs);
      case "rollback":
        return this.#beginRollback();
    }
  }

  #takeLocks(): void {
    const run = this.#run;
    assert(run !== undefined, "locks are a run's");
    if (run.keys.length > 0 && !this.#locks.take(this, run.keys)) {
      if (this.#state === "locks") return;
      this.#enter("locks");
      return this.#events.blocked();
    }
    this.#enter("executing");
    this.#compute(run.executeUs);
  }

  #executedPart(): void {
    const extra = this.#run?.extraRoundTrips ?? 0;
    if (extra === 0 || this.#isInterrupted) return this.#executed();
    this.#enter("more");
    this.#machine.sleep(extra * this.#costs.roundTripUs, this);
  }

  #executed(): void {
    if (this.#isInterrupted) return this.#beginRollback();
    this.#answer(this.#events.executed);
    this.#finish();
  }

  #beginRollback(): void {
    this.#isInterrupted = false;
    this.#enter("rolling-back");
    this.#compute((this.#run?.executeUs ?? 0) * this.#costs.rollbackPart);
  }

  #release(): void {
    const run = this.#run;
    this.#run = undefined;
    if (run !== undefined && run.keys.length > 0) this.#locks.release(this, run.keys);
  }

  /** What was sent behind the last command is there already. */
  #finish(): void {
    this.#enter("idle");
    if (this.#commands.length > 0) this.#next();
  }

  #answer(tell: () => void): void {
    this.times.network += this.#costs.roundTripUs / 2;
    this.#machine.sleep(this.#costs.roundTripUs / 2, { resume: tell });
  }

  #compute(us: number): void {
    this.#workUs = this.#machine.workUs(us);
    this.#machine.compute(us, this);
    this.#beside.add(us);
  }

  /** Counts the time that the state before took. */
  #enter(state: State): void {
    const { nowUs } = this.#machine;
    const tookUs = nowUs - this.#sinceUs;
    switch (this.#state) {
      case "executing":
      case "committing":
      case "rolling-back":
        this.times.computing += this.#workUs;
        this.times.cores += Math.max(0, tookUs - this.#workUs);
        break;
      case "flushing":
        this.times.flush += tookUs;
        break;
      case "sent":
      case "more":
        this.times.network += tookUs;
        break;
      case "locks":
        this.times.lock += tookUs;
        break;
      case "idle":
        break;
    }
    this.#state = state;
    this.#sinceUs = nowUs;
  }
}
