import type { Run } from "../../src/schedule/scheduler-types.ts";
import type { Change, Rows } from "./scheduler-model.ts";

export type Phase = "idle" | "executing" | "executed" | "committing" | "rolling-back";

/** A session on the target, as the engine's worker uses it. */
export interface Session {
  isUp: boolean;
  isRetired: boolean;
  phase: Phase;
  run: Run | undefined;
  changes: readonly Change[];
  done: number;
  undos: (() => void)[];
  locks: Map<string, boolean>;
  prepared: Run | undefined;
  /** While it commits: what it goes on with. */
  next: Run | undefined;
  /** Its commit is done and not told; `run` is what followed it. */
  untold: Run | undefined;
}

export const noSession = (): Session => ({
  isUp: false,
  isRetired: false,
  phase: "idle",
  run: undefined,
  changes: [],
  done: 0,
  undos: [],
  locks: new Map(),
  prepared: undefined,
  next: undefined,
  untold: undefined,
});

export function release(session: Session): void {
  session.undos = [];
  session.locks.clear();
}

export function undo(session: Session): void {
  for (const each of session.undos.toReversed()) each();
  release(session);
}

/** Those that have a lock which the next change of `worker` needs. */
export function blockersOf(worker: number, sessions: readonly Session[], rows: Rows): number[] {
  const session = sessions[worker];
  const change = session?.phase === "executing" ? session.changes[session.done] : undefined;
  if (change === undefined) return [];
  const wanted = rows.locks(change);
  return [...sessions.keys()].filter(
    (other) =>
      other !== worker &&
      wanted.some(({ name, exclusive }) => {
        const theirs = sessions[other]?.locks.get(name);
        return theirs !== undefined && (exclusive || theirs);
      }),
  );
}

/** A circle of lock waits, which a target finds by itself. */
export function isDeadlocked(worker: number, sessions: readonly Session[], rows: Rows): boolean {
  const seen = new Set<number>();
  const leadsBack = (from: number): boolean =>
    blockersOf(from, sessions, rows).some((next) => {
      if (next === worker) return true;
      if (seen.has(next)) return false;
      seen.add(next);
      return leadsBack(next);
    });
  return leadsBack(worker);
}

export const isAtWork = ({ phase, untold }: Session): boolean =>
  untold !== undefined || (phase !== "idle" && phase !== "executed");
