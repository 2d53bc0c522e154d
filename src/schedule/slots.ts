import type { Run } from "./scheduler-types.ts";

/**
 * What a worker does:
 * - `absent`: its session is not up. `retired`: not wanted. `idle`: has nothing to do.
 * - `executing`: `next` is what it goes on with after its commit.
 * - `waiting`: executed, waits for its turn. `rolling-back`: was told to give its locks back.
 * - `backing-off`: will be tried again at `retryAtMs`, when the session is back, and, with `forTurn`, when everything before is committed.
 */
export type WorkerSlot =
  | { phase: "absent" | "retired" | "idle"; run: undefined }
  | { phase: "executing"; run: Run; sinceMs: number; next: Run | undefined }
  | { phase: "waiting" | "committing"; run: Run; next: Run | undefined }
  | { phase: "rolling-back"; run: Run }
  | { phase: "backing-off"; run: Run; retryAtMs: number; forTurn: boolean; sessionUp: boolean };

export const IDLE: WorkerSlot = { phase: "idle", run: undefined };
export const ABSENT: WorkerSlot = { phase: "absent", run: undefined };
export const RETIRED: WorkerSlot = { phase: "retired", run: undefined };

export const isAtWork = ({ phase }: WorkerSlot): boolean =>
  phase === "executing" || phase === "committing" || phase === "rolling-back";

/** Why a worker was not applying, or that it was. */
export const WORKER_TIMES = [
  "event",
  "dependency",
  "executing",
  "precedingCommit",
  "committing",
  "retry",
  "connection",
] as const;

export type WorkerTime = (typeof WORKER_TIMES)[number];

/** Milliseconds, by what a worker did. */
export type WorkerTimes = Record<WorkerTime, number>;

export const noTimes = (): WorkerTimes =>
  Object.fromEntries(WORKER_TIMES.map((time) => [time, 0])) as Record<WorkerTime, number>;

/** `isQueueEmpty`: no transaction is without a run. */
export function timeOf(slot: WorkerSlot, isQueueEmpty: boolean): WorkerTime | undefined {
  switch (slot.phase) {
    case "absent":
      return "connection";
    case "retired":
      return undefined;
    case "idle":
      return isQueueEmpty ? "event" : "dependency";
    case "executing":
      return "executing";
    case "waiting":
      return "precedingCommit";
    case "committing":
      return "committing";
    case "rolling-back":
      return "retry";
    case "backing-off":
      return slot.sessionUp ? "retry" : "connection";
  }
}
