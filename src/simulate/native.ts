import { assert } from "../base/assert.ts";
import { logicalClockPolicy } from "../schedule/policies/logical-clock.ts";
import { optimisticPolicy } from "../schedule/policies/optimistic.ts";
import type { Policy } from "../schedule/policy.ts";
import { Beside } from "./beside.ts";
import type { CellResult, Waits } from "./cell.ts";
import type { CostModel } from "./cost-model.ts";
import { CriticalPath, type PathNode } from "./critical-path.ts";
import type { KeyHashes } from "./key-hashes.ts";
import { LagCurve } from "./lag-curve.ts";
import { LockTable } from "./locks.ts";
import { Machine, type Resumable } from "./machine.ts";
import { GroupCommit, NativeWorker } from "./native-worker.ts";
import { rowsUs, type SimulatedTransaction } from "./simulated-transaction.ts";

export interface NativeOptions {
  /** Default `mysql`; `optimistic` is MariaDB's. */
  flavour?: "mysql" | "mariadb";
  /** `logical-clock`: MySQL's only one, MariaDB's conservative mode. `optimistic`: MariaDB's. */
  policy: "logical-clock" | "optimistic";
  workers: number;
  commitOrder: "preserve" | "relaxed";
}

/** The receiver is never further ahead than this: the relay log of a real one grows on, but nobody would notice. */
const RECEIVED_MAX = 2_000;

/** A transaction between the relay log and its commit. */
export interface NativeTransaction {
  transaction: SimulatedTransaction;
  ordinal: number;
  executeUs: number;
  kb: number;
  /** Row locks, where they matter; none otherwise. */
  keys: readonly KeyHashes[];
  /** Up to here all must be committed before it begins. */
  upTo: number;
  node: PathNode | undefined;
}

/**
 * The target's own replica (`sql/rpl_mta_submode.cc`, `sql/rpl_replica_commit_order_manager.cc`, 8.0; `sql/rpl_parallel.cc`, MariaDB) on the virtual machine. A coordinator hands one transaction after the
 * other to a free worker, and stands before one whose commit parent is not yet below the low-water mark. Workers wait for their turn to enter the commit queue, not for the commit before
 * theirs: so neighbours share a flush.
 */
export class NativeCell {
  readonly #options: NativeOptions;
  readonly #costs: CostModel;
  readonly #machine: Machine;
  readonly #policy: Policy;
  readonly #workers: NativeWorker[] = [];
  readonly #path = new CriticalPath();
  readonly #lag = new LagCurve();
  readonly #commit: GroupCommit;
  #offered: SimulatedTransaction | undefined;
  #receiving: SimulatedTransaction | undefined;
  #isStarved = true;
  /** In the relay log, not yet read by the coordinator. */
  readonly #received: SimulatedTransaction[] = [];
  /** Scheduled, and waiting for its commit parent or for a worker. */
  #atHand: NativeTransaction | undefined;
  #isCoordinatorBusy = false;
  #isSpinning = false;
  /** The last transaction for which all behind wait. */
  #barrier = 0;
  /** Every transaction up to here is committed; above it, those that are. */
  #lowWater = 0;
  readonly #committed = new Map<number, SimulatedTransaction>();
  /** Whose turn it is to enter the commit queue. */
  #turn = 0;
  readonly #waitingForTurn = new Map<number, NativeWorker>();
  #lastNode: PathNode | undefined;
  #started = false;
  #transactions = 0;
  #rows = 0;
  #lastCommitUs = 0;
  #rollbacks = 0;
  #idle = { dependencyUs: 0, sinceUs: 0 };

  constructor(options: NativeOptions, costs: CostModel) {
    this.#options = options;
    this.#costs = costs;
    this.#machine = new Machine(costs.cores, costs.cpuFactor);
    this.#policy = options.policy === "optimistic" ? optimisticPolicy() : logicalClockPolicy();
    const { wakeUs, commitUs, flushUs } = costs.native;
    this.#commit = new GroupCommit(this.#machine, { commitUs, flushUs, flushKbUs: costs.flushKbUs });
    const locks = new LockTable<NativeWorker>();
    const beside = new Beside(this.#machine, costs.targetBesidePart);
    for (let worker = 0; worker < options.workers; worker++) {
      this.#workers.push(
        new NativeWorker(
          this.#machine,
          beside,
          locks,
          { wakeUs, rollbackPart: costs.target.rollbackPart },
          {
            executed: (who) => this.#executed(who),
            inQueue: (who) => this.#inQueue(who),
            committed: (_who, done) => this.#done(done),
            rolledBack: (who) => this.#rolledBack(who),
            hasTurn: (ordinal) => ordinal === this.#lowWater + 1,
          },
        ),
      );
    }
  }

  push(transaction: SimulatedTransaction): void {
    if (!this.#started) {
      this.#started = true;
      this.#lowWater = transaction.scheduler.ordinal - 1;
      this.#turn = transaction.scheduler.ordinal;
    }
    assert(this.#offered === undefined, "one transaction at a time");
    this.#offered = transaction;
    this.#isStarved = false;
    this.#receive();
    while (!this.#isStarved) assert(this.#machine.advance(), "while the relay log is full something is at work");
  }

  end(): CellResult {
    while (this.#machine.advance()) {
      // Until nothing is at work any more.
    }
    assert(this.#received.length === 0 && this.#atHand === undefined, "at the end everything is committed");
    return this.#result();
  }

  readonly #receiver: Resumable = {
    resume: () => {
      const received = this.#receiving;
      this.#receiving = undefined;
      if (received !== undefined) this.#received.push(received);
      this.#coordinate();
      this.#receive();
    },
  };

  #receive(): void {
    if (this.#receiving !== undefined || this.#received.length >= RECEIVED_MAX) return;
    if (this.#offered === undefined) {
      this.#isStarved = true;
      return;
    }
    this.#receiving = this.#offered;
    this.#offered = undefined;
    this.#machine.compute(this.#costs.native.receiverUs, this.#receiver);
  }

  readonly #coordinator: Resumable = {
    resume: () => {
      this.#isCoordinatorBusy = false;
      this.#dispatch();
    },
  };

  /** Reads the next transaction of the relay log. */
  #coordinate(): void {
    if (this.#isCoordinatorBusy || this.#atHand !== undefined) return;
    const transaction = this.#received.shift();
    if (transaction === undefined) return;
    this.#receive();
    this.#atHand = this.#scheduled(transaction);
    this.#isCoordinatorBusy = true;
    const { coordinatorUs, coordinatorKbUs } = this.#costs.native;
    this.#machine.compute(coordinatorUs + this.#atHand.kb * coordinatorKbUs, this.#coordinator);
  }

  #scheduled(transaction: SimulatedTransaction): NativeTransaction {
    const { scheduler, rows, executionUs } = transaction;
    const { native, target } = this.#costs;
    const kb = scheduler.bytes / 1024;
    const { upTo } = this.#policy.dependencies(scheduler);
    const statementUs = scheduler.barrier && scheduler.rows === 0 ? (executionUs ?? target.statementUs) : 0;
    const waitsFor = scheduler.barrier ? scheduler.ordinal - 1 : Math.max(upTo, this.#barrier);
    if (scheduler.barrier) this.#barrier = scheduler.ordinal;
    return {
      transaction,
      ordinal: scheduler.ordinal,
      executeUs:
        native.transactionUs +
        native.rowsFactor * (target.transactionUs + kb * target.kbUs + rowsUs(this.#costs, rows)) +
        statementUs,
      kb,
      keys: this.#policy.speculative && scheduler.writeset !== undefined ? [scheduler.writeset.writes] : [],
      upTo: waitsFor,
      node: undefined,
    };
  }

  /** Gives what is at hand to a worker, when it may begin and one is free. */
  #dispatch(): void {
    const next = this.#atHand;
    if (next === undefined || this.#isCoordinatorBusy) return;
    if (next.upTo > this.#lowWater) {
      if (this.#idle.sinceUs === 0) this.#idle.sinceUs = this.#machine.nowUs;
      return;
    }
    if (this.#idle.sinceUs > 0) {
      const free = this.#workers.filter(({ isFree }) => isFree).length;
      this.#idle.dependencyUs += (this.#machine.nowUs - this.#idle.sinceUs) * free;
      this.#idle.sinceUs = 0;
    }
    const worker = this.#workers.find(({ isFree }) => isFree);
    this.#spin(worker === undefined);
    if (worker === undefined) return;
    this.#atHand = undefined;
    next.node = this.#path.add("execute", this.#lastNode, [next.transaction], this.#machine.nowUs);
    worker.execute(next);
    this.#coordinate();
  }

  #spin(isSpinning: boolean): void {
    const { flavour, policy } = this.#options;
    if (isSpinning === this.#isSpinning || flavour === "mariadb" || policy === "optimistic") return;
    this.#isSpinning = isSpinning;
    const { spinPart } = this.#costs.native;
    this.#machine.spin(isSpinning ? spinPart : -spinPart);
  }

  #executed(worker: NativeWorker): void {
    const { current } = worker;
    assert(current?.node !== undefined, "who has executed is at work");
    current.node.endUs = this.#machine.nowUs;
    if (this.#options.commitOrder === "relaxed") return this.#commit.join(worker);
    if (current.ordinal === this.#turn) return this.#commit.join(worker);
    this.#waitingForTurn.set(current.ordinal, worker);
  }

  /** It is in the commit queue: the one behind it may come in. */
  #inQueue(worker: NativeWorker): void {
    const { current } = worker;
    assert(current !== undefined, "who commits is at work");
    current.node = this.#path.add("commit", current.node, [current.transaction], this.#machine.nowUs);
    if (this.#options.commitOrder === "relaxed") return;
    this.#turn = current.ordinal + 1;
    const next = this.#waitingForTurn.get(this.#turn);
    if (next === undefined) return;
    this.#waitingForTurn.delete(this.#turn);
    this.#machine.sleep(this.#costs.native.wakeUs, { resume: () => this.#commit.join(next) });
  }

  #rolledBack({ current }: NativeWorker): void {
    this.#rollbacks++;
    if (current !== undefined) this.#waitingForTurn.delete(current.ordinal);
  }

  #done({ transaction, ordinal, node }: NativeTransaction): void {
    const { nowUs } = this.#machine;
    if (node !== undefined) {
      node.endUs = nowUs;
      this.#lastNode = node;
      this.#path.committed(node);
    }
    this.#lastCommitUs = nowUs;
    this.#transactions++;
    this.#rows += transaction.scheduler.rows;
    this.#committed.set(ordinal, transaction);
    for (let next = this.#committed.get(this.#lowWater + 1); next !== undefined;) {
      this.#committed.delete(++this.#lowWater);
      this.#lag.passed(next.committedAtUs);
      next = this.#committed.get(this.#lowWater + 1);
    }
    this.#lag.advanced(nowUs);
    for (const worker of this.#workers) worker.goAgain();
    if (this.#atHand === undefined) this.#coordinate();
    else this.#machine.sleep(this.#costs.native.wakeUs, { resume: () => this.#dispatch() });
  }

  #result(): CellResult {
    const { workers, commitOrder, policy } = this.#options;
    const predictedSeconds = (this.#lastCommitUs + this.#costs.native.startUs) / 1e6;
    const seconds = { busy: 0, work: 0, cores: 0, flush: 0, turn: 0, lock: 0, idle: 0 };
    for (const { times } of this.#workers) {
      seconds.work += times.computing / 1e6;
      seconds.cores += times.cores / 1e6;
      seconds.flush += times.flush / 1e6;
      seconds.turn += times.turn / 1e6;
      seconds.lock += times.lock / 1e6;
    }
    seconds.busy = seconds.work + seconds.cores + seconds.flush;
    seconds.idle = Math.max(0, (workers * this.#lastCommitUs) / 1e6 - seconds.busy - seconds.turn - seconds.lock);
    const dependency = Math.min(seconds.idle, this.#idle.dependencyUs / 1e6);
    const waits: Waits = {
      dependency,
      commitOrder: seconds.turn,
      engine: seconds.idle - dependency,
      flush: seconds.flush,
      cores: seconds.cores,
      network: 0,
      locks: seconds.lock,
      emptyQueue: 0,
    };
    return {
      policy: `native ${policy}`,
      workers,
      commitOrder,
      packing: 1,
      transactions: this.#transactions,
      rows: this.#rows,
      runs: this.#transactions,
      flushes: this.#commit.flushes,
      flushSeconds: this.#commit.busyUs / 1e6,
      lockBreaks: this.#rollbacks,
      predictedSeconds,
      transactionsPerSecond: predictedSeconds === 0 ? 0 : this.#transactions / predictedSeconds,
      meanBusyWorkers: this.#lastCommitUs === 0 ? 0 : seconds.busy / (this.#lastCommitUs / 1e6),
      waits,
      workSeconds: seconds.work,
      engineCpuSeconds: 0,
      engineThreadSeconds: 0,
      targetCpuSeconds: this.#machine.computedUs / 1e6,
      criticalPath: this.#path.report(),
      lag: this.#lag.report(),
    };
  }
}
