import type { SchedulerTransaction } from "../schedule/scheduler-types.ts";
import type { CostModel } from "./cost-model.ts";

export interface TableRows {
  /** `schema.table` */
  table: string;
  inserts: number;
  updates: number;
  deletes: number;
  /** Of its row events. */
  bytes: number;
}

export interface SimulatedTransaction {
  scheduler: SchedulerTransaction;
  /** Microseconds since 1970; 0 when the log does not tell. */
  committedAtUs: number;
  /** Its GTID, or its position. */
  name: string;
  rows: readonly TableRows[];
  /** How long it took on the source, where the log tells (DDL, statements). */
  executionUs?: number;
}

/** What one transaction costs everybody, in microseconds by the cost model. */
export interface TransactionCosts {
  /** The engine's, until it is offered, without its writeset. */
  engineUs: number;
  writesetUs: number;
  /** The target's, inside of a run. */
  targetUs: number;
  kb: number;
}

export interface CostedTransaction {
  transaction: SimulatedTransaction;
  costs: TransactionCosts;
}

/** Looks a transaction's costs up. Of those that many cells are about to ask for, they are made once. */
export class CostSheet {
  readonly costs: CostModel;
  #known: readonly CostedTransaction[] = [];
  /** The ordinal of the first of them. */
  #first = 0;

  constructor(costs: CostModel) {
    this.costs = costs;
  }

  /** Many cells will ask for these now, and for no others. Their ordinals follow each other. */
  know(transactions: readonly SimulatedTransaction[]): void {
    this.#first = transactions[0]?.scheduler.ordinal ?? 0;
    this.#known = transactions.map((transaction) => this.#make(transaction));
  }

  of(transaction: SimulatedTransaction): CostedTransaction {
    const known = this.#known[transaction.scheduler.ordinal - this.#first];
    return known?.transaction === transaction ? known : this.#make(transaction);
  }

  #make(transaction: SimulatedTransaction): CostedTransaction {
    return { transaction, costs: this.#costsOf(transaction) };
  }

  #costsOf(transaction: SimulatedTransaction): TransactionCosts {
    const { engine, target } = this.costs;
    const { bytes, rows, barrier } = transaction.scheduler;
    const kb = bytes / 1024;
    return {
      engineUs: engine.transactionUs + kb * engine.kbUs,
      writesetUs: rows * engine.writesetRowUs,
      targetUs:
        target.transactionUs +
        kb * target.kbUs +
        rowsUs(this.costs, transaction.rows) +
        (barrier && rows === 0 ? (transaction.executionUs ?? target.statementUs) : 0),
      kb,
    };
  }
}

/** Of all tables: opened, and their rows changed. */
export function rowsUs({ target, tables }: CostModel, rows: readonly TableRows[]): number {
  let us = 0;
  for (const { table, inserts, updates, deletes } of rows) {
    const own = tables[table];
    us +=
      target.tableUs +
      inserts * (own?.insertUs ?? target.insertUs) +
      updates * (own?.updateUs ?? target.updateUs) +
      deletes * (own?.deleteUs ?? target.deleteUs);
  }
  return us;
}
