import type { EngineStatus } from "../../engine/status.ts";
import { formatCount, formatDuration, formatLag } from "./units.ts";

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
    `  ${formatCount(applied.transactions)} transactions, ${formatCount(applied.rows)} rows in ${formatCount(applied.runs)} commits (${formatCount(perS)} tx/s), ${formatCount(applied.retries)} retries`,
    `  lag at the end ${formatLag(lag.lastMs)}, at most ${formatLag(lag.maxMs)}`,
  ].join("\n");
}

/** How far the target is. */
export function appliedText({ applied: { position } }: EngineStatus): string {
  if (position === undefined) return "nothing was applied";
  // Without a file until the source has told one: a channel that begins at a GTID set.
  const place = position.file === "" ? [] : [`${position.file}:${position.position}`];
  const gtids = position.gtids === "" ? [] : [position.gtids];
  return `applied everything up to ${[...place, ...gtids].join(", ")}`;
}
