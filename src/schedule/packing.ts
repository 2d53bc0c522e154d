import type { Run } from "./scheduler-types.ts";
import type { Entry, Window } from "./window.ts";

export interface PackingLimits {
  transactionsMax: number;
  bytesMax: number;
  rowsMax: number;
}

export interface Packed {
  ordinals: number[];
  bytes: number;
  rows: number;
  /** What ended it: it is as large as it may be; there is nothing more; the next one depends on something that is at work elsewhere. */
  cut: "limit" | "end" | "dependency";
}

/** With gaps allowed, how many times the largest run is looked through for transactions that fit. */
const LOOK_AHEAD_RUNS = 4;

/**
 * As many transactions from `start` on as limits and dependencies allow. What they depend on must be committed, or be in the same run, or in `behind`: the run before it on the same
 * session. `consecutive`: the first one that cannot come along ends the run; else those that cannot are left out.
 */
export function pack(
  window: Window,
  start: number,
  limits: PackingLimits,
  { consecutive, behind }: { consecutive: boolean; behind: Run | undefined },
): Packed {
  const mark = window.newMark();
  const isMine = (entry: Entry): boolean =>
    entry.mark === mark || (behind !== undefined && entry.phase === "running" && entry.runId === behind.id);
  /** Up to here all are committed or ours. */
  let covered = window.lowWater;
  const isCovered = (upTo: number): boolean => {
    for (; covered < upTo; covered++) {
      const entry = window.at(covered + 1);
      if (entry.phase !== "committed" && !isMine(entry)) return false;
    }
    return true;
  };
  const fits = ({ upTo, also }: Entry): boolean =>
    isCovered(upTo) && also.every((other) => window.isCommitted(other) || isMine(window.at(other)));

  const packed: Packed = { ordinals: [], bytes: 0, rows: 0, cut: "limit" };
  let isSkipping = false;
  const lookUpTo = Math.min(
    window.last,
    start + (consecutive ? limits.transactionsMax : LOOK_AHEAD_RUNS * limits.transactionsMax),
  );
  for (let ordinal = start; ordinal <= lookUpTo; ordinal++) {
    if (packed.ordinals.length >= limits.transactionsMax) return packed;
    const entry = window.at(ordinal);
    const { bytes, rows, alone, startsRun } = entry.transaction;
    const isFirst = ordinal === start;
    if (!isFirst && (alone || startsRun)) return packed;
    if (entry.phase !== "pending" || !fits(entry)) {
      if (consecutive) return { ...packed, cut: "dependency" };
      isSkipping = true;
      continue;
    }
    const isTooMuch = packed.bytes + bytes > limits.bytesMax || packed.rows + rows > limits.rowsMax;
    if (packed.ordinals.length > 0 && isTooMuch) return packed;
    packed.ordinals.push(ordinal);
    packed.bytes += bytes;
    packed.rows += rows;
    entry.mark = mark;
    if (alone) return packed;
  }
  if (packed.ordinals.length < limits.transactionsMax) packed.cut = isSkipping ? "dependency" : "end";
  return packed;
}
