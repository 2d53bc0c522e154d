import { assert, unreachable } from "../base/assert.ts";
import type { Clock } from "../base/clock.ts";
import type { ReplicationError } from "../base/error.ts";
import type { Intent } from "../apply/checkpoint.ts";
import type { Job } from "../apply/job.ts";
import type { Worker } from "../apply/worker.ts";
import { createScheduler, type SchedulerState, step } from "../schedule/scheduler.ts";
import { SchedulerTransactions } from "../schedule/scheduler-transactions.ts";
import type { Run, SchedulerEffect, SchedulerInput, SchedulerOptions } from "../schedule/scheduler-types.ts";
import type { WorkerSlot, WorkerTimes } from "../schedule/slots.ts";
import { timesAt } from "../schedule/times.ts";
import type { Writeset } from "../schedule/writeset.ts";
import type { RelayPosition, Transaction } from "../transaction/transaction.ts";
import { HeldTransactions } from "./held.ts";
import type { Progress } from "./progress.ts";

/** Enough that the largest run can be packed while the one before is applied, and that behind a batch there is something for every worker. */
const QUEUE_RUNS = 3;
const QUEUE_MIN = 2_000;
const QUEUE_BYTES_MAX = 32 * 1024 * 1024;
/** Transactions above the low-water mark at most, applied ones among them: each costs some words of memory, and of the checkpoint. */
const WINDOW_MAX = 20_000;

export interface CoordinatorOptions {
  scheduler: Omit<SchedulerOptions, "startAfter">;
  progress: Progress;
  /** False with preserved GTIDs: the target's executed set is the checkpoint. */
  writesCheckpoints: boolean;
  intent: Intent | undefined;
  clock: Clock;
  /** The low-water mark moved; our relay log is done with up to this place, undefined: of where this engine began. */
  onAdvance: (relayEnd: RelayPosition | undefined) => void;
  onRetire: (worker: number) => void;
  /** Something changed for the workers. */
  onStep: () => void;
  onFatal: (error: ReplicationError) => void;
}

/** What is told of a transaction besides itself. */
export interface Offer {
  transaction: Transaction;
  writeset: Writeset | undefined;
  /** The target has it, though not all before it. */
  applied: boolean;
}

/**
 * Carries the scheduler's effects to the workers and the workers' news to the scheduler: no decisions here. Holds the transactions that are above the low-water mark.
 */
export class Coordinator {
  readonly #options: CoordinatorOptions;
  readonly #scheduler: SchedulerState;
  #workers: readonly Worker[] = [];
  readonly #held: HeldTransactions;
  #lastOrdinal = 0;
  #intent: Intent | undefined;
  #wakeTimer: NodeJS.Timeout | undefined;
  #stepping = false;
  readonly #inputs: SchedulerInput[] = [];
  #waiters: (() => void)[] = [];
  #drained: (() => void) | undefined;
  #lastErrors = new Map<number, ReplicationError>();
  #lastTrouble: string | undefined;
  readonly #stream = new SchedulerTransactions();
  #applied = 0;
  #rows = 0;
  #runs = 0;
  #retries = 0;
  #latencyMs: number | undefined;

  constructor(options: CoordinatorOptions) {
    this.#options = options;
    this.#held = new HeldTransactions(options.progress, {
      preserve: options.scheduler.commitOrder === "preserve",
      writes: options.writesCheckpoints,
    });
    this.#intent = options.intent;
    this.#scheduler = createScheduler({ ...options.scheduler, startAfter: 0 });
  }

  /** Up to the low-water mark. A view: copy it to keep it. */
  get progress(): Readonly<Progress> {
    return this.#held.low;
  }

  /** Since this engine started. */
  get counts(): {
    queuedTransactions: number;
    queuedBytes: number;
    applied: number;
    rows: number;
    runs: number;
    retries: number;
    lockBreaks: number;
    meanConcurrency: number;
    latencyMs: number | undefined;
  } {
    const { window, lockBreaks, concurrency } = this.#scheduler;
    return {
      queuedTransactions: window.pendingTransactions,
      queuedBytes: window.pendingBytes,
      applied: this.#applied,
      rows: this.#rows,
      runs: this.#runs,
      retries: this.#retries,
      lockBreaks,
      latencyMs: this.#latencyMs,
      meanConcurrency: concurrency.ms === 0 ? 0 : concurrency.runMs / concurrency.ms,
    };
  }

  /** What each worker does. */
  get slots(): readonly WorkerSlot[] {
    return this.#scheduler.slots;
  }

  /** For how long a worker did what, up to now. */
  times(worker: number): WorkerTimes {
    return timesAt(this.#scheduler, worker, this.#options.clock.nowMs());
  }

  get isQueueEmpty(): boolean {
    return this.#scheduler.window.pendingTransactions === 0;
  }

  /** The first transaction above the low-water mark. */
  get oldest(): Transaction | undefined {
    return this.#held.oldest;
  }

  /** Nothing is waiting and nothing is at work. */
  get idle(): boolean {
    return this.#held.size === 0;
  }

  get hasRoom(): boolean {
    const { window } = this.#scheduler;
    return (
      window.pendingTransactions < Math.max(QUEUE_MIN, QUEUE_RUNS * this.#options.scheduler.packTransactionsMax) &&
      window.size < WINDOW_MAX &&
      window.pendingBytes < QUEUE_BYTES_MAX &&
      this.#held.bytes < 2 * QUEUE_BYTES_MAX
    );
  }

  /** Why a worker could not go on, until something is committed. */
  get lastTrouble(): string | undefined {
    return this.#lastTrouble;
  }

  /** Resolves at the next change: room in the queue, or the last transaction committed. */
  change(): Promise<void> {
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  /** Something else than the low-water mark moved on: those who wait for a change look again. */
  nudge(): void {
    for (const resolve of this.#waiters.splice(0)) resolve();
  }

  use(workers: readonly Worker[]): void {
    this.#workers = workers;
  }

  offer({ transaction, writeset, applied }: Offer): void {
    const ordinal = ++this.#lastOrdinal;
    this.#held.add(ordinal, transaction, this.#options.clock.nowMs());
    if (applied) this.#held.commit([ordinal], -1);
    this.tell({ type: "transaction", transaction: this.#stream.of(transaction, { ordinal, writeset, applied }) });
  }

  /** Starts nothing new; resolves when what runs has ended. */
  drain(): Promise<void> {
    return new Promise((resolve) => {
      this.#drained = resolve;
      this.tell({ type: "drain" });
    });
  }

  troubled(reason: string): void {
    this.#lastTrouble = reason;
  }

  failed(worker: number, retry: "now" | "later" | "never", error: ReplicationError): void {
    this.#lastErrors.set(worker, error);
    this.#retries++;
    this.tell({ type: "failed", worker, retry, isConflict: error.code === "CONFLICT", reason: error.message });
  }

  gaveBack(worker: number): void {
    this.tell({ type: "failed", worker, retry: "now", isConflict: false, reason: "rolled back for an earlier one" });
  }

  committed(worker: number): void {
    const slot = this.#scheduler.slots[worker];
    if (slot?.run !== undefined) this.#held.commit(slot.run.ordinals, worker);
    this.tell({ type: "committed", worker });
  }

  /** Inputs that arise while effects are carried out wait their turn: `step` is never entered twice. */
  tell(input: SchedulerInput): void {
    this.#inputs.push(input);
    if (this.#stepping) return;
    this.#stepping = true;
    try {
      for (let next = this.#inputs.shift(); next !== undefined; next = this.#inputs.shift()) {
        for (const effect of step(this.#scheduler, next, this.#options.clock.nowMs())) this.#carryOut(effect);
      }
    } finally {
      this.#stepping = false;
    }
    if (input.type !== "transaction") this.#options.onStep();
  }

  stop(): void {
    clearTimeout(this.#wakeTimer);
  }

  #carryOut(effect: SchedulerEffect): void {
    switch (effect.type) {
      case "execute":
        void this.#worker(effect.worker).execute(this.#job(effect.worker, effect.run, undefined));
        return;
      case "prepare":
        this.#worker(effect.worker).prepare(
          this.#job(effect.worker, effect.run, this.#scheduler.slots[effect.worker]?.run),
        );
        return;
      case "commit": {
        const { worker, run, next } = effect;
        const follow = next === undefined ? undefined : { run: next, job: () => this.#job(worker, next, run) };
        void this.#worker(worker).commit(follow);
        return;
      }
      case "rollback":
        void this.#worker(effect.worker).rollback();
        return;
      case "retire":
        return this.#options.onRetire(effect.worker);
      case "advance":
        return this.#advance(effect.lowWater);
      case "wake":
        clearTimeout(this.#wakeTimer);
        this.#wakeTimer = setTimeout(
          () => this.tell({ type: "tick" }),
          Math.max(0, effect.atMs - this.#options.clock.nowMs()),
        );
        return;
      case "halt": {
        const error = [...this.#lastErrors.values()].find((candidate) => candidate.message === effect.reason);
        assert(error !== undefined, "a halt has the error that a worker told");
        return this.#options.onFatal(error);
      }
      case "drained":
        this.#drained?.();
        return;
      default:
        unreachable(effect);
    }
  }

  #job(worker: number, run: Run, behind: Run | undefined): Job {
    const transactions = run.ordinals.map((ordinal) => this.#held.get(ordinal));
    if (run.attempt === 1) this.#runs++;
    const isIntended = run.atTurn && this.#intent?.after === String(this.#held.low.transactions);
    return {
      run,
      transactions,
      checkpoint: this.#held.checkpoint(worker, run, behind),
      before: () => this.#held.lowCheckpoint(),
      intent: isIntended ? this.#intent : undefined,
    };
  }

  #advance(lowWater: number): void {
    const { transactions, rows, relayEnd, sinceMs } = this.#held.advance(lowWater);
    const latencyMs = this.#options.clock.nowMs() - sinceMs;
    this.#latencyMs = this.#latencyMs === undefined ? latencyMs : this.#latencyMs + (latencyMs - this.#latencyMs) / 8;
    this.#rows += rows;
    this.#applied += transactions;
    this.#lastTrouble = undefined;
    this.#options.onAdvance(relayEnd);
    this.nudge();
  }

  #worker(index: number): Worker {
    const worker = this.#workers[index];
    assert(worker !== undefined, "the scheduler knows only workers that exist");
    return worker;
  }
}
