import type { EngineStatus } from "../../engine/status.ts";

/** What happened between two statuses, per second. */
export interface Rates {
  transactionsPerS: number;
  rowsPerS: number;
  /** How long the backlog will last at this pace; undefined when it grows, stands, or is too small to tell. */
  caughtUpInMs: number | undefined;
}

/** Below this a backlog is in passing, and a forecast would only flicker. */
const FORECAST_BYTES_MIN = 1024 * 1024;

export function ratesBetween(earlier: EngineStatus, later: EngineStatus): Rates {
  const seconds = (later.atMs - earlier.atMs) / 1000;
  if (seconds <= 0) return { transactionsPerS: 0, rowsPerS: 0, caughtUpInMs: undefined };
  const shrunkBytesPerS = (earlier.backlogBytes - later.backlogBytes) / seconds;
  return {
    transactionsPerS: (later.applied.transactions - earlier.applied.transactions) / seconds,
    rowsPerS: (later.applied.rows - earlier.applied.rows) / seconds,
    caughtUpInMs:
      shrunkBytesPerS > 0 && later.backlogBytes >= FORECAST_BYTES_MIN
        ? (later.backlogBytes / shrunkBytesPerS) * 1000
        : undefined,
  };
}
