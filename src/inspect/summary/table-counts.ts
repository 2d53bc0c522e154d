import type { TableReport } from "../report.ts";

/** Changes of one table, by its name: several table ids of a log can be one table. Goes from one thread to another. */
export interface TableCounts extends TableReport {
  insertedAgainInside: number;
  insertedAgainAcross: number;
  /** Number of the last transaction that changed it, so that each counts once. */
  lastTransaction: number;
}

export function newTableCounts(schema: string, table: string): TableCounts {
  return {
    schema,
    table,
    inserts: 0,
    updates: 0,
    deletes: 0,
    transactions: 0,
    bytes: 0,
    savableBytes: 0,
    emptyUpdates: 0,
    keyFrom: "none",
    key: null,
    insertedAgainInside: 0,
    insertedAgainAcross: 0,
    lastTransaction: 0,
  };
}

export function addTableCounts(to: TableCounts, from: TableCounts): void {
  to.inserts += from.inserts;
  to.updates += from.updates;
  to.deletes += from.deletes;
  to.transactions += from.transactions;
  to.bytes += from.bytes;
  to.savableBytes += from.savableBytes;
  to.emptyUpdates += from.emptyUpdates;
  to.insertedAgainInside += from.insertedAgainInside;
  to.insertedAgainAcross += from.insertedAgainAcross;
  if (certainty(from.keyFrom) >= certainty(to.keyFrom)) {
    to.keyFrom = from.keyFrom;
    to.key = from.key;
  }
}

/** Minimal images tell a key late: what was guessed before is known then. */
const certainty = (from: TableReport["keyFrom"]): number => ["none", "guess", "log", "schema"].indexOf(from);
