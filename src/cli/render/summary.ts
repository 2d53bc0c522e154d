import type { EngineStatus } from "../../engine/status.ts";
import { formatCount, formatCounted, formatDuration } from "./units.ts";

/** Undefined where none was known. */
export interface SeenLag {
  lastMs: number | undefined;
  maxMs: number | undefined;
}

/** What is said when an engine has ended: how it ended, how far the target is, and what was done. */
export function renderSummary(status: EngineStatus, lag: SeenLag): string {
  const { applied, channel } = status;
  const elapsedMs = status.atMs - status.startedAtMs;
  const perS = elapsedMs <= 0 ? 0 : (applied.transactions / elapsedMs) * 1000;
  return [
    `${channel} ${status.state === "failed" ? "failed" : "stopped"} after ${formatDuration(elapsedMs)}`,
    `  ${appliedText(status)}`,
    `  ${formatCounted(applied.transactions, "transaction")}, ${formatCounted(applied.rows, "row")} in ${formatCounted(applied.runs, "commit")} (${formatCount(perS)} tx/s), ${formatCounted(applied.retries, "retry", "retries")}${lockBreaksText(applied)}`,
    ...parallelLines(status),
    ...lagLines(lag),
  ].join("\n");
}

const lockBreaksText = ({ lockBreaks }: EngineStatus["applied"]): string =>
  lockBreaks === 0 ? "" : `, ${formatCounted(lockBreaks, "lock break")}`;

function parallelLines({ applied, policy }: EngineStatus): string[] {
  const lines: string[] = [];
  const conflicts = conflictsText(applied);
  if (applied.meanConcurrency > 0)
    lines.push(`  policy ${policy}, ${applied.meanConcurrency.toFixed(1)} workers at work at a time on average`);
  if (conflicts !== "") lines.push(`  conflicts: ${conflicts}`);
  if (applied.passedOver > 0) lines.push(`  ${formatCounted(applied.passedOver, "transaction")} passed over`);
  return lines;
}

/** `3 rows skipped, 1 row overwritten`; empty when there were none. */
export function conflictsText({ conflictsSkipped, conflictsOverwritten }: EngineStatus["applied"]): string {
  return [
    ...(conflictsSkipped === 0 ? [] : [`${formatCounted(conflictsSkipped, "row")} skipped`]),
    ...(conflictsOverwritten === 0 ? [] : [`${formatCounted(conflictsOverwritten, "row")} overwritten`]),
  ].join(", ");
}

/** A lag that was never known is not worth a word. */
function lagLines({ lastMs, maxMs }: SeenLag): string[] {
  return lastMs === undefined || maxMs === undefined
    ? []
    : [`  lag at the end ${formatDuration(lastMs)}, at most ${formatDuration(maxMs)}`];
}

/** How far the target is. */
export function appliedText({ applied: { position } }: EngineStatus): string {
  if (position === undefined) return "nothing was applied";
  // Without a file until the source has told one: a channel that begins at a GTID set.
  const place = position.file === "" ? [] : [`${position.file}:${position.position}`];
  const gtids = position.gtids === "" ? [] : [position.gtids];
  return `applied everything up to ${[...place, ...gtids].join(", ")}`;
}
