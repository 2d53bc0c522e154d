import type { Clock } from "../base/clock.ts";
import type { Table } from "../schema/catalog.ts";
import { describeTable } from "../schema/names.ts";
import type { CopyProgress } from "./report.ts";

/** Adds up what the writers tell, against the source's own guesses of how many rows there are. */
export class CopyMeter {
  readonly #clock: Clock;
  readonly #tell: (progress: CopyProgress) => void;
  #startedMs: number;
  #phase: CopyProgress["phase"] = "definitions";
  #tablesDone = 0;
  #tablesTotal = 0;
  #rowsDone = 0;
  #bytesDone = 0;
  #rowsLeftEstimate = 0;
  #table = "";

  constructor(clock: Clock, tell: (progress: CopyProgress) => void) {
    this.#clock = clock;
    this.#tell = tell;
    this.#startedMs = clock.nowMs();
  }

  definitions(): void {
    this.#phase = "definitions";
    this.#report();
  }

  begin(all: readonly Table[], left: readonly Table[]): void {
    this.#phase = "rows";
    this.#startedMs = this.#clock.nowMs();
    this.#tablesTotal = all.length;
    this.#tablesDone = all.length - left.length;
    this.#rowsLeftEstimate = left.reduce((sum, table) => sum + table.rowsEstimate, 0);
    this.#rowsDone = 0;
    this.#bytesDone = 0;
    this.#report();
  }

  wrote(table: Table, rows: number, bytes: number): void {
    this.#table = describeTable(table);
    this.#rowsDone += rows;
    this.#bytesDone += bytes;
    this.#rowsLeftEstimate -= rows;
    this.#report();
  }

  tableDone(table: Table, rows: number): void {
    this.#tablesDone++;
    this.#rowsLeftEstimate += rows - table.rowsEstimate;
    this.#report();
  }

  enter(phase: "objects" | "done"): void {
    this.#phase = phase;
    this.#report();
  }

  #report(): void {
    const seconds = (this.#clock.nowMs() - this.#startedMs) / 1000;
    const rowsPerSecond = seconds > 0 ? this.#rowsDone / seconds : 0;
    const rowsLeft = this.#phase === "rows" ? Math.max(0, this.#rowsLeftEstimate) : 0;
    this.#tell({
      phase: this.#phase,
      tablesDone: this.#tablesDone,
      tablesTotal: this.#tablesTotal,
      rowsDone: this.#rowsDone,
      rowsTotal: this.#rowsDone + rowsLeft,
      bytesDone: this.#bytesDone,
      rowsPerSecond,
      etaSeconds: rowsPerSecond > 0 ? rowsLeft / rowsPerSecond : undefined,
      table: this.#table,
    });
  }
}
