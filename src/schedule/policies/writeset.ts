import type { Policy } from "../policy.ts";
import { OPAQUE_WRITESET } from "../writeset.ts";
import { NONE } from "./none.ts";
import { SourceClock } from "./source-clock.ts";
import { WritesetHistory } from "./writeset-history.ts";

export interface WritesetOptions {
  /** Hashes that are remembered: the server's binlog_transaction_dependency_history_size, 25,000 by default and 1,000,000 at most (`sql/sys_vars.cc`, 8.0). */
  historySize: number;
}

/**
 * MySQL 8.0's WRITESET tracking (`sql/rpl_trx_tracking.cc`, Writeset_trx_dependency_tracker), by writesets of our own, so for any source. A transaction that changes a key
 * waits for the last one that changed it and for those that relied on it since; one that relies on a key (a child on its parent's) waits for the last that changed it.
 * It waits for exactly these. Further, as the server does:
 *
 * - What fell out of the history may be in conflict: everything up to the newest forgotten transaction is waited for.
 * - `fallback` (rows without a usable key: the server's has_missing_keys) goes by commit order: the source's commit parent, or everything before where the source
 *   tells none. Its other keys enter the history all the same.
 * - `opaque` (the server's has_related_foreign_keys, and what it calls an unusable writeset) goes by commit order too, and the history is emptied: those behind wait for it.
 * - What the history does not know for certain, forgotten and opaque transactions, is waited for only up to the source's commit parent: where the source ran two side by
 *   side, they are not in conflict. (The server's own: the minimum of both.) A conflict that was found is always waited for.
 *
 * A transaction with no hash at all is empty and waits for nothing but the beginning and barriers.
 */
export function writesetPolicy(options: WritesetOptions): Policy {
  const clock = new SourceClock();
  const found: number[] = [];
  let history: WritesetHistory | undefined;
  /** Waited for whatever the source says: what was before the first transaction, and barriers. */
  let base = 0;

  return {
    name: "writeset",
    needsWriteset: true,
    speculative: false,
    dependencies(transaction) {
      const { ordinal, barrier } = transaction;
      const writeset = transaction.writeset ?? OPAQUE_WRITESET;
      const commitParent = clock.commitParent(transaction);
      if (history === undefined) {
        base = ordinal - 1;
        history = new WritesetHistory(options.historySize, base);
      }
      if (barrier) {
        base = ordinal;
        history.forget(ordinal);
        return { upTo: ordinal - 1, also: NONE };
      }
      const { writes, reads, fallback, opaque } = writeset;
      let upTo = base;
      if (fallback || opaque) upTo = Math.max(upTo, commitParent);
      else if (writes.length + reads.length > 0) upTo = Math.max(upTo, Math.min(history.forgotten, commitParent));
      found.length = 0;
      upTo = Math.max(upTo, history.conflicts(writeset, found));
      if (opaque) history.forget(ordinal);
      else history.remember(writeset, ordinal);
      return { upTo, also: exact(found, upTo) };
    },
  };
}

/** Each once, growing, without those that `upTo` covers. */
function exact(found: readonly number[], upTo: number): readonly number[] {
  const also: number[] = [];
  for (const ordinal of found) if (ordinal > upTo && ordinal !== also.at(-1)) also.push(ordinal);
  if (also.length === 0) return NONE;
  if (also.length === 1) return also;
  also.sort((a, b) => a - b);
  return also.filter((ordinal, index) => index === 0 || ordinal !== also[index - 1]);
}
