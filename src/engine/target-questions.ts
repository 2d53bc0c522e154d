import type { Log } from "../base/log.ts";
import { ReplicationError } from "../base/error.ts";
import type { Session } from "../wire/session.ts";

const RETRY_MS = { first: 200, max: 5_000 };

/** Asks the target, again after every loss of the session, until the engine stops. */
export class TargetQuestions {
  readonly #session: () => Session;
  readonly #log: Log;
  readonly #signal: AbortSignal;

  /** `session`: the one of the moment. `signal`: the engine stops. */
  constructor({ session, log, signal }: { session: () => Session; log: Log; signal: AbortSignal }) {
    this.#session = session;
    this.#log = log;
    this.#signal = signal;
  }

  /** @throws ReplicationError STOPPED when the engine stops; what the server answers, when asking again cannot help */
  async ask<T>(question: (session: Session) => Promise<T>): Promise<T> {
    for (let waitMs = RETRY_MS.first; ; waitMs = Math.min(2 * waitMs, RETRY_MS.max)) {
      const session = this.#session();
      try {
        return await this.#unlessStopped(question(session));
      } catch (error) {
        if (this.#signal.aborted || !(error instanceof ReplicationError)) throw error;
        // A session that was given up for another is STOPPED, the engine is not.
        if (error.retry === "never" && error.code !== "STOPPED") throw error;
        this.#log.warn("the target's schema cannot be read now", { error: error.message });
        let timer: NodeJS.Timeout | undefined;
        const wait = new Promise<void>((resolve) => (timer = setTimeout(resolve, waitMs)));
        await this.#unlessStopped(wait).finally(() => clearTimeout(timer));
      }
    }
  }

  #unlessStopped<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const stop = (): void => reject(new ReplicationError("STOPPED", "the engine was stopped"));
      work.then(resolve, reject).finally(() => this.#signal.removeEventListener("abort", stop));
      if (this.#signal.aborted) stop();
      else this.#signal.addEventListener("abort", stop, { once: true });
    });
  }
}
