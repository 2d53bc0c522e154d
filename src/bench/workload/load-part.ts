import { setTimeout as sleep } from "node:timers/promises";
import { type ErrorCode, ReplicationError } from "../../base/error.ts";
import { createPrng } from "../../base/prng.ts";
import type { LoadOptions } from "./load.ts";
import { LoadSession } from "./load-session.ts";
import type { LoadTally } from "./load-statistics.ts";
import { statementText } from "./statement.ts";
import type { StatementList, Workload } from "./workload.ts";

/** Those threads of a load that run in one thread of this process. */
export interface Part {
  /** All sessions, or none. */
  connect(): Promise<void>;
  /** Until the load ends, and the sessions are closed. Rejects with the first error that is not worth a retry. */
  run(): Promise<void>;
  /** Lets the transactions at work end and starts no more. */
  stop(): void;
}

export interface PartOptions extends Omit<LoadOptions, "threads" | "onInterval" | "intervalMs"> {
  /** Numbers of its threads. */
  threads: readonly number[];
  tally: LoadTally;
  /** The number of the next transaction, counted over all parts. */
  take: () => number;
}

const RECONNECT_PAUSE_MS = 100;

export class LocalPart implements Part {
  readonly #options: PartOptions;
  readonly #ended = new AbortController();
  #sessions: LoadSession[] = [];
  #startMs = 0;

  constructor(options: PartOptions) {
    this.#options = options;
  }

  async connect(): Promise<void> {
    const results = await Promise.allSettled(this.#options.threads.map((thread) => this.#connect(thread)));
    const sessions = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
    const failure = results.find((result) => result.status === "rejected");
    if (failure !== undefined) {
      await Promise.all(sessions.map((session) => session.close()));
      throw failure.reason;
    }
    this.#sessions = sessions;
    this.#options.tally.threads = sessions.length;
  }

  async run(): Promise<void> {
    this.#startMs = performance.now();
    const results = await Promise.allSettled(
      this.#sessions.map((session, index) =>
        this.#runThread(session, index).catch((error: unknown) => {
          this.stop();
          throw error;
        }),
      ),
    );
    const failure = results.find((result) => result.status === "rejected");
    if (failure !== undefined) throw failure.reason;
  }

  stop(): void {
    this.#ended.abort();
  }

  #elapsedMs(): number {
    return performance.now() - this.#startMs;
  }

  async #connect(thread: number): Promise<LoadSession> {
    const { address, schema, tally } = this.#options;
    const own = typeof schema === "string" ? schema : schema[thread % schema.length];
    const session = await LoadSession.connect(address);
    try {
      await session.query(`USE \`${own}\``);
    } catch (error) {
      await session.close();
      throw error;
    }
    session.countIn(tally);
    return session;
  }

  async #runThread(first: LoadSession, index: number): Promise<void> {
    const { workload, seed, threads, tally } = this.#options;
    const thread = threads[index] ?? 0;
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
        tally.committed(index, this.#elapsedMs() - beginMs);
      }
    } finally {
      tally.threads--;
      await session.close();
    }
  }

  /** Takes one transaction of the common count; resolves when it is due, to the time at which it was; to undefined when there is none left. */
  async #take(): Promise<number | undefined> {
    const { transactions, ratePerSecond, seconds, take } = this.#options;
    const number = take();
    if (transactions !== undefined && number >= transactions) return undefined;
    let beginMs = this.#elapsedMs();
    if (ratePerSecond !== undefined) {
      const dueMs = (number * 1000) / ratePerSecond;
      // Nobody needs to wait for what will be due after the end.
      const untilMs = Math.min(dueMs, seconds === undefined ? Infinity : seconds * 1000);
      if (untilMs > beginMs) await sleep(untilMs - beginMs, undefined, { signal: this.#ended.signal }).catch(() => {});
      beginMs = dueMs;
    }
    const isOver = this.#ended.signal.aborted || (seconds !== undefined && this.#elapsedMs() >= seconds * 1000);
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
        this.#options.tally.errors++;
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
    const { signal } = this.#ended;
    while (!signal.aborted) {
      try {
        const session = await this.#connect(thread);
        this.#options.tally.reconnects++;
        return session;
      } catch (error) {
        if (!hasCode(error, "CONNECT") && !hasCode(error, "CONNECTION_LOST")) throw error;
        await sleep(RECONNECT_PAUSE_MS, undefined, { signal }).catch(() => {});
      }
    }
    return undefined;
  }
}

function hasCode(error: unknown, code: ErrorCode): boolean {
  return error instanceof ReplicationError && error.code === code;
}
