import type { Policy } from "../policy.ts";
import { NONE } from "./none.ts";

/**
 * MariaDB's slave_parallel_mode=optimistic: everything is begun at once, in the hope that it does not conflict. What does conflict is found by the target (a deadlock, a
 * missing row, a key already there), rolled back, and tried again when all before it is committed. The commit order is preserved, so a guess never shows.
 *
 * The server holds back (`sql/rpl_parallel.cc`, rpl_parallel::do_event): DDL, which waits for all before and all behind wait for it (FORCE_SWITCH); and, waiting for all
 * before but holding up nobody, what is not transactional, what the source's session marked with skip_parallel_replication, and what waited for a row lock
 * on the source (FL_WAITED). DDL and non-transactional changes are barriers here. The two marks are not looked at: that is the server's `aggressive` mode, and costs
 * a retry at most.
 */
export function optimisticPolicy(): Policy {
  let base: number | undefined;
  return {
    name: "optimistic",
    needsWriteset: false,
    speculative: true,
    dependencies({ ordinal, barrier }) {
      base ??= ordinal - 1;
      if (!barrier) return { upTo: base, also: NONE };
      base = ordinal;
      return { upTo: ordinal - 1, also: NONE };
    },
  };
}
