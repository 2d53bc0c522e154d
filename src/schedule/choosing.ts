import { pack, type Packed, type PackingLimits } from "./packing.ts";
import type { SchedulerState } from "./scheduler.ts";
import type { Run } from "./scheduler-types.ts";
import { isAtWork } from "./slots.ts";
import type { Window } from "./window.ts";

/** What is begun next, and how much of it at once. */

const consecutive = ({ options }: SchedulerState): boolean =>
  options.commitOrder === "preserve" || options.dependency === "low-water-mark";

/** How many places a run that is worth it is looked for in; with gaps allowed the first look goes over all that is there. */
const TRIES = { consecutive: 4, withGaps: 1 };

export function nextPack(state: SchedulerState, nowMs: number): Packed | undefined {
  const { window, options } = state;
  let after = 0;
  const triesMax = consecutive(state) ? TRIES.consecutive : TRIES.withGaps;
  for (let tries = 0; tries < triesMax; tries++) {
    const start = window.readyAfter(after);
    if (start === undefined) return undefined;
    // The server's coordinator stands before the first one that has to wait.
    if (options.dependency === "low-water-mark" && start !== window.firstPending()) return undefined;
    const packed = pack(window, start, limitsAt(state, start), { consecutive: consecutive(state), behind: undefined });
    if (isWorthARun(state, packed, nowMs)) return packed;
    after = packed.ordinals.at(-1) ?? start;
  }
  return undefined;
}

/** How long a small run is held back at most for the sake of larger ones. */
export const PATIENCE_MS = 100;
/** A run of at least this part of the largest one is no small one, and as many in the queue are a backlog. */
const SMALL = 1 / 4;

/**
 * A run that ends early, because what follows depends on another one, costs a commit for little, and cuts the queue into pieces that stay small: each next run ends where
 * one that was begun before it starts. So with a backlog it waits, to be part of a large run, unless what is at work takes long, or nothing is at work. Whose turn it is, is never held back.
 */
function isWorthARun(state: SchedulerState, packed: Packed, nowMs: number): boolean {
  const { window, options, slots } = state;
  const enough = options.packTransactionsMax * SMALL;
  if (packed.cut !== "dependency" || packed.ordinals.length >= enough) return true;
  if (packed.bytes >= runBytesMax(state) * SMALL || packed.rows >= options.packRowsMax * SMALL) return true;
  if (window.pendingTransactions < enough && window.pendingRows < options.packRowsMax * SMALL) return true;
  if (packed.ordinals[0] === window.lowWater + 1) return true;
  return (
    !slots.some(isAtWork) || slots.some((slot) => slot.phase === "executing" && nowMs - slot.sinceMs >= PATIENCE_MS)
  );
}

/**
 * The run behind one that is at work, for the same worker: it can be made ready meanwhile, and sent in the same breath as the commit. Only one that could not get
 * larger by waiting, that no other worker could begin now, and not while a culprit is looked for.
 */
export function packBehind(state: SchedulerState, current: Run): Packed | undefined {
  const { window, options, wantedWorkers } = state;
  // The server's coordinator stands before what has to wait: it hands it to nobody.
  if (wantedWorkers > 1 && options.dependency === "low-water-mark") return undefined;
  // In relaxed order whoever is free first takes what has become ready: with many workers, looking through the queue for each of them would take longer than the work.
  if (wantedWorkers > 1 && options.commitOrder === "relaxed" && options.packTransactionsMax > 1) return undefined;
  if (!isFull(state, window)) return undefined;
  const start = consecutive(state) ? current.last + 1 : window.firstPending();
  if (start === undefined || !window.has(start) || start <= state.isolateUpTo) return undefined;
  const entry = window.at(start);
  if (entry.phase !== "pending" || entry.transaction.alone || entry.transaction.startsRun) return undefined;
  if (wantedWorkers > 1 && window.isReady(entry)) return undefined;
  if (window.at(current.first).transaction.alone) return undefined;
  const packed = pack(window, start, limitsAt(state, start), {
    consecutive: consecutive(state),
    behind: current,
  });
  const first = packed.ordinals[0];
  if (packed.cut !== "limit" || first === undefined) return undefined;
  // In relaxed order it may lie behind `start`, and be one that the next free worker should have.
  return wantedWorkers > 1 && window.isReady(window.at(first)) ? undefined : packed;
}

/**
 * What the worker goes on with that is sent its commit now: it would be idle for the time of an answer. With the order preserved that is what comes right behind its run, when nobody has it:
 * only this worker is sure to be free for it, all others may wait for their turn behind it.
 */
export function packAfter(state: SchedulerState, current: Run, nowMs: number): Packed | undefined {
  const { window, options, slots } = state;
  if (current.resolve || slots.some(({ phase }) => phase === "idle")) return undefined;
  let start = current.last + 1;
  while (window.has(start) && window.at(start).phase === "committed") start++;
  const isFree = window.has(start) && window.at(start).phase === "pending";
  const packed =
    isFree && options.commitOrder === "preserve" && options.dependency === "graph"
      ? pack(window, start, limitsAt(state, start), { consecutive: true, behind: current })
      : nextPack(state, nowMs);
  const first = packed?.ordinals[0];
  if (packed === undefined || first === undefined || first <= state.isolateUpTo) return undefined;
  const { alone, startsRun } = window.at(first).transaction;
  return alone || startsRun || window.at(current.first).transaction.alone ? undefined : packed;
}

/** Whether what is pending is enough for the largest run. */
const isFull = (state: SchedulerState, { pendingTransactions, pendingBytes, pendingRows }: Window): boolean =>
  pendingTransactions >= state.options.packTransactionsMax ||
  pendingBytes >= runBytesMax(state) ||
  pendingRows >= state.options.packRowsMax;

function limitsAt(state: SchedulerState, start: number): PackingLimits {
  return {
    transactionsMax: start <= state.isolateUpTo ? 1 : state.options.packTransactionsMax,
    bytesMax: runBytesMax(state),
    rowsMax: state.options.packRowsMax,
  };
}

function runBytesMax({ options, spent }: SchedulerState): number {
  return Math.min(options.packBytesMax, spent.ms === 0 ? Infinity : (options.packMsMax * spent.bytes) / spent.ms);
}
