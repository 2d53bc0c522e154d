import type { Dependencies } from "../../schedule/policy.ts";
import type { SchedulerTransaction } from "../../schedule/scheduler-types.ts";

/**
 * What kept a transaction from beginning as soon as it was in the window. Where several did, the one that lasted longest.
 * - `conflict`: certain earlier ones: of the same keys (`writeset`), schema (`database`), session (`writeset-session`).
 * - `commit-parent`: everything up to what the source or the policy names, `order` where that is everything before.
 * - `no-key`, `opaque`: it changes rows that no key tells apart, or keys that its images do not show.
 * - `barrier`: it waits for all before it; `behind-barrier`: it waits for such a one.
 */
export const WAIT_REASONS = [
  "conflict",
  "commit-parent",
  "order",
  "no-key",
  "opaque",
  "barrier",
  "behind-barrier",
] as const;

export type WaitReason = (typeof WAIT_REASONS)[number];

/** Of one that waited for everything up to `upTo`, not for a certain one. */
export function boundReason(
  { ordinal, barrier, writeset }: SchedulerTransaction,
  { upTo }: Dependencies,
  { lastBarrier, needsWriteset }: { lastBarrier: number; needsWriteset: boolean },
): WaitReason {
  if (barrier) return "barrier";
  if (upTo <= lastBarrier) return "behind-barrier";
  if (needsWriteset && writeset?.opaque === true) return "opaque";
  if (needsWriteset && writeset?.fallback === true) return "no-key";
  return upTo === ordinal - 1 ? "order" : "commit-parent";
}
