import { SqlError } from "../../wire/sql-error.ts";
import type { Transaction } from "../../transaction/transaction.ts";
import type { WorkerSession } from "../worker-session.ts";
import { asEvent, mappedRows, type SingleRow, singleRows } from "./single-row.ts";

/** ER_KEY_NOT_FOUND and ER_DUP_ENTRY: the target's rows are not those that the source had. */
const MISSING = 1032;
const DUPLICATE = new Set([1062, 1586, 1859]);

/** `missing`: the row to update or delete is not there; `duplicate`: one with a value that must be unique is there already. */
export type ConflictKind = "missing" | "duplicate";

export interface Conflict {
  kind: ConflictKind;
  row: SingleRow;
  error: SqlError;
}

export function conflictKind(error: unknown): ConflictKind | undefined {
  if (!(error instanceof SqlError)) return undefined;
  if (error.sqlCode === MISSING) return "missing";
  return DUPLICATE.has(error.sqlCode) ? "duplicate" : undefined;
}

/** Applies one rows event as a statement of its own: the server undoes all of it when it fails, and the transaction goes on. */
export async function applyEvent(worker: WorkerSession, mapEvent: Buffer, event: Buffer): Promise<void> {
  await worker.sendRows([], [[mapEvent, event]]);
}

/**
 * Applies a transaction of rows inside the transaction that is open, and stops at each row that conflicts: what is not done about it until the next one is asked for is left
 * out. Events that the target takes whole are not taken apart.
 * @throws whatever the target refuses for another reason
 */
export async function* conflictsOf(worker: WorkerSession, transaction: Transaction): AsyncGenerator<Conflict> {
  const { format } = transaction;
  for await (const mapped of mappedRows(worker.settings.readBody(transaction), format)) {
    try {
      await applyEvent(worker, mapped.mapEvent, mapped.event);
      continue;
    } catch (error) {
      if (conflictKind(error) === undefined) throw error;
    }
    for (const row of singleRows(mapped, format)) {
      try {
        await applyEvent(worker, row.mapEvent, asEvent(row));
      } catch (error) {
        const kind = conflictKind(error);
        if (kind === undefined) throw error;
        yield { kind, row, error: error as SqlError };
      }
    }
  }
}
