import { systemClock } from "../base/clock.ts";
import { ReplicationError } from "../base/error.ts";
import type { PausePosition } from "../engine/status.ts";
import type { ControlClient } from "./client.ts";

export interface GateOptions {
  /** How long the engine may take, both waits together, to get to where it is asked to be. */
  waitMsMax: number;
  /** Told of a wait that lasts, again and again. */
  onWaiting?: ((wait: GateWait) => void) | undefined;
  /** Ends the wait, and lets the engine go. */
  signal?: AbortSignal | undefined;
}

export interface GateWait {
  /** Without one: for what is being applied. */
  position: PausePosition | undefined;
  /** Of the engine; undefined: not known. */
  lagMs: number | undefined;
  waitedMs: number;
}

/** An engine that is close gets there before one could read that it is waited for. */
const TELL_AFTER_MS = 2_000;
const TELL_EVERY_MS = 1_000;

/**
 * What a comparison under load needs of a running engine: `hold` stops applying where it is, `pauseAt` goes on to exactly a position, `resume` lets go.
 *
 * Invariant: every pause made here hangs on a connection of this process. Should the comparison be killed, the engine resumes by itself; an engine that
 * stayed paused because of a comparison would be an outage.
 */
export class EngineGate {
  readonly #client: ControlClient;
  readonly #options: GateOptions;
  readonly #holds: { release(): void }[] = [];
  #deadlineMs: number | undefined;

  constructor(client: ControlClient, options: GateOptions) {
    this.#client = client;
    this.#options = options;
  }

  /** @throws ReplicationError as `pauseAt` */
  hold(): Promise<void> {
    return this.#waitFor(undefined);
  }

  /** @throws ReplicationError NOT_REACHED when time is up, STOPPED when the signal is aborted, and those of the client */
  pauseAt({ file, position, gtids }: PausePosition): Promise<void> {
    return this.#waitFor({ file, position, gtids });
  }

  async resume(): Promise<void> {
    try {
      // Who is in a hurry only cuts the connections, which comes to the same.
      if (this.#holds.length > 0 && this.#options.signal?.aborted !== true) await this.#client.resume();
    } finally {
      for (const hold of this.#holds.splice(0)) hold.release();
    }
  }

  async #waitFor(position: PausePosition | undefined): Promise<void> {
    const { waitMsMax, signal } = this.#options;
    const startedMs = systemClock.nowMs();
    this.#deadlineMs ??= startedMs + waitMsMax;
    const late = new AbortController();
    const deadline = setTimeout(() => late.abort(), Math.max(0, this.#deadlineMs - startedMs));
    const endTelling = this.#tellOf(position, startedMs);
    try {
      const ends = signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]);
      this.#holds.push(await this.#client.hold(position, ends));
    } catch (error) {
      throw late.signal.aborted && signal?.aborted !== true ? this.#notReached(position, error) : error;
    } finally {
      clearTimeout(deadline);
      endTelling();
    }
  }

  /** @returns ends it. An engine that does not even tell its lag is waited for all the same. */
  #tellOf(position: PausePosition | undefined, startedMs: number): () => void {
    const { onWaiting } = this.#options;
    if (onWaiting === undefined) return () => {};
    let lagMs: number | undefined;
    let isAsking = false;
    const ask = async (): Promise<void> => {
      isAsking = true;
      lagMs = (await this.#client.status().catch(() => undefined))?.lagMs;
      isAsking = false;
    };
    const tick = (): void => {
      const waitedMs = systemClock.nowMs() - startedMs;
      if (!isAsking) void ask();
      if (waitedMs >= TELL_AFTER_MS) onWaiting({ position, lagMs, waitedMs });
    };
    const timer = setInterval(tick, TELL_EVERY_MS);
    return () => clearInterval(timer);
  }

  #notReached(position: PausePosition | undefined, cause: unknown): ReplicationError {
    const seconds = Math.round(this.#options.waitMsMax / 100) / 10;
    const what =
      position === undefined ? "the engine did not finish what it applies" : "the engine did not apply up to here";
    return new ReplicationError("NOT_REACHED", `${what} within ${seconds} s`, {
      ...(position === undefined ? {} : { where: { file: position.file, position: position.position } }),
      hint: "look at abreast status for what keeps it from applying; --wait gives it more time",
      cause,
    });
  }
}
