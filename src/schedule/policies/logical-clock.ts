import type { Policy } from "../policy.ts";
import { NONE } from "./none.ts";
import { SourceClock } from "./source-clock.ts";

/**
 * What ran together on the source runs together here: MySQL 5.7's LOGICAL_CLOCK, MariaDB's conservative mode. The rule is the source clock's. A source without a clock
 * (MySQL up to 5.6, MariaDB without group commits) gives one transaction after the other.
 */
export function logicalClockPolicy(): Policy {
  const clock = new SourceClock();
  return {
    name: "logical-clock",
    needsWriteset: false,
    speculative: false,
    dependencies: (transaction) => ({ upTo: clock.commitParent(transaction), also: NONE }),
  };
}
