import type { Job } from "../job.ts";
import type { WorkerSession } from "../worker-session.ts";
import { type Conflict, type ConflictKind, conflictsOf } from "./conflicts.ts";
import { operationOf, type RowAddress, sentence, settingsOf, TargetTable, useLiterals } from "./target-table.ts";

/** The first row of a transaction that does not fit the target's rows. Texts are cut to a sensible length. */
export interface ConflictDescription {
  kind: ConflictKind;
  /** `shop.orders` */
  table: string;
  operation: "insert" | "update" | "delete";
  /** Undefined: the table has no key that names a row, and its whole row was compared. */
  key: string | undefined;
  /** The key's columns as the source has them: `id=5`. */
  keyValues: string;
  /** The source's row, before and after; undefined where the operation has no such image. */
  before: string | undefined;
  after: string | undefined;
  /** The target's row with that key; undefined: there is none. */
  target: string | undefined;
  /** All of it in one sentence. */
  text: string;
}

/**
 * Finds out which row of the job's one transaction conflicts, by applying it row by row in a transaction that is rolled back. The session is idle before and after it; on
 * MySQL its GTID_NEXT is AUTOMATIC then.
 * @returns undefined when no row conflicts (any more), or the transaction is not one of rows
 * @throws SqlError, ReplicationError
 */
export async function describeConflict(worker: WorkerSession, job: Job): Promise<ConflictDescription | undefined> {
  const transaction = job.transactions[0];
  if (job.transactions.length !== 1 || transaction?.kind !== "rows" || !transaction.transactional) return undefined;
  const { session } = worker;
  await worker.useFormat(transaction.format);
  worker.forgetSettings();
  const restore = await settingsOf(session);
  await session.execute([...worker.gtidNext(undefined), "BEGIN"].join(";"));
  try {
    for await (const conflict of conflictsOf(worker, transaction)) {
      await useLiterals(session);
      return await describe(await TargetTable.read(session, conflict.row.map), conflict);
    }
    return undefined;
  } finally {
    if (!session.closed) {
      await session.execute("ROLLBACK");
      await session.execute(restore);
    }
  }
}

/** Inside the transaction in which the conflict came up, with `useLiterals`. */
export async function describe(table: TargetTable, { kind, row, error }: Conflict): Promise<ConflictDescription> {
  const addresses =
    kind === "missing"
      ? [table.addressOfMissing(row)].filter((address) => address !== undefined)
      : table.addressesOfDuplicate(row, error.message);
  let address: RowAddress | undefined = addresses[0];
  let target: string | undefined;
  for (const candidate of addresses) {
    target = await table.find(candidate);
    if (target === undefined) continue;
    address = candidate;
    break;
  }
  const before = row.before === undefined ? undefined : table.describe(row, row.before);
  const after = row.after === undefined ? undefined : table.describe(row, row.after);
  const images = [
    before === undefined ? [] : [`before: ${before}`],
    after === undefined ? [] : [`after: ${after}`],
  ].flat();
  return {
    kind,
    table: table.name,
    operation: operationOf(row),
    key: address?.key,
    keyValues: address?.text ?? "",
    before,
    after,
    target,
    text: `${sentence(table.name, row, kind, address)}; source ${images.join("; ")}; target: ${target ?? "no such row"}`,
  };
}
