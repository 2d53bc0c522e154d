import { assert } from "../../base/assert.ts";
import { ReplicationError } from "../../base/error.ts";
import type { RowImage } from "../../binlog/events/row-walker.ts";
import { type CommitStatement, begin } from "../execute.ts";
import type { Job } from "../job.ts";
import type { WorkerSession } from "../worker-session.ts";
import { applyEvent, type Conflict, conflictKind, conflictsOf } from "./conflicts.ts";
import { describe } from "./describe.ts";
import { asDeleteBy, asEvent, asInsert, asReplacement } from "./single-row.ts";
import { type RowAddress, settingsOf, TargetTable, useLiterals } from "./target-table.ts";

export interface Resolution {
  commit: CommitStatement;
  /** Rows left out: with `skip` each that conflicts, with `overwrite` deletes of rows that are not there. */
  skipped: number;
  overwritten: number;
  /** One for each of the first conflicts: both rows, and what became of it. */
  lines: string[];
}

const LINES_MAX = 10;

/**
 * Executes the job of one transaction of rows up to, not including, its commit, as `executeJob` does, and decides about each row that conflicts:
 * - `skip`: it is left out.
 * - `overwrite`: the target's row becomes what the source's is. An insert whose primary key is there already changes that row to its own, in place; any other row with a value that must be unique
 *   goes. An update whose row is missing inserts its after-image. A delete whose row is missing is nothing.
 * Rows are changed by row events where the primary key finds them, so triggers do not fire; a row that is in the way by another key is deleted by SQL, which is refused for a table with
 * delete triggers.
 * @throws SqlError, ReplicationError CONFLICT when a row cannot be overwritten; the caller rolls back
 */
export async function applyResolving(worker: WorkerSession, job: Job, mode: "skip" | "overwrite"): Promise<Resolution> {
  const { session } = worker;
  const transaction = job.transactions[0];
  assert(
    job.transactions.length === 1 && transaction?.kind === "rows" && transaction.transactional,
    "conflicts are resolved in one transaction of rows",
  );
  const resolution: Resolution = { commit: "COMMIT", skipped: 0, overwritten: 0, lines: [] };
  await worker.useFormat(transaction.format);
  worker.forgetSettings();
  const restore = await settingsOf(session);
  await begin(worker, job, transaction);
  const tables = new Map<string, TargetTable>();
  for await (const conflict of conflictsOf(worker, transaction)) {
    if (tables.size === 0) await useLiterals(session);
    const { map } = conflict.row;
    const name = `${map.schema}\0${map.table}`;
    const table = tables.get(name) ?? (await TargetTable.read(session, map));
    tables.set(name, table);
    const line = resolution.lines.length < LINES_MAX ? (await describe(table, conflict)).text : undefined;
    const isOverwritten = mode === "overwrite" && (await overwrite(worker, table, conflict));
    if (isOverwritten) resolution.overwritten++;
    else resolution.skipped++;
    if (line !== undefined) resolution.lines.push(`${line}: ${isOverwritten ? "overwritten" : "left out"}`);
  }
  if (tables.size > 0) await session.execute(restore);
  return resolution;
}

/** @returns false when there is nothing to overwrite */
async function overwrite(worker: WorkerSession, table: TargetTable, conflict: Conflict): Promise<boolean> {
  const { kind, row } = conflict;
  if (row.after === undefined) return false;
  const isInsert = kind === "missing" || row.rows.operation === "write";
  if (isInsert && (row.rows.partial || !table.isWhole(row, row.after))) {
    throw cannot(conflict, table, "the log does not have all columns of the row", {
      hint: "set binlog_row_image=FULL and binlog_row_value_options='' on the source; repair this row by hand, or use --on-conflict skip",
    });
  }
  const primary = table.primaryKeyColumns(row, row.after);
  let event = isInsert ? asInsert(row) : asEvent(row);
  /** Names the row that is being changed and is not in its own way. */
  let self = row.before;
  let refused: Error | undefined = kind === "duplicate" ? conflict.error : undefined;
  // Each round takes one row out of the way: one per unique key at most.
  for (let rounds = table.table.keys.length + 1; rounds > 0; rounds--) {
    if (refused !== undefined) {
      const found = await firstInTheWay(table, conflict, refused.message, self);
      if (found.key !== "PRIMARY" || primary === undefined) await remove(table, conflict, found);
      else if (isInsert) {
        event = asReplacement(row, primary);
        self = row.after;
      } else await applyEvent(worker, row.mapEvent, asDeleteBy(row, primary));
    }
    try {
      await applyEvent(worker, row.mapEvent, event);
      return true;
    } catch (error) {
      if (conflictKind(error) !== "duplicate" || !(error instanceof Error)) throw error;
      refused = error;
    }
  }
  throw cannot(conflict, table, "rows in its way keep coming", {});
}

async function firstInTheWay(
  table: TargetTable,
  conflict: Conflict,
  message: string,
  self: RowImage | undefined,
): Promise<RowAddress> {
  for (const address of table.addressesOfDuplicate(conflict.row, message, self)) {
    if ((await table.find(address)) !== undefined) return address;
  }
  throw cannot(conflict, table, "the row in its way cannot be told from the log", {
    hint: "a key with an expression, or columns that the log does not have: delete the row in its way by hand and start again",
  });
}

async function remove(table: TargetTable, conflict: Conflict, address: RowAddress): Promise<void> {
  if (await table.hasDeleteTrigger()) {
    throw cannot(conflict, table, "the table has delete triggers, which would fire for the row in its way", {
      hint: "delete that row by hand and start again",
    });
  }
  await table.remove(address);
}

function cannot({ row }: Conflict, table: TargetTable, why: string, { hint }: { hint?: string }): ReplicationError {
  const image = row.after ?? row.before;
  return new ReplicationError("CONFLICT", `a row cannot be overwritten: ${why}: ${table.describe(row, image)}`, {
    where: { table: table.name },
    ...(hint === undefined ? {} : { hint }),
  });
}
