import type { Clock } from "../base/clock.ts";
import type { Table } from "../schema/catalog.ts";
import type { VerifyProgress } from "./report.ts";

/** Adds up what the comparison of each table tells, against the source's own guesses of how many rows there are. */
export class ProgressMeter {
  readonly #clock: Clock;
  readonly #tell: (progress: VerifyProgress) => void;
  readonly #startedMs: number;
  readonly #tablesTotal: number;
  #rowsLeftEstimate: number;
  #tablesDone = 0;
  #rowsDone = 0;
  #differingTables = 0;
  #table = "";
  readonly #rowsOfTable = new Map<string, number>();

  constructor(clock: Clock, pairs: readonly { source: Table | undefined }[], tell: (progress: VerifyProgress) => void) {
    this.#clock = clock;
    this.#tell = tell;
    this.#startedMs = clock.nowMs();
    this.#tablesTotal = pairs.length;
    this.#rowsLeftEstimate = pairs.reduce((sum, pair) => sum + (pair.source?.rowsEstimate ?? 0), 0);
    this.#report();
  }

  rows(table: string, rows: number): void {
    this.#table = table;
    this.#rowsDone += rows;
    const before = this.#rowsOfTable.get(table) ?? 0;
    this.#rowsOfTable.set(table, before + rows);
    this.#rowsLeftEstimate -= rows;
    this.#report();
  }

  /** What the estimate of this table was wrong by no longer counts. */
  done(pair: { source: Table | undefined }, identical: boolean): void {
    this.#tablesDone++;
    if (!identical) this.#differingTables++;
    const { source } = pair;
    if (source !== undefined) {
      const counted = this.#rowsOfTable.get(`${source.schema}.${source.name}`) ?? 0;
      this.#rowsLeftEstimate -= source.rowsEstimate - counted;
    }
    this.#report();
  }

  #report(): void {
    const seconds = (this.#clock.nowMs() - this.#startedMs) / 1000;
    const rowsPerSecond = seconds > 0 ? this.#rowsDone / seconds : 0;
    const rowsLeft = this.#tablesDone === this.#tablesTotal ? 0 : Math.max(0, this.#rowsLeftEstimate);
    this.#tell({
      tablesDone: this.#tablesDone,
      tablesTotal: this.#tablesTotal,
      rowsDone: this.#rowsDone,
      rowsTotal: this.#rowsDone + rowsLeft,
      rowsPerSecond,
      etaSeconds: rowsPerSecond > 0 ? rowsLeft / rowsPerSecond : undefined,
      differingTables: this.#differingTables,
      table: this.#table,
    });
  }
}
