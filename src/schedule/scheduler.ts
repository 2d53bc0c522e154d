import { assert, unreachable } from "../base/assert.ts";
import type { Dependencies } from "./policy.ts";
import {
  RETRY_BACKOFF_MS,
  type Run,
  type SchedulerEffect,
  type SchedulerInput,
  type SchedulerOptions,
  type SchedulerTransaction,
} from "./scheduler-types.ts";

/**
 * The coordinator's mind as a pure state machine: `step(state, input, nowMs)` changes the state and answers what to do. It decides which transactions
 * share a run, which worker applies it, and whose turn it is to commit. The engine, the simulator and the tests share this code.
 *
 * Invariants, and what breaks without them:
 * - A run is consecutive and starts only when every dependency of each of its transactions is committed or earlier in the same run: else two
 *   transactions that touch a common row could be applied out of order.
 * - With `preserve`, `commit` is ordered for the run behind the low-water mark only: else a reader of the target could see a state that the
 *   source never had.
 * - A worker has at most one run: a session is one transaction at a time.
 */
export interface SchedulerState {
  readonly options: SchedulerOptions;
  /** Transactions above the low-water mark, in order: `window[i]` has ordinal `lowWater + 1 + i`. */
  window: Entry[];
  lowWater: number;
  workers: WorkerSlot[];
  /** Up to this ordinal transactions run one by one: a packed run failed, and the failing one must be found. */
  isolateUpTo: number;
  draining: boolean;
  halted: boolean;
  nextRunId: number;
  /** Sums over transactions without a run. */
  pendingTransactions: number;
  pendingBytes: number;
  /** What former runs took to execute, and their bytes; the longer ago, the less it counts. */
  spent: { ms: number; bytes: number };
}

interface Entry {
  transaction: SchedulerTransaction;
  dependencies: Dependencies;
  phase: "pending" | "running" | "committed";
}

/** `waiting`: executed, waits for its turn. `next`: what the worker goes on with after its commit. `backing-off`: will be tried again at `retryAtMs`, or as soon as the session is back. */
export type WorkerSlot =
  | { phase: "absent"; run: undefined }
  | { phase: "idle"; run: undefined }
  | { phase: "executing"; run: Run; sinceMs: number; next: Run | undefined }
  | { phase: "waiting" | "committing"; run: Run; next: Run | undefined }
  | { phase: "backing-off"; run: Run; retryAtMs: number; sessionUp: boolean };

export function createScheduler(options: SchedulerOptions): SchedulerState {
  assert(options.workers >= 1, "a scheduler has at least one worker");
  assert(options.packTransactionsMax >= 1, "a run has at least one transaction");
  return {
    options,
    window: [],
    lowWater: options.startAfter,
    workers: Array.from({ length: options.workers }, () => ({ phase: "absent", run: undefined })),
    isolateUpTo: 0,
    draining: false,
    halted: false,
    nextRunId: 1,
    pendingTransactions: 0,
    pendingBytes: 0,
    spent: { ms: 0, bytes: 0 },
  };
}

export function step(state: SchedulerState, input: SchedulerInput, nowMs: number): SchedulerEffect[] {
  const effects: SchedulerEffect[] = [];
  if (state.halted) return effects;
  accept(state, input, nowMs, effects);
  if (!state.halted) {
    retry(state, nowMs, effects);
    giveTurns(state, effects);
    dispatch(state, nowMs, effects);
    if (state.draining && state.workers.every((slot) => slot.run === undefined)) effects.push({ type: "drained" });
  }
  return effects;
}

function accept(state: SchedulerState, input: SchedulerInput, nowMs: number, effects: SchedulerEffect[]): void {
  switch (input.type) {
    case "transaction":
      return enqueue(state, input.transaction);
    case "executed": {
      const slot = slotOf(state, input.worker);
      assert(slot.phase === "executing", `worker ${input.worker} is ${slot.phase}, not executing`);
      learn(state, slot.run, nowMs - slot.sinceMs);
      state.workers[input.worker] = { phase: "waiting", run: slot.run, next: slot.next };
      return;
    }
    case "committed": {
      const slot = slotOf(state, input.worker);
      assert(slot.phase === "committing", `worker ${input.worker} is ${slot.phase}, not committing`);
      state.workers[input.worker] =
        slot.next === undefined
          ? { phase: "idle", run: undefined }
          : { phase: "executing", run: slot.next, sinceMs: nowMs, next: undefined };
      return commit(state, slot.run, effects);
    }
    case "failed":
      return fail(state, input, nowMs, effects);
    case "worker-ready": {
      const slot = slotOf(state, input.worker);
      if (slot.phase === "backing-off") state.workers[input.worker] = { ...slot, sessionUp: true };
      else if (slot.phase === "absent") state.workers[input.worker] = { phase: "idle", run: undefined };
      return;
    }
    case "worker-lost": {
      const slot = slotOf(state, input.worker);
      assert(
        slot.phase === "idle" || slot.phase === "backing-off",
        "a run's outcome is told before its worker is lost",
      );
      state.workers[input.worker] =
        slot.phase === "idle" ? { phase: "absent", run: undefined } : { ...slot, sessionUp: false };
      return;
    }
    case "drain":
      state.draining = true;
      return;
    case "tick":
      return;
    default:
      unreachable(input);
  }
}

function enqueue(state: SchedulerState, transaction: SchedulerTransaction): void {
  assert(
    transaction.ordinal === state.lowWater + state.window.length + 1,
    "transactions arrive in source order, each once",
  );
  const dependencies = state.options.policy.dependencies(transaction);
  state.window.push({
    transaction,
    dependencies: transaction.alone ? { ...dependencies, barrier: true } : dependencies,
    phase: "pending",
  });
  state.pendingTransactions++;
  state.pendingBytes += transaction.bytes;
}

function commit(state: SchedulerState, run: Run, effects: SchedulerEffect[]): void {
  for (let ordinal = run.first; ordinal <= run.last; ordinal++) entryOf(state, ordinal).phase = "committed";
  let done = 0;
  while (state.window[done]?.phase === "committed") done++;
  if (done === 0) return;
  state.window.splice(0, done);
  state.lowWater += done;
  effects.push({ type: "advance", lowWater: state.lowWater });
}

function fail(
  state: SchedulerState,
  input: Extract<SchedulerInput, { type: "failed" }>,
  nowMs: number,
  effects: SchedulerEffect[],
): void {
  const slot = slotOf(state, input.worker);
  const { run } = slot;
  assert(run !== undefined, "only a worker with a run can fail");
  if ("next" in slot && slot.next !== undefined) giveBack(state, slot.next);
  // It goes back to the queue, to run one transaction at a time up to the culprit.
  if (input.retry === "never" && run.last > run.first) {
    state.isolateUpTo = Math.max(state.isolateUpTo, run.last);
    giveBack(state, run);
    state.workers[input.worker] = { phase: "idle", run: undefined };
    return;
  }
  if (input.retry === "never" || (input.retry === "now" && run.attempt > state.options.retriesMax)) {
    state.halted = true;
    effects.push({ type: "halt", run, reason: input.reason });
    return;
  }
  const waitMs =
    input.retry === "now" && run.attempt === 1
      ? 0
      : Math.min(RETRY_BACKOFF_MS.max, RETRY_BACKOFF_MS.first * 2 ** Math.min(run.attempt, 10));
  state.workers[input.worker] = {
    phase: "backing-off",
    run: { ...run, attempt: run.attempt + 1 },
    retryAtMs: nowMs + waitMs,
    sessionUp: true,
  };
}

function giveBack(state: SchedulerState, run: Run): void {
  for (let ordinal = run.first; ordinal <= run.last; ordinal++) entryOf(state, ordinal).phase = "pending";
  state.pendingTransactions += run.last - run.first + 1;
  state.pendingBytes += run.bytes;
}

function retry(state: SchedulerState, nowMs: number, effects: SchedulerEffect[]): void {
  for (const [worker, slot] of state.workers.entries()) {
    if (slot.phase !== "backing-off") continue;
    if (state.draining) {
      giveBack(state, slot.run);
      state.workers[worker] = slot.sessionUp ? { phase: "idle", run: undefined } : { phase: "absent", run: undefined };
    } else if (!slot.sessionUp) continue;
    else if (slot.retryAtMs > nowMs) effects.push({ type: "wake", atMs: slot.retryAtMs });
    else {
      state.workers[worker] = { phase: "executing", run: slot.run, sinceMs: nowMs, next: undefined };
      effects.push({ type: "execute", worker, run: slot.run });
    }
  }
}

function giveTurns(state: SchedulerState, effects: SchedulerEffect[]): void {
  for (const [worker, slot] of state.workers.entries()) {
    if (slot.phase !== "waiting") continue;
    if (state.options.commitOrder === "preserve" && slot.run.first !== state.lowWater + 1) continue;
    if (state.draining && slot.next !== undefined) giveBack(state, slot.next);
    const next = state.draining ? undefined : slot.next;
    state.workers[worker] = { phase: "committing", run: slot.run, next };
    effects.push({ type: "commit", worker, run: slot.run, next });
  }
}

function dispatch(state: SchedulerState, nowMs: number, effects: SchedulerEffect[]): void {
  if (state.draining) return;
  for (const [worker, slot] of state.workers.entries()) {
    if (slot.phase === "idle") {
      const start = firstReady(state);
      if (start === undefined) continue;
      const run = claim(state, measure(state, start, at(state, start).transaction.ordinal));
      state.workers[worker] = { phase: "executing", run, sinceMs: nowMs, next: undefined };
      effects.push({ type: "execute", worker, run });
    } else if (slot.phase === "executing" && slot.next === undefined) {
      const run = runAhead(state, slot.run);
      if (run === undefined) continue;
      state.workers[worker] = { ...slot, next: run };
      effects.push({ type: "prepare", worker, run });
    }
  }
}

/**
 * The run behind one that is at work, for the same worker: it can be made ready meanwhile, and sent in the same breath as the commit. Only one that could not get
 * larger by waiting, and not while a culprit is looked for.
 */
function runAhead(state: SchedulerState, current: Run): Run | undefined {
  const start = indexOf(state, current.last + 1);
  const entry = state.window[start];
  if (entry === undefined || entry.phase !== "pending" || entry.transaction.ordinal <= state.isolateUpTo)
    return undefined;
  if (entry.transaction.alone || entry.transaction.startsRun || entryOf(state, current.first).transaction.alone) {
    return undefined;
  }
  if (!isReady(state, start, current.first)) return undefined;
  const measured = measure(state, start, current.first);
  return measured.isFull ? claim(state, measured) : undefined;
}

interface Measured {
  start: number;
  /** Index behind the last transaction. */
  end: number;
  bytes: number;
  rows: number;
  /** Whatever arrives, it will not become larger. */
  isFull: boolean;
}

/**
 * As many transactions from `start` on as the limits and their dependencies allow; what they depend on must be committed, or lie between `chainFirst` and them: in the
 * same run, or in the one before it on the same session.
 */
function measure(state: SchedulerState, start: number, chainFirst: number): Measured {
  const bytesMax = runBytesMax(state);
  const first = at(state, start).transaction;
  const transactionsMax = first.alone || first.ordinal <= state.isolateUpTo ? 1 : state.options.packTransactionsMax;
  const measured = { start, end: start + 1, bytes: first.bytes, rows: first.rows, isFull: true };
  while (measured.end - start < transactionsMax) {
    const next = state.window[measured.end];
    if (next === undefined) return { ...measured, isFull: false };
    const { alone, startsRun, bytes, rows } = next.transaction;
    if (next.phase !== "pending" || alone || startsRun || measured.bytes + bytes > bytesMax) break;
    if (!isReady(state, measured.end, chainFirst)) break;
    measured.end++;
    measured.bytes += bytes;
    measured.rows += rows;
  }
  return measured;
}

function claim(state: SchedulerState, { start, end, bytes, rows }: Measured): Run {
  for (let index = start; index < end; index++) at(state, index).phase = "running";
  state.pendingTransactions -= end - start;
  state.pendingBytes -= bytes;
  const first = at(state, start).transaction.ordinal;
  return { id: state.nextRunId++, first, last: first + end - start - 1, bytes, rows, attempt: 1 };
}

/** What a run adds to the experience fades by a quarter with each later one: a slow run (a lock, a busy target) is forgotten soon. */
const FADING = 0.75;

function learn(state: SchedulerState, run: Run, tookMs: number): void {
  const { ms, bytes } = state.spent;
  state.spent = { ms: ms * FADING + tookMs, bytes: bytes * FADING + run.bytes };
}

function runBytesMax({ options, spent }: SchedulerState): number {
  return Math.min(options.packBytesMax, spent.ms === 0 ? Infinity : (options.packMsMax * spent.bytes) / spent.ms);
}

function firstReady(state: SchedulerState): number | undefined {
  for (let index = 0; index < state.window.length; index++) {
    const entry = at(state, index);
    if (entry.phase === "committed") continue;
    if (entry.phase === "pending" && isReady(state, index, entry.transaction.ordinal)) return index;
    if (entry.dependencies.barrier) return undefined;
  }
  return undefined;
}

/** Whether everything that it depends on is committed, or lies between `chainFirst` and it, to be applied before it on the same session. */
function isReady(state: SchedulerState, index: number, chainFirst: number): boolean {
  const { barrier, upTo, also } = at(state, index).dependencies;
  if (barrier) return chainFirst === state.lowWater + 1;
  if (upTo > state.lowWater && chainFirst !== state.lowWater + 1) return false;
  return also.every((ordinal) => ordinal <= state.lowWater || ordinal >= chainFirst || isCommitted(state, ordinal));
}

function isCommitted(state: SchedulerState, ordinal: number): boolean {
  return entryOf(state, ordinal).phase === "committed";
}

function at(state: SchedulerState, index: number): Entry {
  const entry = state.window[index];
  assert(entry !== undefined, "the window has this transaction");
  return entry;
}

const indexOf = (state: SchedulerState, ordinal: number): number => ordinal - state.lowWater - 1;
const entryOf = (state: SchedulerState, ordinal: number): Entry => at(state, indexOf(state, ordinal));

function slotOf(state: SchedulerState, worker: number): WorkerSlot {
  const slot = state.workers[worker];
  assert(slot !== undefined, "the worker exists");
  return slot;
}
