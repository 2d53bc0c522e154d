import { assert } from "../base/assert.ts";
import type { SchedulerState } from "./scheduler.ts";
import { timeOf, type WorkerTimes } from "./slots.ts";

/** Adds the time since the last step to what each worker was at, and to how many were at work. */
export function countTime(state: SchedulerState, nowMs: number): void {
  const ms = state.lastStepMs < 0 ? 0 : nowMs - state.lastStepMs;
  state.lastStepMs = nowMs;
  if (ms <= 0) return;
  const isQueueEmpty = state.window.pendingTransactions === 0;
  let running = 0;
  for (const [worker, slot] of state.slots.entries()) {
    const time = timeOf(slot, isQueueEmpty);
    if (time !== undefined) timesOf(state, worker)[time] += ms;
    if (time === "executing" || time === "committing") running++;
  }
  if (running === 0) return;
  state.concurrency.ms += ms;
  state.concurrency.runMs += ms * running;
}

/** What a worker did up to now, also since the last step. */
export function timesAt(state: SchedulerState, worker: number, nowMs: number): WorkerTimes {
  const times = { ...timesOf(state, worker) };
  const slot = state.slots[worker];
  const time = slot === undefined ? undefined : timeOf(slot, state.window.pendingTransactions === 0);
  if (time !== undefined && state.lastStepMs >= 0) times[time] += Math.max(0, nowMs - state.lastStepMs);
  return times;
}

function timesOf(state: SchedulerState, worker: number): WorkerTimes {
  const times = state.times[worker];
  assert(times !== undefined, "the worker exists");
  return times;
}
