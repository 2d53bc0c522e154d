import { setTimeout as sleep } from "node:timers/promises";
import { assert } from "../../base/assert.ts";
import { type ErrorCode, ReplicationError } from "../../base/error.ts";
import { createPrng } from "../../base/prng.ts";
import type { ServerAddress } from "../../base/server-url.ts";
import { withRemedy } from "./data.ts";
import { type LoadCounts, type LoadInterval, LoadStatistics, type LoadSummary } from "./load-statistics.ts";
import { LoadSession } from "./load-session.ts";
import { statementText } from "./statement.ts";
import type { StatementList, Workload } from "./workload.ts";

export type { LoadCounts, LoadInterval, LoadSummary } from "./load-statistics.ts";

export interface LoadOptions {
  address: ServerAddress;
  /** Default schema of the sessions; must exist. Of several the threads take one each, in turn, and stay with it. */
  schema: string | readonly string[];
  workload: Workload;
  /** Same seed, same rows, and the same transactions in each thread. */
  seed: number;
  threads: number;
  /**
   * `together` (the default): a transaction in one round trip, for backlogs that are to be made fast. `one-by-one`: each statement in a round trip of its own, prepared, as sysbench
   * and applications do.
   */
  statements?: "together" | "one-by-one";
  /** The load ends after this many transactions or seconds, or when no thread has any left, whichever comes first; else when `stop` is called. */
  transactions?: number;
  seconds?: number;
  /** Transactions per second of all threads together, evenly spaced; without it as fast as the server goes. */
  ratePerSecond?: number;
  /** A lost connection is made again, and its transaction too (which may have been committed); without it the load ends. */
  reconnect?: boolean;
  onInterval?: (interval: LoadInterval) => void;
  /** Milliseconds between two calls of `onInterval`. */
  intervalMs?: number;
}

export interface Load {
  counts(): LoadCounts;
  /** Lets the transactions at work end and starts no more. */
  stop(): void;
  /** Rejects with the first error that is not worth a retry. */
  done: Promise<LoadSummary>;
}

const RECONNECT_PAUSE_MS = 100;

/** Starts the threads: one session each, all transactions taken from one common count, as in sysbench. The time begins when all are connected. */
export function startLoad(options: LoadOptions): Load {
  assert(options.threads > 0, "a load needs a thread");
  const stopped = new AbortController();
  const run = new LoadRun(options, stopped.signal);
  return {
    counts: () => ({ ...run.statistics.counts }),
    stop: () => stopped.abort(),
    done: run.toItsEnd().catch((error: unknown) => {
      throw withRemedy(error);
    }),
  };
}

class LoadRun {
  readonly statistics: LoadStatistics;
  readonly #options: LoadOptions;
  readonly #failed = new AbortController();
  readonly #ended: AbortSignal;
  #startMs = 0;
  #taken = 0;

  constructor(options: LoadOptions, stopped: AbortSignal) {
    this.#options = options;
    this.#ended = AbortSignal.any([stopped, this.#failed.signal]);
    this.statistics = new LoadStatistics(options.threads);
  }

  async toItsEnd(): Promise<LoadSummary> {
    const sessions = await this.#connectAll();
    this.#startMs = performance.now();
    this.statistics.threads = sessions.length;
    const { onInterval, intervalMs } = this.#options;
    const reporting =
      onInterval === undefined
        ? undefined
        : setInterval(() => onInterval(this.statistics.interval(this.#elapsedMs())), intervalMs ?? 1000);
    try {
      await Promise.all(
        sessions.map((session, thread) =>
          this.#runThread(session, thread).catch((error: unknown) => {
            this.#failed.abort();
            throw error;
          }),
        ),
      );
      return this.statistics.summary(this.#elapsedMs());
    } finally {
      clearInterval(reporting);
    }
  }

  #elapsedMs(): number {
    return performance.now() - this.#startMs;
  }

  async #connectAll(): Promise<LoadSession[]> {
    const results = await Promise.allSettled(
      Array.from({ length: this.#options.threads }, (_, thread) => this.#connect(thread)),
    );
    const sessions = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
    const failure = results.find((result) => result.status === "rejected");
    if (failure === undefined) return sessions;
    await Promise.all(sessions.map((session) => session.close()));
    throw failure.reason;
  }

  async #connect(thread: number): Promise<LoadSession> {
    const { schema } = this.#options;
    const own = typeof schema === "string" ? schema : schema[thread % schema.length];
    const session = await LoadSession.connect(this.#options.address);
    try {
      await session.query(`USE \`${own}\``);
    } catch (error) {
      await session.close();
      throw error;
    }
    session.countIn(this.statistics.counts);
    return session;
  }

  async #runThread(first: LoadSession, thread: number): Promise<void> {
    const { workload, seed } = this.#options;
    let session = first;
    try {
      const next = workload.thread(createPrng(seed, thread), thread);
      for (;;) {
        const beginMs = await this.#take();
        if (beginMs === undefined) return;
        let outcome = await this.#runTransaction(session, next);
        while (outcome === "lost") {
          const again = await this.#reconnect(thread);
          if (again === undefined) return;
          session = again;
          outcome = await this.#runTransaction(session, next);
        }
        if (outcome === "none left") return;
        this.statistics.committed(thread, this.#elapsedMs() - beginMs);
      }
    } finally {
      this.statistics.threads--;
      await session.close();
    }
  }

  /** Takes one transaction of the common count; resolves when it is due, to the time at which it was; to undefined when there is none left. */
  async #take(): Promise<number | undefined> {
    const { transactions, ratePerSecond, seconds } = this.#options;
    if (transactions !== undefined && this.#taken >= transactions) return undefined;
    const number = this.#taken++;
    let beginMs = this.#elapsedMs();
    if (ratePerSecond !== undefined) {
      const dueMs = (number * 1000) / ratePerSecond;
      // Nobody needs to wait for what will be due after the end.
      const untilMs = Math.min(dueMs, seconds === undefined ? Infinity : seconds * 1000);
      if (untilMs > beginMs) await sleep(untilMs - beginMs, undefined, { signal: this.#ended }).catch(() => {});
      beginMs = dueMs;
    }
    const isOver = this.#ended.aborted || (seconds !== undefined && this.#elapsedMs() >= seconds * 1000);
    return isOver ? undefined : beginMs;
  }

  /** Like sysbench, a transaction that the server rolled back is made anew with other values until one commits. */
  async #runTransaction(
    session: LoadSession,
    next: ReturnType<Workload["thread"]>,
  ): Promise<"committed" | "none left" | "lost"> {
    for (;;) {
      const statements = next();
      if (statements === undefined) return "none left";
      try {
        await this.#send(session, statements);
        return "committed";
      } catch (error) {
        if (hasCode(error, "CONNECTION_LOST") && this.#options.reconnect === true) return "lost";
        if (!hasCode(error, "APPLY_TEMPORARY")) throw error;
        this.statistics.counts.errors++;
        await session.query("ROLLBACK");
      }
    }
  }

  async #send(session: LoadSession, statements: StatementList): Promise<void> {
    if (this.#options.statements === "one-by-one") {
      for (const statement of statements) await session.run(statement);
    } else {
      await session.query(statements.map(statementText).join(";"));
    }
  }

  /** Until the server is there again. @returns undefined when the load ended before */
  async #reconnect(thread: number): Promise<LoadSession | undefined> {
    while (!this.#ended.aborted) {
      try {
        const session = await this.#connect(thread);
        this.statistics.counts.reconnects++;
        return session;
      } catch (error) {
        if (!hasCode(error, "CONNECT") && !hasCode(error, "CONNECTION_LOST")) throw error;
        await sleep(RECONNECT_PAUSE_MS, undefined, { signal: this.#ended }).catch(() => {});
      }
    }
    return undefined;
  }
}

function hasCode(error: unknown, code: ErrorCode): boolean {
  return error instanceof ReplicationError && error.code === code;
}
