import type { Policy } from "../policy.ts";
import { NONE } from "./none.ts";
import { writesetPolicy, type WritesetOptions } from "./writeset.ts";

/** Sessions of the source that are remembered; more than any source's max_connections is likely to be. */
const SESSIONS_MAX = 10_000;

/**
 * MySQL 8.0's WRITESET_SESSION tracking (`sql/rpl_trx_tracking.cc`, Writeset_session_trx_dependency_tracker): `writeset`, and in addition what one session of the source
 * committed commits here in that order. The session is the source's connection id, as far as the binlog has it. A transaction that does not tell its session
 * could be of any: it waits for all before it, and all behind wait for it.
 */
export function writesetSessionPolicy(options: WritesetOptions): Policy {
  const writeset = writesetPolicy(options);
  /** The last transaction of each session; in the order of these, so that the first is the one to forget. */
  const lastOf = new Map<number, number>();
  /** Any session may have committed up to here last. Never below the last of a session that is not in the map. */
  let base: number | undefined;

  return {
    name: "writeset-session",
    needsWriteset: true,
    speculative: false,
    dependencies(transaction) {
      const { ordinal, sessionId, barrier, applied } = transaction;
      const { upTo, also } = writeset.dependencies(transaction);
      base ??= ordinal - 1;
      if (sessionId === undefined || barrier) {
        base = ordinal;
        lastOf.clear();
        return { upTo: ordinal - 1, also: NONE };
      }
      const last = lastOf.get(sessionId);
      const sessionsBase = base;
      // One that a former engine applied ahead of an earlier one of its session hides none: the next waits for that.
      if (applied) return { upTo, also };
      lastOf.delete(sessionId);
      lastOf.set(sessionId, ordinal);
      if (lastOf.size > SESSIONS_MAX) base = forgetOldest(lastOf);
      if (last !== undefined)
        return last <= upTo || also.includes(last) ? { upTo, also } : { upTo, also: [...also, last] };
      if (sessionsBase <= upTo) return { upTo, also };
      return { upTo: sessionsBase, also: also.filter((ordinal) => ordinal > sessionsBase) };
    },
  };
}

/** @returns what was the last of the forgotten session: older than every other's. */
function forgetOldest(lastOf: Map<number, number>): number {
  const [[session, last] = [0, 0]] = lastOf;
  lastOf.delete(session);
  return last;
}
