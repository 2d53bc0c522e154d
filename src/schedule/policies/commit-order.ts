import type { Policy } from "../policy.ts";
import { logicalClockPolicy } from "./logical-clock.ts";

/**
 * MySQL 8.0's COMMIT_ORDER tracking, as far as a binlog tells it. The commit order is known to the source alone, at the moment of the commit, so this is what the
 * source wrote: the same answers as `logical-clock`, and one transaction after the other where it wrote nothing.
 *
 * What differs is what the numbers mean. From a source with binlog_transaction_dependency_tracking = COMMIT_ORDER (5.7, and 8.0's default) they are the commit order. With
 * WRITESET, and always from 8.4 on, `last_committed` is already lowered to the last conflict (`sql/rpl_trx_tracking.cc`, Writeset_trx_dependency_tracker) and
 * the commit order is no longer in the log: no replica can apply such a log by commit order, it gets more parallelism than that.
 */
export function commitOrderPolicy(): Policy {
  return { ...logicalClockPolicy(), name: "commit-order" };
}
