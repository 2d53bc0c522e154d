import { ReplicationError } from "../base/error.ts";
import { type ConflictDescription, describeConflict } from "./conflict/describe.ts";
import { SqlError } from "../wire/sql-error.ts";
import type { Job } from "./job.ts";
import type { WorkerSession } from "./worker-session.ts";

/** ER_KEY_NOT_FOUND and ER_DUP_ENTRY: the target's rows are not those that the source had. */
const CONFLICTS = new Set([1032, 1062]);
const ER_UNKNOWN_ERROR = 1105;

/**
 * Says in the operator's words what the target refused. Of rows that do not fit a table the client is told only `Unknown error`: the reason is in
 * the server's error log, which MySQL shows as a table (8.0.22+), and MariaDB does not.
 */
export async function explain(
  { session }: WorkerSession,
  job: Job,
  error: ReplicationError,
): Promise<ReplicationError> {
  if (!(error instanceof SqlError)) return error;
  const isConflict = CONFLICTS.has(error.sqlCode);
  const tables = [...new Set(job.transactions.flatMap((transaction) => [...transaction.tables]))];
  // The server names no schema, and which of several tables it means one has to find in its message.
  const where =
    tables.length === 0 ? error.where : { table: tables.slice(0, TABLES_SHOWN_MAX).join(", "), ...error.where };
  if (error.sqlCode === ER_UNKNOWN_ERROR) {
    const logged = await session
      .queryValue(
        "SELECT DATA FROM performance_schema.error_log WHERE THREAD_ID=PS_CURRENT_THREAD_ID() ORDER BY LOGGED DESC LIMIT 1",
      )
      .catch(() => undefined);
    return new ReplicationError(
      "APPLY",
      logged ?? `rows of ${tables.join(", ")} do not fit the table as the target has it: ${error.message}`,
      {
        where,
        hint:
          logged === undefined
            ? "the target's error log names the column: give it a type and character set that both servers know, and start again"
            : RETRY_HINT,
        cause: error,
      },
    );
  }
  const hint = isConflict ? CONFLICT_HINT : RETRY_HINT;
  return new ReplicationError(isConflict ? "CONFLICT" : "APPLY", error.message, {
    where,
    hint: error.hint ?? hint,
    cause: error,
  });
}

/** Names the row, with both values of it. The session is idle, and stays so. */
export async function explainConflict(
  session: WorkerSession,
  job: Job,
  error: ReplicationError,
): Promise<ReplicationError> {
  let conflict: ConflictDescription | undefined;
  try {
    conflict = await describeConflict(session, job);
  } catch (failure) {
    // The row is not found: what the server said has to do.
    if (session.session.closed) throw failure;
  }
  if (conflict === undefined) return error;
  return new ReplicationError("CONFLICT", `${conflict.text}. The target says: ${error.message}`, {
    where: { ...error.where, table: conflict.table },
    hint: CONFLICT_HINT,
    cause: error.cause,
  });
}

const TABLES_SHOWN_MAX = 5;
const RETRY_HINT = "mend the cause on the target and start again: the transaction is tried from its start";
const CONFLICT_HINT =
  "find what else writes to the target, repair the row and start again; or choose --on-conflict skip or overwrite, or --skip with this GTID or position";
