import type { LockWait } from "../apply/lock-waits.ts";
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { Run } from "../schedule/scheduler-types.ts";
import type { WorkerSlot } from "../schedule/slots.ts";

/** A run that executes for so long may be waiting for a lock: the first question; with every one that was for nothing the next one takes twice as long. */
const ASK_AFTER_MS = { first: 10, max: 1_000 };
/** Where the target cannot say who waits for whom: a run executes for so long while later ones wait for their turn. Twice as long with each time. */
const GUESS_AFTER_MS = 100;

export interface LockBreakerOptions {
  slots: () => readonly WorkerSlot[];
  /** By worker; undefined while it has no session. */
  connectionIds: () => readonly (number | undefined)[];
  /** Undefined: the target cannot say. */
  readLockWaits: (connectionIds: readonly number[]) => Promise<readonly LockWait[] | undefined>;
  onLockWait: (waiter: number, blockers: readonly number[]) => void;
  clock: Clock;
  log: Log;
}

/**
 * With the commit order preserved, a transaction that waits for a lock of a later one waits for ever: the later one waits for its turn. The target knows the locks, not the turns; the
 * scheduler knows the turns, not the locks. This asks the one and tells the other, and only when somebody executes for suspiciously long while a later one has something.
 */
export class LockBreaker {
  readonly #options: LockBreakerOptions;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  /** The run that the last question was for, and when the next one is due. */
  #suspect: { runId: number; attempt: number; waitMs: number } | undefined;
  #toldCannot = false;

  constructor(options: LockBreakerOptions) {
    this.#options = options;
  }

  /** Something changed: looks after a while whether somebody hangs. */
  arm(): void {
    if (this.#timer !== undefined || this.#isStopped || this.#earliest() === undefined) return;
    this.#timer = setTimeout(() => void this.#look(), ASK_AFTER_MS.first);
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  /** The earliest run that executes while a later one holds what it has. */
  #earliest(): { worker: number; run: Run; sinceMs: number } | undefined {
    let earliest: { worker: number; run: Run; sinceMs: number } | undefined;
    let latest = 0;
    for (const [worker, slot] of this.#options.slots().entries()) {
      if (slot.phase !== "executing" && slot.phase !== "waiting") continue;
      latest = Math.max(latest, slot.run.first);
      if (slot.phase !== "executing" || (earliest !== undefined && earliest.run.first < slot.run.first)) continue;
      earliest = { worker, run: slot.run, sinceMs: slot.sinceMs };
    }
    return earliest !== undefined && earliest.run.first < latest ? earliest : undefined;
  }

  async #look(): Promise<void> {
    const { clock, log } = this.#options;
    try {
      const earliest = this.#earliest();
      if (earliest === undefined) return;
      const { run } = earliest;
      if (this.#suspect?.runId !== run.id || this.#suspect.attempt !== run.attempt) {
        this.#suspect = { runId: run.id, attempt: run.attempt, waitMs: ASK_AFTER_MS.first };
      }
      if (clock.nowMs() - earliest.sinceMs < this.#suspect.waitMs) return;
      this.#suspect.waitMs = Math.min(this.#suspect.waitMs * 2, ASK_AFTER_MS.max);
      await this.#ask(earliest);
    } catch (error) {
      log.warn(`the target was not asked for lock waits: ${error instanceof Error ? error.message : String(error)}`);
    } finally {
      this.#timer = undefined;
      this.arm();
    }
  }

  async #ask(earliest: { worker: number; run: Run; sinceMs: number }): Promise<void> {
    const { connectionIds, readLockWaits, onLockWait, slots, clock, log } = this.#options;
    const ids = connectionIds();
    const waits = await readLockWaits(ids.filter((id) => id !== undefined));
    if (waits !== undefined) {
      for (const [waiter, blockers] of byWaiter(waits, ids)) onLockWait(waiter, blockers);
      return;
    }
    if (!this.#toldCannot) {
      log.warn("the target does not say which session waits for which: who may hold a lock is found by waiting", {
        limitMs: GUESS_AFTER_MS,
      });
    }
    this.#toldCannot = true;
    if (clock.nowMs() - earliest.sinceMs < GUESS_AFTER_MS) return;
    const later = [...slots().entries()].filter(
      ([, slot]) => slot.phase === "waiting" && slot.run.first > earliest.run.first,
    );
    if (later.length > 0)
      onLockWait(
        earliest.worker,
        later.map(([worker]) => worker),
      );
  }
}

function byWaiter(waits: readonly LockWait[], ids: readonly (number | undefined)[]): Map<number, number[]> {
  const blockersOf = new Map<number, number[]>();
  for (const { waiting, blocking } of waits) {
    const [waiter, blocker] = [ids.indexOf(waiting), ids.indexOf(blocking)];
    if (waiter < 0 || blocker < 0) continue;
    const blockers = blockersOf.get(waiter);
    if (blockers === undefined) blockersOf.set(waiter, [blocker]);
    else blockers.push(blocker);
  }
  return blockersOf;
}
