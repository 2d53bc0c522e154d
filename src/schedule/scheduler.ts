import { assert, unreachable } from "../base/assert.ts";
import { nextPack, packAfter, packBehind, PATIENCE_MS } from "./choosing.ts";
import type { Packed } from "./packing.ts";
import {
  RETRY_BACKOFF_MS,
  type Run,
  type SchedulerEffect,
  type SchedulerInput,
  type SchedulerOptions,
  type SchedulerTransaction,
} from "./scheduler-types.ts";
import { ABSENT, IDLE, isAtWork, noTimes, RETIRED, type WorkerSlot, type WorkerTimes } from "./slots.ts";
import { countTime } from "./times.ts";
import { Window } from "./window.ts";

/**
 * The coordinator's mind as a pure state machine: `step(state, input, nowMs)` changes the state and answers what to do. It decides which transactions
 * share a run, which worker applies it, and whose turn it is to commit. The engine, the simulator and the tests share this code.
 *
 * Invariants, and what breaks without them:
 * - A run starts only when every dependency of each of its transactions is committed or earlier in the same run: else two transactions that touch a common row
 *   could be applied out of order.
 * - With `preserve`, runs are consecutive and `commit` is ordered for the run behind the low-water mark only: else a reader of the target could see a state that
 *   the source never had.
 * - The transaction behind the low-water mark is always at work or can be given to a worker: a run that waits for its turn holds its worker, so the earliest ready
 *   transaction goes first.
 * - A worker has at most one run: a session is one transaction at a time.
 */
export interface SchedulerState {
  readonly options: SchedulerOptions;
  readonly window: Window;
  readonly slots: WorkerSlot[];
  /** How many workers are wanted: those with higher numbers finish what they have. */
  wantedWorkers: number;
  /** Up to this ordinal transactions run one by one: a packed run failed, and the failing one must be found. */
  isolateUpTo: number;
  draining: boolean;
  halted: boolean;
  nextRunId: number;
  /** What former runs took to execute, and their bytes; the longer ago, the less it counts. */
  spent: { ms: number; bytes: number };
  /** A worker is idle, and what could begin is held back: looked at again when something else than the queue changes. */
  stuck: boolean;
  wakeAtMs: number;
  lockBreaks: number;
  lastStepMs: number;
  /** By worker. */
  readonly times: WorkerTimes[];
  /** Time in which at least one run was executing or committing, and the same times their number. */
  concurrency: { ms: number; runMs: number };
}

export function createScheduler(options: SchedulerOptions): SchedulerState {
  assert(options.workers >= 1, "a scheduler has at least one worker");
  assert(options.packTransactionsMax >= 1, "a run has at least one transaction");
  assert(
    !options.policy.speculative || options.commitOrder === "preserve",
    "only with the commit order preserved a guess that was wrong is noticed",
  );
  return {
    options,
    window: new Window(options.startAfter, options.dependency === "low-water-mark"),
    slots: Array.from({ length: options.workers }, () => ABSENT),
    wantedWorkers: options.workers,
    isolateUpTo: 0,
    draining: false,
    halted: false,
    nextRunId: 1,
    spent: { ms: 0, bytes: 0 },
    stuck: false,
    wakeAtMs: 0,
    lockBreaks: 0,
    lastStepMs: -1,
    times: Array.from({ length: options.workers }, noTimes),
    concurrency: { ms: 0, runMs: 0 },
  };
}

export function step(state: SchedulerState, input: SchedulerInput, nowMs: number): SchedulerEffect[] {
  const effects: SchedulerEffect[] = [];
  if (state.halted) return effects;
  countTime(state, nowMs);
  accept(state, input, nowMs, effects);
  if (state.halted) return effects;
  if (input.type === "transaction") {
    if (isWorthALook(state)) dispatch(state, nowMs, effects);
    if (state.stuck) wake(state, nowMs, effects);
    return effects;
  }
  retry(state, nowMs, effects);
  giveTurns(state, nowMs, effects);
  if (!isLookedAtInVain(state, input)) dispatch(state, nowMs, effects);
  retire(state, effects);
  wake(state, nowMs, effects);
  if (state.draining && isDrained(state)) effects.push({ type: "drained" });
  return effects;
}

/** In relaxed order that something is executed makes nothing ready: looking again, with many workers, would take longer than the work. */
const isLookedAtInVain = ({ stuck, options }: SchedulerState, { type }: SchedulerInput): boolean =>
  stuck && type === "executed" && options.commitOrder === "relaxed" && options.packTransactionsMax > 1;

/** One more in the queue changes nothing for workers that are busy, or that found nothing before; but a run that was too small may have grown. */
const LOOKS_PER_PACK = 16;

function isWorthALook({ window, options, stuck, slots }: SchedulerState): boolean {
  if (!stuck && slots.some((slot) => slot.phase === "idle")) return true;
  return window.pendingTransactions % Math.ceil(options.packTransactionsMax / LOOKS_PER_PACK) === 0;
}

/** What is executing is finished. What waits for a turn that will not come, or would, is rolled back with its session: it may even wait for locks of another such. */
function isDrained({ window, slots, options }: SchedulerState): boolean {
  const begun = (options.commitOrder === "preserve" ? window.firstPending() : undefined) ?? Infinity;
  return !slots.some((slot) => isAtWork(slot) && (slot.phase !== "executing" || slot.run.first < begun));
}

function accept(state: SchedulerState, input: SchedulerInput, nowMs: number, effects: SchedulerEffect[]): void {
  switch (input.type) {
    case "transaction":
      return enqueue(state, input.transaction, effects);
    case "executed": {
      const slot = slotOf(state, input.worker);
      if (slot.phase === "rolling-back") return;
      assert(slot.phase === "executing", `worker ${input.worker} is ${slot.phase}, not executing`);
      learn(state, slot.run, nowMs - slot.sinceMs);
      state.slots[input.worker] = { phase: "waiting", run: slot.run, next: slot.next };
      return;
    }
    case "committed": {
      const slot = slotOf(state, input.worker);
      assert(slot.phase === "committing", `worker ${input.worker} is ${slot.phase}, not committing`);
      const { run, next } = slot;
      state.window.commit(run.ordinals);
      advance(state, effects);
      state.slots[input.worker] = next === undefined ? IDLE : executing(next, nowMs);
      return;
    }
    case "failed":
      return fail(state, input, nowMs, effects);
    case "lock-wait":
      return breakLocks(state, input.waiter, input.blockers, effects);
    case "worker-ready": {
      const slot = slotOf(state, input.worker);
      if (slot.phase === "backing-off") state.slots[input.worker] = { ...slot, sessionUp: true };
      else if (slot.phase === "absent") state.slots[input.worker] = IDLE;
      return;
    }
    case "worker-lost": {
      const slot = slotOf(state, input.worker);
      assert(
        slot.phase !== "executing" && slot.phase !== "committing",
        "a run's outcome is told before its worker is lost",
      );
      if (slot.phase === "backing-off") state.slots[input.worker] = { ...slot, sessionUp: false };
      else if (slot.phase === "idle") state.slots[input.worker] = ABSENT;
      return;
    }
    case "workers":
      return resize(state, input.count);
    case "drain":
      state.draining = true;
      return;
    case "tick":
      // The timer is spent. One that was early (a clock that counts otherwise, or was set back) is set again.
      state.wakeAtMs = 0;
      return;
    default:
      unreachable(input);
  }
}

function enqueue(state: SchedulerState, transaction: SchedulerTransaction, effects: SchedulerEffect[]): void {
  state.window.add(transaction, state.options.policy.dependencies(transaction));
  if (transaction.applied) advance(state, effects);
}

function advance({ window }: SchedulerState, effects: SchedulerEffect[]): void {
  if (window.advance()) effects.push({ type: "advance", lowWater: window.lowWater });
}

function fail(
  state: SchedulerState,
  input: Extract<SchedulerInput, { type: "failed" }>,
  nowMs: number,
  effects: SchedulerEffect[],
): void {
  const slot = slotOf(state, input.worker);
  assert(slot.run !== undefined, "only a worker with a run can fail");
  const { run } = slot;
  if ("next" in slot && slot.next !== undefined) state.window.giveBack(slot.next.ordinals);
  const backOff = (retryAtMs: number, changes: Partial<Run> = { attempt: run.attempt + 1 }, forTurn = false): void => {
    state.slots[input.worker] = {
      phase: "backing-off",
      run: { ...run, ...changes },
      retryAtMs,
      forTurn,
      sessionUp: true,
    };
  };
  /**
   * To begin again when everything before it is committed. With the order preserved it keeps its worker, since all others may come to wait behind it; in relaxed order
   * it must not, since its worker may be the only one.
   */
  const waitForTurn = (changes?: Partial<Run>): void => {
    if (state.options.commitOrder === "preserve") return backOff(nowMs, changes, true);
    state.window.giveBack(run.ordinals, { inOrder: true });
    state.slots[input.worker] = IDLE;
  };
  // A guess that was wrong once is not made again.
  const isGuess = state.options.policy.speculative && !run.atTurn;
  if (slot.phase === "rolling-back") {
    // With `later` its session may be gone, which is told next. It did nothing wrong, so this costs it no try.
    if (input.retry === "later") return backOff(nowMs + RETRY_BACKOFF_MS.first, {});
    return isGuess ? waitForTurn({}) : backOff(nowMs, {});
  }
  if (input.retry === "never") {
    // It goes back to the queue, to run one transaction at a time up to the culprit.
    if (run.ordinals.length > 1) {
      state.isolateUpTo = Math.max(state.isolateUpTo, run.last);
      state.window.giveBack(run.ordinals);
      state.slots[input.worker] = IDLE;
      return;
    }
    // Perhaps it needs what an earlier one that is still at work brings; alone behind all the others it has no excuse.
    if (!run.atTurn) return waitForTurn();
    if (input.isConflict && state.options.resolvesConflicts && !run.resolve) {
      return backOff(nowMs, { attempt: run.attempt + 1, resolve: true });
    }
  }
  if (input.retry === "never" || (input.retry === "now" && run.attempt > state.options.retriesMax)) {
    state.halted = true;
    effects.push({ type: "halt", run, reason: input.reason });
    return;
  }
  if (isGuess && input.retry === "now") return waitForTurn();
  const waitMs =
    input.retry === "now" && run.attempt === 1
      ? 0
      : Math.min(RETRY_BACKOFF_MS.max, RETRY_BACKOFF_MS.first * 2 ** Math.min(run.attempt, 10));
  backOff(nowMs + waitMs);
}

/**
 * The lock breaker. A worker waits for locks of one whose turn comes later: that one cannot commit before it, so both would wait until the target's lock wait timeout.
 * The later one gives its locks back. In relaxed order nobody waits for a turn, and the target itself finds circles.
 */
function breakLocks(
  state: SchedulerState,
  waiter: number,
  blockers: readonly number[],
  effects: SchedulerEffect[],
): void {
  const waiting = slotOf(state, waiter);
  if (state.options.commitOrder !== "preserve" || waiting.phase !== "executing") return;
  for (const worker of blockers) {
    const slot = slotOf(state, worker);
    if ((slot.phase !== "executing" && slot.phase !== "waiting") || slot.run.first < waiting.run.first) continue;
    if (worker === waiter) continue;
    if (slot.next !== undefined) state.window.giveBack(slot.next.ordinals);
    state.slots[worker] = { phase: "rolling-back", run: slot.run };
    state.lockBreaks++;
    effects.push({ type: "rollback", worker, run: slot.run });
  }
}

function resize(state: SchedulerState, count: number): void {
  assert(count >= 1, "there is always a worker");
  state.wantedWorkers = count;
  for (let worker = 0; worker < count; worker++) {
    if (state.slots[worker] === undefined || state.slots[worker]?.phase === "retired") state.slots[worker] = ABSENT;
    state.times[worker] ??= noTimes();
  }
}

function retire(state: SchedulerState, effects: SchedulerEffect[]): void {
  for (let worker = state.wantedWorkers; worker < state.slots.length; worker++) {
    const { phase } = slotOf(state, worker);
    if (phase !== "idle" && phase !== "absent") continue;
    state.slots[worker] = RETIRED;
    effects.push({ type: "retire", worker });
  }
}

function retry(state: SchedulerState, nowMs: number, effects: SchedulerEffect[]): void {
  for (const [worker, slot] of state.slots.entries()) {
    if (slot.phase !== "backing-off") continue;
    if (state.draining) {
      state.window.giveBack(slot.run.ordinals);
      state.slots[worker] = slot.sessionUp ? IDLE : ABSENT;
      continue;
    }
    if (!slot.sessionUp || slot.retryAtMs > nowMs || (slot.forTurn && !isItsTurn(state, slot.run))) continue;
    execute(state, worker, slot.run, nowMs, effects);
  }
}

function giveTurns(state: SchedulerState, nowMs: number, effects: SchedulerEffect[]): void {
  for (const [worker, slot] of state.slots.entries()) {
    if (slot.phase !== "waiting") continue;
    if (state.options.commitOrder === "preserve" && !isItsTurn(state, slot.run)) continue;
    if (state.draining && slot.next !== undefined) state.window.giveBack(slot.next.ordinals);
    const next = state.draining ? undefined : (slot.next ?? goOnWith(state, worker, slot.run, nowMs));
    state.slots[worker] = { phase: "committing", run: slot.run, next };
    effects.push({ type: "commit", worker, run: slot.run, next });
  }
}

function goOnWith(state: SchedulerState, worker: number, current: Run, nowMs: number): Run | undefined {
  const packed = worker < state.wantedWorkers ? packAfter(state, current, nowMs) : undefined;
  return packed === undefined ? undefined : claim(state, packed);
}

function dispatch(state: SchedulerState, nowMs: number, effects: SchedulerEffect[]): void {
  state.stuck = false;
  if (state.draining) return;
  // The lowest number first: what waits for all before it finds everybody idle, so statements, and the temporary tables that they make, are always worker 0's.
  for (let worker = 0; worker < state.wantedWorkers; worker++) {
    if (slotOf(state, worker).phase !== "idle") continue;
    const packed = nextPack(state, nowMs);
    if (packed === undefined) {
      state.stuck = state.window.readyAfter(0) !== undefined;
      break;
    }
    execute(state, worker, claim(state, packed), nowMs, effects);
  }
  // Those that stay may all have runs that wait for what is behind the low-water mark: then one that was to go begins it, or nobody ever would.
  const { window } = state;
  const isBehindMarkPending = window.has(window.lowWater + 1) && window.at(window.lowWater + 1).phase === "pending";
  const leaving = isBehindMarkPending ? state.slots.findIndex(({ phase }) => phase === "idle") : -1;
  const packed = leaving < 0 ? undefined : nextPack(state, nowMs);
  if (packed !== undefined) execute(state, leaving, claim(state, packed), nowMs, effects);
  for (let worker = 0; worker < state.wantedWorkers; worker++) {
    const slot = slotOf(state, worker);
    if (slot.phase !== "executing" || slot.next !== undefined) continue;
    const packed = packBehind(state, slot.run);
    if (packed === undefined) continue;
    const run = claim(state, packed);
    state.slots[worker] = { ...slot, next: run };
    effects.push({ type: "prepare", worker, run });
  }
}

function claim(state: SchedulerState, { ordinals, bytes, rows }: Packed): Run {
  const id = state.nextRunId++;
  const first = ordinals[0];
  const last = ordinals.at(-1);
  assert(first !== undefined && last !== undefined, "a run has a transaction");
  state.window.claim(ordinals, id);
  return { id, ordinals, first, last, bytes, rows, attempt: 1, atTurn: false, resolve: false };
}

function execute(state: SchedulerState, worker: number, claimed: Run, nowMs: number, effects: SchedulerEffect[]): void {
  const run = { ...claimed, atTurn: isItsTurn(state, claimed) };
  state.slots[worker] = executing(run, nowMs);
  effects.push({ type: "execute", worker, run });
}

const executing = (run: Run, nowMs: number): WorkerSlot => ({
  phase: "executing",
  run,
  sinceMs: nowMs,
  next: undefined,
});

/** Everything before it is committed. */
const isItsTurn = ({ window }: SchedulerState, run: Run): boolean => run.first === window.lowWater + 1;

/** Tells when time alone will change something. */
function wake(state: SchedulerState, nowMs: number, effects: SchedulerEffect[]): void {
  let atMs = Infinity;
  for (const slot of state.slots) {
    if (slot.phase === "backing-off" && slot.sessionUp && slot.retryAtMs > nowMs) atMs = Math.min(atMs, slot.retryAtMs);
    if (state.stuck && slot.phase === "executing" && slot.sinceMs + PATIENCE_MS > nowMs) {
      if (state.window.readyAfter(0) !== undefined) atMs = Math.min(atMs, slot.sinceMs + PATIENCE_MS);
    }
  }
  if (atMs === Infinity || (state.wakeAtMs > nowMs && state.wakeAtMs <= atMs)) return;
  state.wakeAtMs = atMs;
  effects.push({ type: "wake", atMs });
}

/** What a run adds to the experience fades by a quarter with each later one: a slow run (a lock, a busy target) is forgotten soon. */
const FADING = 0.75;

function learn(state: SchedulerState, run: Run, tookMs: number): void {
  const { ms, bytes } = state.spent;
  state.spent = { ms: ms * FADING + tookMs, bytes: bytes * FADING + run.bytes };
}

function slotOf(state: SchedulerState, worker: number): WorkerSlot {
  const slot = state.slots[worker];
  assert(slot !== undefined, "the worker exists");
  return slot;
}
