import type { CellResult } from "./cell.ts";
import type { CostModel } from "./cost-model.ts";
import { bestOf, recommend } from "./recommend.ts";
import type { SimulatedRun, SimulateReport } from "./report.ts";
import { type CellFeedOf, type Grid, type LogSource, Simulation } from "./simulation.ts";
import type { SimulatedTransaction } from "./simulated-transaction.ts";
import { Splitter } from "./split.ts";

export interface LogSimulationOptions {
  grid: Grid;
  costs: CostModel;
  /** Transactions of more rows than this are split, as a what-if. */
  splitRowsMax: number | undefined;
  /** Who computes the cells, where it is not done right here. */
  feedOf?: CellFeedOf;
}

const EMPTY_LAG = { lastSeconds: 0, maxSeconds: 0, points: [] };
const EMPTY_PATH = {
  seconds: 0,
  kinds: { feed: 0, execute: 0, commit: 0 },
  dependencies: { waits: 0, seconds: 0 },
  transactions: [],
  tables: [],
  keys: [],
};

/** A log, fed to all settings of a grid: from its transactions to the report. */
export class LogSimulation {
  readonly #options: LogSimulationOptions;
  readonly #splitter: Splitter;
  #simulation: Simulation | undefined;
  #source: LogSource | undefined;
  #transactions = 0;
  #rows = 0;
  #bytes = 0;
  #splits = 0;
  #firstUs = Infinity;
  #lastUs = 0;

  constructor(options: LogSimulationOptions) {
    this.#options = options;
    this.#splitter = new Splitter(options.splitRowsMax);
  }

  /** How many settings are computed. */
  get cells(): number {
    return this.#simulation?.cells ?? 0;
  }

  get transactions(): number {
    return this.#transactions;
  }

  /** `source`: the server that wrote this one. The first one's decides what `auto` stands for. */
  push(transaction: SimulatedTransaction, source: LogSource): void {
    if (this.#simulation === undefined) {
      this.#source = { flavour: source.flavour, serverVersion: source.serverVersion };
      const { grid, costs, feedOf } = this.#options;
      this.#simulation = new Simulation(grid, source, costs, feedOf);
    }
    this.#transactions++;
    this.#rows += transaction.scheduler.rows;
    this.#bytes += transaction.scheduler.bytes;
    if (transaction.committedAtUs > 0) {
      this.#firstUs = Math.min(this.#firstUs, transaction.committedAtUs);
      this.#lastUs = Math.max(this.#lastUs, transaction.committedAtUs);
    }
    let parts = 0;
    for (const part of this.#splitter.of(transaction)) {
      this.#simulation.push(part);
      parts++;
    }
    if (parts > 1) this.#splits++;
  }

  /** The log has no more. To be called before `report` where the cells are computed elsewhere and must be waited for. */
  flush(): void {
    this.#simulation?.flush();
  }

  /** The log has no more. */
  report(about: Pick<SimulateReport, "files" | "whatIf" | "faults">): SimulateReport {
    const { costs, splitRowsMax } = this.#options;
    const { results, ofOneWorker } = this.#simulation?.end() ?? { results: [], ofOneWorker: [] };
    const runs = results.map((result, index) => runOf(result, ofOneWorker[index]));
    const best = bestOf(runs);
    const splitting = `transactions of more than ${splitRowsMax} rows are split (${this.#splits} of them)`;
    return {
      ...about,
      transactions: this.#transactions,
      rows: Math.round(this.#rows),
      bytes: Math.round(this.#bytes),
      firstAt: this.#lastUs === 0 ? undefined : isoTime(this.#firstUs),
      lastAt: this.#lastUs === 0 ? undefined : isoTime(this.#lastUs),
      whatIf: splitRowsMax === undefined ? about.whatIf : [...about.whatIf, splitting],
      source: this.#source,
      runs,
      best,
      recommendation: recommend(runs, results, costs.cores),
      criticalPath: results[best]?.criticalPath ?? EMPTY_PATH,
      lag: results[best]?.lag ?? EMPTY_LAG,
      lagOfOneWorker: ofOneWorker[best]?.lag,
      costs,
    };
  }
}

function runOf(result: CellResult, ofOneWorker: CellResult | undefined): SimulatedRun {
  const { criticalPath: _path, lag: _lag, ...run } = result;
  const { predictedSeconds } = result;
  return {
    ...run,
    speedup: predictedSeconds === 0 || ofOneWorker === undefined ? 1 : ofOneWorker.predictedSeconds / predictedSeconds,
  };
}

const isoTime = (us: number): string => new Date(us / 1000).toISOString();
