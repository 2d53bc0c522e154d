import type { Policy } from "../policy.ts";

/** One transaction after the other, as the SQL thread of MySQL 5.5 did. Speed comes from packing alone. */
export function singlePolicy(): Policy {
  return {
    name: "single",
    needsWriteset: false,
    speculative: false,
    dependencies: ({ ordinal }) => ({ upTo: ordinal - 1, also: [] }),
  };
}
