import { assert, unreachable } from "../base/assert.ts";
import type { Clock } from "../base/clock.ts";
import type { ReplicationError } from "../base/error.ts";
import type { Checkpoint, Intent } from "../apply/checkpoint.ts";
import { isPackable, type Job } from "../apply/job.ts";
import type { Worker } from "../apply/worker.ts";
import { type BinlogFormat, isSameFormat } from "../binlog/format.ts";
import { createScheduler, type SchedulerState, step } from "../schedule/scheduler.ts";
import type { Run, SchedulerEffect, SchedulerInput, SchedulerOptions } from "../schedule/scheduler-types.ts";
import type { RelayPosition, Transaction } from "../transaction/transaction.ts";
import { advance, copyProgress, gtidText, type Progress } from "./progress.ts";

/** Enough that the largest run can be packed while the one before is applied. */
const QUEUE_RUNS = 3;
const QUEUE_BYTES_MAX = 32 * 1024 * 1024;

export interface CoordinatorOptions {
  scheduler: Omit<SchedulerOptions, "startAfter">;
  progress: Progress;
  intent: Intent | undefined;
  clock: Clock;
  /** The low-water mark moved; our relay log is done with up to this place. */
  onAdvance: (relayEnd: RelayPosition) => void;
  onFatal: (error: ReplicationError) => void;
}

/**
 * Carries the scheduler's effects to the workers and the workers' news to the scheduler: no decisions here. Holds the transactions that are above the low-water mark.
 */
export class Coordinator {
  readonly #options: CoordinatorOptions;
  readonly #scheduler: SchedulerState;
  #workers: readonly Worker[] = [];
  readonly #transactions = new Map<number, Transaction>();
  #lastOrdinal = 0;
  #progress: Progress;
  #intent: Intent | undefined;
  #wakeTimer: NodeJS.Timeout | undefined;
  #stepping = false;
  readonly #inputs: SchedulerInput[] = [];
  #waiters: (() => void)[] = [];
  #drained: (() => void) | undefined;
  #lastErrors = new Map<number, ReplicationError>();
  #lastTrouble: string | undefined;
  #format: BinlogFormat | undefined;
  #applied = 0;
  #rows = 0;
  #runs = 0;
  #retries = 0;

  constructor(options: CoordinatorOptions) {
    this.#options = options;
    this.#progress = copyProgress(options.progress);
    this.#intent = options.intent;
    this.#scheduler = createScheduler({ ...options.scheduler, startAfter: 0 });
  }

  /** Up to the low-water mark. A view: copy it to keep it. */
  get progress(): Readonly<Progress> {
    return this.#progress;
  }

  /** Since this engine started. */
  get counts(): {
    queuedTransactions: number;
    queuedBytes: number;
    applied: number;
    rows: number;
    runs: number;
    retries: number;
  } {
    return {
      queuedTransactions: this.#scheduler.pendingTransactions,
      queuedBytes: this.#scheduler.pendingBytes,
      applied: this.#applied,
      rows: this.#rows,
      runs: this.#runs,
      retries: this.#retries,
    };
  }

  /** The first transaction above the low-water mark. */
  get oldest(): Transaction | undefined {
    return this.#transactions.values().next().value;
  }

  /** Nothing is waiting and nothing is at work. */
  get idle(): boolean {
    return this.#transactions.size === 0;
  }

  get hasRoom(): boolean {
    const { packTransactionsMax } = this.#options.scheduler;
    return (
      this.#scheduler.pendingTransactions < QUEUE_RUNS * Math.max(packTransactionsMax, 100) &&
      this.#scheduler.pendingBytes < QUEUE_BYTES_MAX
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

  offer(transaction: Transaction): void {
    const ordinal = ++this.#lastOrdinal;
    this.#transactions.set(ordinal, transaction);
    const inMemory = "events" in transaction.body;
    this.tell({
      type: "transaction",
      transaction: {
        ordinal,
        bytes: transaction.bytes,
        rows: transaction.rows,
        alone: !isPackable(transaction) || !inMemory,
        startsRun: !this.#continuesFormat(transaction.format),
      },
    });
  }

  #continuesFormat(format: BinlogFormat): boolean {
    const before = this.#format;
    this.#format = format;
    return before === undefined || isSameFormat(before, format);
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
    this.tell({ type: "failed", worker, retry, reason: error.message });
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
  }

  stop(): void {
    clearTimeout(this.#wakeTimer);
  }

  #carryOut(effect: SchedulerEffect): void {
    switch (effect.type) {
      case "execute":
        void this.#worker(effect.worker).execute(this.#job(effect.run));
        return;
      case "prepare":
        this.#worker(effect.worker).prepare(this.#job(effect.run));
        return;
      case "commit":
        void this.#worker(effect.worker).commit(effect.next !== undefined);
        return;
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

  #job(run: Run): Job {
    const progress = copyProgress(this.#progress);
    const transactions: Transaction[] = [];
    let intent: Intent | undefined;
    for (let ordinal = this.#scheduler.lowWater + 1; ordinal <= run.last; ordinal++) {
      const transaction = this.#transaction(ordinal);
      if (ordinal === run.first && this.#intent?.after === String(progress.transactions)) intent = this.#intent;
      if (ordinal >= run.first) transactions.push(transaction);
      advance(progress, transaction);
    }
    const checkpoint: Checkpoint = {
      source: progress.source,
      gtids: gtidText(progress.gtids),
      transactions: progress.transactions,
    };
    if (run.attempt === 1) this.#runs++;
    return { run, transactions, checkpoint, intent };
  }

  #advance(lowWater: number): void {
    let relayEnd: RelayPosition | undefined;
    for (const [ordinal, transaction] of this.#transactions) {
      if (ordinal > lowWater) break;
      advance(this.#progress, transaction);
      this.#transactions.delete(ordinal);
      this.#rows += transaction.rows;
      this.#applied++;
      relayEnd = transaction.relayEnd;
    }
    this.#lastTrouble = undefined;
    assert(relayEnd !== undefined, "the low-water mark moves over at least one transaction");
    this.#options.onAdvance(relayEnd);
    this.nudge();
  }

  #worker(index: number): Worker {
    const worker = this.#workers[index];
    assert(worker !== undefined, "the scheduler knows only workers that exist");
    return worker;
  }

  #transaction(ordinal: number): Transaction {
    const transaction = this.#transactions.get(ordinal);
    assert(transaction !== undefined, "a transaction is kept until the low-water mark has passed it");
    return transaction;
  }
}
