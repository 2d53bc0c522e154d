import { assert } from "../base/assert.ts";
import { POLICIES } from "../schedule/policies/policies.ts";
import type { Policy } from "../schedule/policy.ts";
import { createScheduler, type SchedulerState, step } from "../schedule/scheduler.ts";
import type { Run, SchedulerEffect, SchedulerInput } from "../schedule/scheduler-types.ts";
import type { CellOptions, Moment } from "./cell-options.ts";
import { type CellResult, timesOf } from "./cell-result.ts";
import { Beside } from "./beside.ts";
import type { CostModel } from "./cost-model.ts";
import { CriticalPath, type PathNode } from "./critical-path.ts";
import { EngineThread } from "./engine-thread.ts";
import type { KeyHashes } from "./key-hashes.ts";
import { LagCurve } from "./lag-curve.ts";
import { LockTable } from "./locks.ts";
import { LogDevice, Machine } from "./machine.ts";
import { type CostedTransaction, CostSheet, type SimulatedTransaction } from "./simulated-transaction.ts";
import { type SessionRun, TargetSession } from "./target-session.ts";

export type { CellOptions, Moment } from "./cell-options.ts";
export type { CellResult, Waits } from "./cell-result.ts";

/** As `src/engine/coordinator.ts` has them. */
const QUEUE_RUNS = 3;
const QUEUE_MIN = 2_000;
const QUEUE_BYTES_MAX = 32 * 1024 * 1024;
const WINDOW_MAX = 20_000;
/** As `src/apply/worker-session.ts`: events of one BINLOG statement. */
const STATEMENT_EVENT_BYTES_MAX = 2 * 1024 * 1024;
/** As `src/apply/worker.ts`: a commit and the run behind it leave in one piece. */
const TOGETHER_BYTES_MAX = 32 * 1024;
/** As `src/engine/lock-breaker.ts`: when the target is asked who waits for whom. */
const LOCK_BREAK_AFTER_US = 10_000;
const RETRIES_MAX = 10;
/** As `src/relay/file-events.ts`: so many bytes are read from the relay log at once, and offered without looking up while there is room. */
const BATCH_BYTES = 256 * 1024;

/** A run at work, by worker. */
interface AtWork {
  run: Run;
  executeNode: PathNode;
  commitNode: PathNode | undefined;
}

/**
 * One setting of the engine, applying a backlog on the virtual machine: the product's own scheduler, with this class in the place of the engine's coordinator, and sessions of the virtual target in
 * the place of the workers. It is given one transaction after the other, and goes on with virtual time exactly until it would read the next: so its memory is the queue's, however long the log.
 */
export class Cell {
  readonly #options: CellOptions;
  readonly #sheet: CostSheet;
  readonly #machine: Machine;
  readonly #engine: EngineThread;
  readonly #device: LogDevice;
  readonly #locks = new LockTable<TargetSession>();
  readonly #sessions: TargetSession[] = [];
  readonly #policy: Policy;
  #scheduler: SchedulerState | undefined;
  readonly #inputs: SchedulerInput[] = [];
  #stepping = false;
  /** What the source's log has next; undefined: it is not yet told. */
  #offered: SimulatedTransaction | undefined;
  /** What the feed waits for: being told what comes next, or room in the queue. */
  #feed: "source" | "room" | "busy" = "source";
  /** Offered of what was read at once. */
  #batchBytes = 0;
  /** Transactions above the low-water mark. */
  readonly #held = new Map<number, CostedTransaction>();
  #heldBytes = 0;
  /** The low-water mark, as far as its transactions were let go. */
  #passed = 0;
  readonly #atWork: (AtWork | undefined)[] = [];
  /** What goes on behind a commit that was sent, by worker. */
  readonly #nexts: (Run | undefined)[] = [];
  /** Runs that are encoded while the one before them is at work. */
  readonly #prepared = new Set<number>();
  readonly #path = new CriticalPath();
  readonly #lag = new LagCurve();
  /** What let the scheduler say what it says now, and what let the feed go on. */
  #trigger: PathNode | undefined;
  #lastEnded: PathNode | undefined;
  #feedCause: PathNode | undefined;
  #transactions = 0;
  #rows = 0;
  #runs = 0;
  #lastCommitUs = 0;

  /** `costs`: a sheet can be shared by cells that are fed the same transactions. */
  constructor(options: CellOptions, costs: CostModel | CostSheet) {
    this.#options = options;
    this.#sheet = costs instanceof CostSheet ? costs : new CostSheet(costs);
    const { cores, cpuFactor, roundTripUs, flushUs, flushKbUs, engineBesidePart, target, targetBesidePart } =
      this.#sheet.costs;
    this.#machine = new Machine(cores, cpuFactor);
    this.#engine = new EngineThread(this.#machine, engineBesidePart);
    this.#device = new LogDevice(this.#machine, flushUs, flushKbUs);
    const beside = new Beside(this.#machine, targetBesidePart);
    const historySize = options.writesetHistory ?? 25_000;
    const packed = options.packTransactionsMax > 1 && options.commitOrder === "preserve";
    this.#policy = options.answers ?? POLICIES[options.policy].make({ historySize, packed });
    for (let worker = 0; worker < options.workers; worker++) {
      const session = new TargetSession(
        this.#machine,
        this.#device,
        beside,
        this.#locks,
        { roundTripUs, commitUs: target.commitUs, rollbackPart: target.rollbackPart },
        {
          executed: () => this.#answered(() => this.#executed(worker)),
          committed: () => this.#answered(() => this.#committed(worker)),
          rolledBack: () => this.#answered(() => this.#rolledBack(worker)),
          blocked: () => this.#blocked(worker),
        },
      );
      this.#sessions.push(session);
    }
  }

  /**
   * The next transaction of the log, in order. Virtual time goes on until the feed has taken it, which is when it has offered the one before: the feed always knows what comes next, as
   * one that reads a relay log does.
   */
  push(transaction: SimulatedTransaction): void {
    if (this.#scheduler === undefined) this.#start(transaction.scheduler.ordinal - 1);
    this.#offered = transaction;
    if (this.#feed === "source") this.#goOn();
    while (this.#offered !== undefined) assert(this.#machine.advance(), "while the queue is full something is at work");
  }

  /** The log has no more. */
  end(): CellResult {
    while (this.#feed !== "source" || this.#held.size > 0) {
      assert(this.#machine.advance(), "as long as something is not committed, something is at work");
    }
    return this.#result();
  }

  #start(startAfter: number): void {
    this.#passed = startAfter;
    const { workers, commitOrder, dependency, packTransactionsMax, packBytesMax, packRowsMax, packMsMax } =
      this.#options;
    this.#scheduler = createScheduler({
      startAfter,
      workers,
      policy: this.#policy,
      commitOrder,
      dependency: dependency ?? "graph",
      packTransactionsMax,
      packBytesMax: packBytesMax ?? 2 * 1024 * 1024,
      packRowsMax: packRowsMax ?? 2_000,
      packMsMax: packMsMax ?? 500,
      retriesMax: RETRIES_MAX,
      resolvesConflicts: false,
    });
    for (let worker = 0; worker < workers; worker++) this.#tell({ type: "worker-ready", worker }, undefined);
  }

  get #state(): SchedulerState {
    assert(this.#scheduler !== undefined, "the first transaction starts the scheduler");
    return this.#scheduler;
  }

  /** The feed: as long as there is room it receives, assembles and offers. */
  #goOn(): void {
    if (!this.#hasRoom()) {
      this.#feed = "room";
      return;
    }
    const transaction = this.#offered;
    if (transaction === undefined) {
      this.#feed = "source";
      return;
    }
    this.#feed = "busy";
    this.#offered = undefined;
    const costed = this.#sheet.of(transaction);
    const { engineUs, writesetUs } = costed.costs;
    const us = engineUs + (this.#policy.needsWriteset ? writesetUs : 0);
    const done = (): void => this.#offer(costed);
    this.#batchBytes += transaction.scheduler.bytes;
    if (this.#batchBytes < BATCH_BYTES) this.#engine.follow(us, done);
    else {
      this.#batchBytes = 0;
      this.#engine.add(us, done);
    }
  }

  #hasRoom(): boolean {
    const { window } = this.#state;
    return (
      window.pendingTransactions < Math.max(QUEUE_MIN, QUEUE_RUNS * this.#options.packTransactionsMax) &&
      window.size < WINDOW_MAX &&
      window.pendingBytes < QUEUE_BYTES_MAX &&
      this.#heldBytes < 2 * QUEUE_BYTES_MAX
    );
  }

  #offer(costed: CostedTransaction): void {
    const { transaction } = costed;
    const { ordinal, bytes } = transaction.scheduler;
    this.#held.set(ordinal, costed);
    this.#heldBytes += bytes;
    this.#tell({ type: "transaction", transaction: transaction.scheduler }, undefined, transaction);
    this.#goOn();
  }

  #tell(input: SchedulerInput, trigger: PathNode | undefined, arrived?: SimulatedTransaction): void {
    this.#inputs.push(input);
    if (this.#stepping) return;
    this.#stepping = true;
    this.#trigger = trigger;
    for (let next = this.#inputs.shift(); next !== undefined; next = this.#inputs.shift()) {
      const effects = step(this.#state, next, this.#machine.nowUs / 1000);
      if (effects.length === 0) continue;
      if (arrived !== undefined) {
        this.#trigger = this.#path.add("feed", this.#feedCause, [arrived], this.#machine.nowUs);
        this.#ended(this.#trigger);
        this.#feedCause = this.#trigger;
      }
      for (const effect of effects) this.#carryOut(effect);
    }
    this.#stepping = false;
  }

  #carryOut(effect: SchedulerEffect): void {
    switch (effect.type) {
      case "execute":
        return this.#execute(effect.worker, effect.run);
      case "prepare":
        this.#prepared.add(effect.run.id);
        this.#engine.follow(this.#buildUs(effect.run), () => {});
        return;
      case "commit":
        return this.#commit(effect.worker, effect.run, effect.next);
      case "rollback":
        this.#note(effect.worker, "roll back", effect.run);
        this.#session(effect.worker).rollback();
        return;
      case "advance":
        return this.#advance();
      case "wake":
        this.#machine.sleep(effect.atMs * 1000 - this.#machine.nowUs, {
          resume: () => this.#tell({ type: "tick" }, this.#lastEnded),
        });
        return;
      case "halt":
        assert(false, `nothing fails for good in a simulation: ${effect.reason}`);
        return;
      case "retire":
      case "drained":
        return;
    }
  }

  #note(worker: number, what: Moment, run: Run): void {
    this.#options.onMoment?.(this.#machine.nowUs, worker, what, run);
  }

  #execute(worker: number, run: Run): void {
    this.#note(worker, "execute", run);
    const session = this.#session(worker);
    this.#atWork[worker] = { run, executeNode: this.#begin(run, this.#trigger), commitNode: undefined };
    this.#engine.follow(this.#buildUs(run) + this.#sheet.costs.engine.commandUs, () =>
      session.execute(this.#sessionRun(run)),
    );
  }

  #commit(worker: number, run: Run, next: Run | undefined): void {
    const { commandUs } = this.#sheet.costs.engine;
    const session = this.#session(worker);
    this.#note(worker, "commit", run);
    const atWork = this.#atWork[worker];
    assert(atWork !== undefined, "who commits is at work");
    atWork.commitNode = this.#path.add(
      "commit",
      this.#trigger ?? atWork.executeNode,
      atWork.executeNode.transactions,
      this.#machine.nowUs,
    );
    if (next === undefined) {
      this.#engine.follow(commandUs, () => session.commit());
      return;
    }
    const buildUs = this.#prepared.delete(next.id) ? 0 : this.#buildUs(next);
    const sessionRun = this.#sessionRun(next);
    if (next.bytes <= TOGETHER_BYTES_MAX) {
      this.#engine.follow(commandUs + buildUs, () => {
        session.commit();
        session.execute(sessionRun);
      });
    } else {
      this.#engine.follow(commandUs, () => session.commit());
      this.#engine.follow(commandUs + buildUs, () => session.execute(sessionRun));
    }
    this.#note(worker, "execute", next);
    this.#nexts[worker] = next;
  }

  #begin(run: Run, cause: PathNode | undefined): PathNode {
    this.#runs++;
    return this.#path.add("execute", cause, this.#of(run), this.#machine.nowUs);
  }

  #answered(done: () => void): void {
    this.#engine.add(this.#sheet.costs.engine.answerUs, done);
  }

  #executed(worker: number): void {
    const atWork = this.#atWork[worker];
    assert(atWork !== undefined, "who has executed is at work");
    this.#note(worker, "executed", atWork.run);
    this.#ended(atWork.executeNode);
    this.#tell({ type: "executed", worker }, atWork.executeNode);
  }

  #committed(worker: number): void {
    const atWork = this.#atWork[worker];
    const node = atWork?.commitNode;
    assert(atWork !== undefined && node !== undefined, "who has committed was at work");
    this.#note(worker, "committed", atWork.run);
    this.#ended(node);
    this.#lastCommitUs = this.#machine.nowUs;
    this.#path.committed(node);
    const next = this.#nexts[worker];
    this.#nexts[worker] = undefined;
    this.#atWork[worker] =
      next === undefined ? undefined : { run: next, executeNode: this.#begin(next, node), commitNode: undefined };
    this.#tell({ type: "committed", worker }, node);
  }

  #ended(node: PathNode): void {
    node.endUs = this.#machine.nowUs;
    this.#lastEnded = node;
  }

  #rolledBack(worker: number): void {
    const reason = "rolled back for an earlier one";
    this.#nexts[worker] = undefined;
    this.#tell({ type: "failed", worker, retry: "now", isConflict: false, reason }, this.#atWork[worker]?.executeNode);
  }

  /** A lock that an earlier one has comes by itself; for that of a later one the lock breaker looks after a while. */
  #blocked(worker: number): void {
    const session = this.#session(worker);
    const { blockedRun } = session;
    const look = (): void => {
      if (session.blockedRun !== blockedRun) return;
      const blockers = session.blockers.map((other) => this.#sessions.indexOf(other));
      this.#tell({ type: "lock-wait", waiter: worker, blockers }, this.#atWork[worker]?.executeNode);
      this.#machine.sleep(LOCK_BREAK_AFTER_US, { resume: look });
    };
    this.#machine.sleep(LOCK_BREAK_AFTER_US, { resume: look });
  }

  #advance(): void {
    const { lowWater } = this.#state.window;
    while (this.#passed < lowWater) {
      const held = this.#held.get(++this.#passed);
      if (held === undefined) continue;
      this.#held.delete(this.#passed);
      const { scheduler, committedAtUs } = held.transaction;
      this.#heldBytes -= scheduler.bytes;
      this.#transactions++;
      this.#rows += scheduler.rows;
      this.#lag.passed(committedAtUs);
    }
    this.#lag.advanced(this.#machine.nowUs);
    if (this.#feed !== "room") return;
    this.#feedCause = this.#trigger;
    this.#goOn();
  }

  #buildUs(run: Run): number {
    const { runUs, encodeKbUs } = this.#sheet.costs.engine;
    return runUs + (run.bytes / 1024) * encodeKbUs;
  }

  #sessionRun({ ordinals, bytes }: Run): SessionRun {
    let executeUs = this.#sheet.costs.target.runUs;
    const keys: KeyHashes[] = [];
    for (const ordinal of ordinals) {
      const held = this.#held.get(ordinal);
      if (held === undefined) continue;
      executeUs += held.costs.targetUs;
      const { writeset } = held.transaction.scheduler;
      if (this.#policy.speculative && writeset !== undefined) keys.push(writeset.writes);
    }
    const extraRoundTrips = Math.floor(bytes / STATEMENT_EVENT_BYTES_MAX);
    return { executeUs, kb: bytes / 1024, extraRoundTrips, keys };
  }

  #of(run: Run): SimulatedTransaction[] {
    const transactions: SimulatedTransaction[] = [];
    for (const ordinal of run.ordinals) {
      const held = this.#held.get(ordinal);
      if (held !== undefined) transactions.push(held.transaction);
    }
    return transactions;
  }

  #session(worker: number): TargetSession {
    const session = this.#sessions[worker];
    assert(session !== undefined, "the scheduler knows only workers that exist");
    return session;
  }

  #result(): CellResult {
    const { policy, workers, commitOrder, packTransactionsMax } = this.#options;
    const { startUs, workerStartUs, engine, engineBesidePart } = this.#sheet.costs;
    const engineStartUs = this.#machine.workUs(engine.startUs);
    const predictedSeconds = (this.#lastCommitUs + startUs + engineStartUs + workers * workerStartUs) / 1e6;
    const { busySeconds, waits, workSeconds } = timesOf(this.#sessions, this.#scheduler, this.#lastCommitUs);
    return {
      policy,
      workers,
      commitOrder,
      packing: packTransactionsMax,
      transactions: this.#transactions,
      rows: this.#rows,
      runs: this.#runs,
      flushes: this.#device.flushes,
      flushSeconds: this.#device.busyUs / 1e6,
      lockBreaks: this.#scheduler?.lockBreaks ?? 0,
      predictedSeconds,
      transactionsPerSecond: predictedSeconds === 0 ? 0 : this.#transactions / predictedSeconds,
      meanBusyWorkers: this.#lastCommitUs === 0 ? 0 : busySeconds / (this.#lastCommitUs / 1e6),
      waits,
      workSeconds,
      engineThreadSeconds: (this.#engine.threadUs + engineStartUs) / 1e6,
      engineCpuSeconds: (this.#engine.computedUs + engineStartUs * (1 + engineBesidePart)) / 1e6,
      targetCpuSeconds: (this.#machine.computedUs - this.#engine.computedUs) / 1e6,
      criticalPath: this.#path.report(),
      lag: this.#lag.report(),
    };
  }
}
