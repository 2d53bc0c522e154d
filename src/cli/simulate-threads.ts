import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { serialize } from "node:v8";
import { Worker } from "node:worker_threads";
import { assert } from "../base/assert.ts";
import type { CellResult } from "../simulate/cell-result.ts";
import type { CostModel } from "../simulate/cost-model.ts";
import type { PlannedCell } from "../simulate/plan.ts";
import type { SimulatedTransaction } from "../simulate/simulated-transaction.ts";
import { type CellFeed, CellGroup } from "../simulate/simulation.ts";

/** What a thread is started with. */
export interface ThreadCells {
  cells: readonly PlannedCell[];
  costs: CostModel;
}

/** A batch of transactions, serialized once for all threads; or that the log has no more. */
export type ThreadOrder = SharedArrayBuffer | "end";

/** One answer to each order: that room is for another one; or the results, by key. */
export type ThreadAnswer = "room" | ReadonlyMap<string, CellResult>;

/** Each is sent the whole log: at some number of them that is what they are busy with. */
const THREADS_MAX = 8;
/** Transactions times cells that a thread must have to be worth its start. */
const WORK_MIN = 20_000;
/** Given to a thread beforehand: it has the next one while this thread is busy. */
const BATCHES_AHEAD = 2;

/** Node runs JavaScript only: from the sources, the built file is taken. */
function workerFile(): string | undefined {
  const here = fileURLToPath(new URL("simulate-worker", import.meta.url));
  const built = `${here.replace(/([/\\])src([/\\]cli[/\\])/, "$1dist$2")}.js`;
  return existsSync(built) ? built : undefined;
}

interface Helper {
  worker: Worker;
  /** Sent, and not yet computed. */
  batches: number;
  results: ReadonlyMap<string, CellResult> | undefined;
}

/**
 * Computes cells in this thread and in some more. A cell is in one thread from the first transaction to the last, and is told the same as it would be in any other: so where it is computed changes nothing.
 *
 * Invariant: whoever feeds it waits for `room` behind each `push`, so that at most `BATCHES_AHEAD` batches are in memory, however long the log.
 */
export class CellThreads implements CellFeed {
  readonly #threadsMax: number;
  readonly #onCell: () => void;
  #planned: ThreadCells | undefined;
  #own: CellGroup | undefined;
  #helpers: Helper[] = [];
  #failure: Error | undefined;
  #wake: () => void = () => {};

  /** `threadsMax`: this one counted in. `onCell`: is called often while this one computes, for who shows how far it is. */
  constructor({
    threadsMax = Math.min(availableParallelism(), THREADS_MAX),
    onCell = () => {},
  }: { threadsMax?: number; onCell?: () => void } = {}) {
    this.#threadsMax = threadsMax;
    this.#onCell = onCell;
  }

  /** Threads beside this one. */
  get helpers(): number {
    return this.#helpers.length;
  }

  begin(cells: readonly PlannedCell[], costs: CostModel): this {
    this.#planned = { cells, costs };
    return this;
  }

  push(batch: readonly SimulatedTransaction[]): void {
    this.#own ??= this.#start(batch.length);
    if (this.#helpers.length > 0) {
      const bytes = serialize(batch);
      const shared = new SharedArrayBuffer(bytes.length);
      new Uint8Array(shared).set(bytes);
      for (const helper of this.#helpers) {
        helper.batches++;
        order(helper, shared);
      }
    }
    this.#own.push(batch);
  }

  get hasRoom(): boolean {
    return this.#failure === undefined && this.#helpers.every(({ batches }) => batches < BATCHES_AHEAD);
  }

  /** @throws what a thread failed with */
  async room(): Promise<void> {
    while (!this.hasRoom) await this.#answer();
  }

  /** The log has no more: waits for the results of all threads. @throws what a thread failed with */
  async finish(): Promise<void> {
    for (const helper of this.#helpers) order(helper, "end");
    while (this.#helpers.some(({ results }) => results === undefined)) await this.#answer();
  }

  end(): ReadonlyMap<string, CellResult> {
    const results = new Map(this.#own?.end());
    for (const helper of this.#helpers) {
      assert(helper.results !== undefined, "who wants the results has waited for them");
      for (const [key, result] of helper.results) results.set(key, result);
    }
    return results;
  }

  /** Also in the middle of something. */
  async close(): Promise<void> {
    await Promise.all(this.#helpers.map(({ worker }) => worker.terminate()));
  }

  async #answer(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    await new Promise<void>((resolve) => (this.#wake = resolve));
  }

  /** Deals the cells out: neighbours cost about the same. The fewest are for this thread, which reads the log too. */
  #start(transactions: number): CellGroup {
    assert(this.#planned !== undefined, "cells come before their transactions");
    const { cells, costs } = this.#planned;
    const file = workerFile();
    const worthIt = Math.floor((transactions * cells.length) / WORK_MIN);
    const helpers = file === undefined ? 0 : Math.min(this.#threadsMax - 1, worthIt, cells.length - 1);
    const hands = Array.from({ length: helpers + 1 }, (_, hand) =>
      cells.filter((_, at) => at % (helpers + 1) === hand),
    );
    const own = hands.pop() ?? [];
    if (file !== undefined) this.#helpers = hands.map((hand) => this.#helper(file, { cells: hand, costs }));
    return new CellGroup(own, costs, this.#onCell);
  }

  #helper(file: string, workerData: ThreadCells): Helper {
    const helper: Helper = { worker: new Worker(file, { workerData }), batches: 0, results: undefined };
    helper.worker.on("message", (answer: ThreadAnswer) => {
      if (answer === "room") helper.batches--;
      else helper.results = answer;
      this.#wake();
    });
    helper.worker.on("error", (error) => {
      this.#failure = error;
      this.#wake();
    });
    return helper;
  }
}

const order = ({ worker }: Helper, what: ThreadOrder): void => worker.postMessage(what, []);
