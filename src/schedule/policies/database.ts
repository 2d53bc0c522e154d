import type { Policy } from "../policy.ts";
import type { SchedulerTransaction } from "../scheduler-types.ts";
import { NONE } from "./none.ts";

/** Schemas that are remembered; a server with more of them waits for all once per that many new ones. */
const SCHEMAS_MAX = 4_096;

/**
 * MySQL 5.6's slave_parallel_type=DATABASE: transactions of one schema in order, different schemas side by side.
 *
 * Whatever does not belong to exactly one schema waits for all before it, and all behind wait for it: several schemas, or none while rows are changed. The server is a
 * little finer: for up to 16 schemas (MAX_DBS_IN_EVENT_MTS, `libbinlogevents/include/statement_events.h`) its coordinator waits until no other worker has one of
 * them in use, and dispatches nothing meanwhile, which comes close; above 16 it waits for all, as here.
 *
 * A transaction without schema and without rows is empty (a skipped GTID, BEGIN and COMMIT alone; statements and DDL are barriers): it changes nothing, so it waits for
 * nobody and nobody for it.
 *
 * Foreign keys between schemas are the policy's known limit. The server sees a flag in the table map (TM_REFERRED_FK_DB_F) and serialises; here the choice of
 * the policy must mind it.
 */
export function databasePolicy(): Policy {
  const lastOf = new Map<string, number>();
  let base: number | undefined;

  const waitForAll = (transaction: SchedulerTransaction, next: number) => {
    base = next;
    lastOf.clear();
    return { upTo: transaction.ordinal - 1, also: NONE };
  };

  return {
    name: "database",
    needsWriteset: false,
    speculative: false,
    dependencies(transaction) {
      const { ordinal, schemas, rows, barrier } = transaction;
      base ??= ordinal - 1;
      if (barrier || schemas.size > 1) return waitForAll(transaction, ordinal);
      const [schema] = schemas;
      if (schema === undefined) return rows === 0 ? { upTo: base, also: NONE } : waitForAll(transaction, ordinal);
      const last = lastOf.get(schema);
      if (last === undefined && lastOf.size >= SCHEMAS_MAX) {
        const answer = waitForAll(transaction, ordinal - 1);
        lastOf.set(schema, ordinal);
        return answer;
      }
      lastOf.set(schema, ordinal);
      return { upTo: base, also: last === undefined ? NONE : [last] };
    },
  };
}
