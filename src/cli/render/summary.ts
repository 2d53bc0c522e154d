import type { EngineStatus } from "../../engine/status.ts";
import { formatCount, formatDuration, formatLag } from "./units.ts";

/** What is said when an engine has ended: how it ended, how far the target is, and what was done. */
export function renderSummary(status: EngineStatus, lagMsMax: number | undefined): string {
  const { applied, channel } = status;
  const elapsedMs = status.atMs - status.startedAtMs;
  const perS = elapsedMs <= 0 ? 0 : (applied.transactions / elapsedMs) * 1000;
  const { position } = applied;
  return [
    `${channel} ${status.state === "failed" ? "failed" : "stopped"} after ${formatDuration(elapsedMs)}`,
    position === undefined
      ? "  nothing was applied"
      : `  applied everything up to ${position.file}:${position.position}${position.gtids === "" ? "" : `, ${position.gtids}`}`,
    `  ${formatCount(applied.transactions)} transactions, ${formatCount(applied.rows)} rows in ${formatCount(applied.runs)} commits (${formatCount(perS)} tx/s), ${formatCount(applied.retries)} retries`,
    `  lag at the end ${formatLag(status.lagMs)}, at most ${formatLag(lagMsMax)}`,
  ].join("\n");
}
