import type { SchedulerState } from "../schedule/scheduler.ts";
import { timesAt } from "../schedule/times.ts";
import type { CriticalPathReport } from "./critical-path.ts";
import type { LagReport } from "./lag-curve.ts";
import type { SessionTimes, TargetSession } from "./target-session.ts";

/** Seconds of all workers together, by what kept them from applying. */
export interface Waits {
  /** Nothing that was there could begin: it depended on what was at work. */
  dependency: number;
  /** Executed, and waiting for its turn. */
  commitOrder: number;
  /** The engine's thread had not yet come to it. */
  engine: number;
  /** Its commit was on the way to the disk. */
  flush: number;
  /** Others had the cores. */
  cores: number;
  /** Questions and answers on the wire. */
  network: number;
  /** Another session had the row; rolled back and tried again. */
  locks: number;
  /** Nothing was there. */
  emptyQueue: number;
}

export interface CellResult {
  policy: string;
  workers: number;
  commitOrder: "preserve" | "relaxed";
  /** Transactions of a run at most. */
  packing: number;
  transactions: number;
  rows: number;
  /** Transactions of the target. */
  runs: number;
  flushes: number;
  /** The disk was at work. */
  flushSeconds: number;
  lockBreaks: number;
  predictedSeconds: number;
  transactionsPerSecond: number;
  /** Executing or committing, over the whole time. */
  meanBusyWorkers: number;
  waits: Waits;
  /** Seconds in which a worker's session computed. */
  workSeconds: number;
  /** Of the engine's process, and of its one thread. */
  engineCpuSeconds: number;
  engineThreadSeconds: number;
  targetCpuSeconds: number;
  criticalPath: CriticalPathReport;
  lag: LagReport;
}

/** By the scheduler's own times, as `abreast status` shows them, and by what the sessions met while they were at work. */
export function timesOf(
  sessions: readonly TargetSession[],
  scheduler: SchedulerState | undefined,
  lastCommitUs: number,
): { busySeconds: number; workSeconds: number; waits: Waits } {
  const session: SessionTimes = { computing: 0, cores: 0, network: 0, flush: 0, lock: 0 };
  for (const { times } of sessions) {
    for (const name of Object.keys(session) as (keyof SessionTimes)[]) session[name] += times[name] / 1e6;
  }
  const ms = { busy: 0, dependency: 0, event: 0, precedingCommit: 0, retry: 0 };
  for (const worker of sessions.keys()) {
    if (scheduler === undefined) break;
    const times = timesAt(scheduler, worker, lastCommitUs / 1000);
    ms.busy += times.executing + times.committing;
    ms.dependency += times.dependency;
    ms.event += times.event;
    ms.precedingCommit += times.precedingCommit;
    ms.retry += times.retry;
  }
  const met = session.computing + session.cores + session.network + session.flush + session.lock;
  return {
    busySeconds: ms.busy / 1000,
    workSeconds: session.computing,
    waits: {
      dependency: ms.dependency / 1000,
      commitOrder: ms.precedingCommit / 1000,
      engine: Math.max(0, ms.busy / 1000 - met),
      flush: session.flush,
      cores: session.cores,
      network: session.network,
      locks: session.lock + ms.retry / 1000,
      emptyQueue: ms.event / 1000,
    },
  };
}
