import { assert } from "../base/assert.ts";
import { systemClock } from "../base/clock.ts";
import { ReplicationError, type Retry } from "../base/error.ts";
import type { Log } from "../base/log.ts";
import type { ServerAddress } from "../base/server-url.ts";
import { describeId } from "../transaction/transaction.ts";
import { SqlError } from "../wire/sql-error.ts";
import { readCheckpoints } from "./checkpoint.ts";
import { executeJob, requireOwnRow } from "./execute.ts";
import type { Job } from "./job.ts";
import { openWorkerSession } from "./target-session.ts";
import { WorkerSession, type WorkerSettings } from "./worker-session.ts";

/** What a worker tells of its run. After `lost` it connects again by itself, and then tells `ready`. */
export interface WorkerEvents {
  ready(worker: number): void;
  lost(worker: number): void;
  executed(worker: number): void;
  committed(worker: number): void;
  failed(worker: number, retry: Retry, error: ReplicationError): void;
  /** Nothing that this engine does can help: another engine has the channel, the password is wrong. */
  fatal(error: ReplicationError): void;
}

export interface WorkerOptions {
  address: ServerAddress;
  settings: WorkerSettings;
  events: WorkerEvents;
  log: Log;
}

type Phase =
  | { name: "connecting" }
  | { name: "idle" }
  | { name: "executing"; job: Job }
  | { name: "executed"; job: Job; commit: string }
  | { name: "committing"; job: Job }
  | { name: "stopped" };

/** A target that restarts is back in seconds; one that is down is asked every few. */
const RECONNECT_MS = { first: 100, max: 5_000 };

/**
 * One session on the target that applies one run at a time: `execute`, then, when told, `commit`. Every run ends in exactly one of committed and failed, and failed
 * means that the target holds nothing of it: when the connection is lost during a commit, the checkpoint is read back to learn how it ended.
 * Telling failed for a run that had committed would apply it twice.
 */
export class Worker {
  readonly #options: WorkerOptions;
  #phase: Phase = { name: "connecting" };
  #session: WorkerSession | undefined;
  #sinceMs = systemClock.nowMs();
  #committedTransactions = 0;
  #retries = 0;
  #wakeSleeper: () => void = () => {};

  constructor(options: WorkerOptions) {
    this.#options = options;
  }

  get #worker(): number {
    return this.#options.settings.worker;
  }

  /** Connects, however long it takes. Resolves with the first session, or when stopped. */
  async start(): Promise<void> {
    const session = await this.#connect();
    if (session === undefined) return;
    this.#enter({ name: "idle" });
    this.#options.events.ready(this.#worker);
  }

  async execute(job: Job): Promise<void> {
    if (this.#phase.name === "stopped") return;
    const session = this.#session;
    if (job.run.attempt > 1) this.#retries++;
    assert(this.#phase.name === "idle" && session !== undefined, "a worker applies one run at a time");
    this.#enter({ name: "executing", job });
    try {
      const commit = await executeJob(session, job);
      this.#enter({ name: "executed", job, commit });
    } catch (error) {
      return this.#failed(session, job, error);
    }
    this.#options.events.executed(this.#worker);
  }

  async commit(): Promise<void> {
    if (this.#phase.name === "stopped") return;
    const session = this.#session;
    assert(this.#phase.name === "executed" && session !== undefined, "only an executed run commits");
    const { job, commit } = this.#phase;
    this.#enter({ name: "committing", job });
    try {
      const results = await session.session.execute(commit);
      if (commit !== "COMMIT" && session.settings.gtid === "own") requireOwnRow(session, results.at(-1)?.affectedRows);
    } catch (error) {
      if (session.session.closed) return this.#resolveCommit(job, error);
      return this.#failed(session, job, error);
    }
    this.#committed(job);
  }

  /** Ends at once. What is open is rolled back by the server; a commit that was sent may still happen, and the checkpoint tells. */
  async stop(): Promise<void> {
    const wasIdle = this.#phase.name === "idle";
    this.#enter({ name: "stopped" });
    this.#wakeSleeper();
    const session = this.#session?.session;
    if (session === undefined) return;
    session.onClosed = () => {};
    if (wasIdle) await session.close();
    else session.destroy();
  }

  status(): {
    phase: Phase["name"];
    sinceMs: number;
    job: Job | undefined;
    eventBytesSent: number;
    committedTransactions: number;
    retries: number;
  } {
    const phase = this.#phase;
    return {
      phase: phase.name,
      sinceMs: this.#sinceMs,
      job: "job" in phase ? phase.job : undefined,
      eventBytesSent: this.#session?.eventBytesSent ?? 0,
      committedTransactions: this.#committedTransactions,
      retries: this.#retries,
    };
  }

  #committed(job: Job): void {
    this.#committedTransactions += job.transactions.length;
    this.#enter({ name: "idle" });
    this.#options.events.committed(this.#worker);
  }

  async #failed(session: WorkerSession, job: Job, error: unknown): Promise<void> {
    if (this.#phase.name === "stopped") return;
    if (!(error instanceof ReplicationError)) return this.#options.events.fatal(asDefect(error));
    const first = job.transactions[0];
    const where = {
      worker: this.#worker,
      ...(first === undefined
        ? {}
        : { ...first.end, ...(first.id.kind === "anonymous" ? {} : { gtid: describeId(first.id) }) }),
    };
    const told = job.transactions.length === 1 ? error.at(where) : error.at({ worker: this.#worker });
    if (error.code === "FENCED") return this.#options.events.fatal(told);
    if (session.session.closed) return this.#sessionLost(told);
    const explained = error.retry === "never" ? await explain(session, job, told) : told;
    session.forgetSettings();
    try {
      await session.session.execute("ROLLBACK");
      await session.session.execute(session.gtidNext(undefined).join(";") || "DO 0");
    } catch {
      session.session.destroy();
      return this.#sessionLost(explained, explained.retry);
    }
    this.#enter({ name: "idle" });
    this.#options.events.failed(this.#worker, explained.retry, explained);
  }

  #sessionLost(error: ReplicationError, retry: Retry = "later"): Promise<void> | void {
    if (this.#phase.name === "stopped") return;
    this.#enter({ name: "connecting" });
    this.#options.events.failed(this.#worker, retry, error);
    this.#options.events.lost(this.#worker);
    return this.start();
  }

  /** The connection broke while COMMIT was on its way: the former session is waited for, then the target knows. */
  async #resolveCommit(job: Job, error: unknown): Promise<void> {
    this.#options.log.warn("the connection was lost during a commit: reading the checkpoint", { worker: this.#worker });
    const session = await this.#connect();
    if (session === undefined) return;
    try {
      const done = await this.#isCommitted(session, job);
      if (done) return this.#committed(job);
      this.#enter({ name: "idle" });
      this.#options.events.failed(this.#worker, "later", error as ReplicationError);
    } catch (again) {
      if (session.session.closed) return this.#resolveCommit(job, again);
      this.#options.events.fatal(again instanceof ReplicationError ? again : asDefect(again));
    }
  }

  async #isCommitted({ session, settings }: WorkerSession, job: Job): Promise<boolean> {
    const last = job.transactions.at(-1);
    if (settings.gtid === "preserve" && last !== undefined) {
      const gtid = describeId(last.id);
      return (await session.queryValue(`SELECT GTID_SUBSET('${gtid}', @@GLOBAL.gtid_executed)`)) === "1";
    }
    const { checkpoint } = await readCheckpoints(session, settings.channel);
    return checkpoint !== undefined && checkpoint.transactions >= job.checkpoint.transactions;
  }

  async #connect(): Promise<WorkerSession | undefined> {
    const { address, settings, log, events } = this.#options;
    for (
      let waitMs = RECONNECT_MS.first;
      this.#phase.name !== "stopped";
      waitMs = Math.min(2 * waitMs, RECONNECT_MS.max)
    ) {
      try {
        const session = await openWorkerSession(address, settings.channel, settings.worker, log);
        if (this.#isStopped()) {
          session.destroy();
          return undefined;
        }
        const opened = new WorkerSession(session, settings);
        session.onClosed = (error) => this.#closedWhileIdle(opened, error);
        this.#session = opened;
        return opened;
      } catch (error) {
        if (this.#isStopped()) return undefined;
        if (!(error instanceof ReplicationError) || error.retry !== "later") {
          events.fatal(error instanceof ReplicationError ? error.at({ worker: settings.worker }) : asDefect(error));
          return undefined;
        }
        log.warn(`worker ${settings.worker} cannot reach the target: ${error.message}`, { retryMs: waitMs });
        await this.#sleep(waitMs);
      }
    }
    return undefined;
  }

  /** With a run at work, the run's own call meets the error. */
  #closedWhileIdle(session: WorkerSession, error: ReplicationError): void {
    if (this.#session !== session || (this.#phase.name !== "idle" && this.#phase.name !== "executed")) return;
    if (this.#phase.name === "executed") {
      void this.#sessionLost(error);
      return;
    }
    this.#options.log.warn(`worker ${this.#worker} lost the target: ${error.message}`);
    this.#enter({ name: "connecting" });
    this.#options.events.lost(this.#worker);
    void this.start();
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wakeSleeper = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #isStopped(): boolean {
    return this.#phase.name === "stopped";
  }

  #enter(phase: Phase): void {
    if (this.#phase.name === "stopped") return;
    this.#phase = phase;
    this.#sinceMs = systemClock.nowMs();
  }
}

/** ER_KEY_NOT_FOUND and ER_DUP_ENTRY: the target's rows are not those that the source had. */
const CONFLICTS = new Set([1032, 1062]);
const ER_UNKNOWN_ERROR = 1105;

/**
 * Says in the operator's words what the target refused. Of rows that do not fit a table the client is told only `Unknown error`: the reason is in
 * the server's error log, which MySQL shows as a table (8.0.22+), and MariaDB does not.
 */
async function explain({ session }: WorkerSession, job: Job, error: ReplicationError): Promise<ReplicationError> {
  if (!(error instanceof SqlError)) return error;
  const isConflict = CONFLICTS.has(error.sqlCode);
  if (error.sqlCode === ER_UNKNOWN_ERROR) {
    const logged = await session
      .queryValue(
        "SELECT DATA FROM performance_schema.error_log WHERE THREAD_ID=PS_CURRENT_THREAD_ID() ORDER BY LOGGED DESC LIMIT 1",
      )
      .catch(() => undefined);
    const tables = [...new Set(job.transactions.flatMap((transaction) => [...transaction.tables]))];
    return new ReplicationError(
      "APPLY",
      logged ?? `rows of ${tables.join(", ")} do not fit the table as the target has it: ${error.message}`,
      {
        where: error.where,
        hint:
          logged === undefined
            ? "the target's error log names the column: give it a type and character set that both servers know, and start again"
            : RETRY_HINT,
        cause: error,
      },
    );
  }
  const hint = isConflict
    ? "find what else writes to the target; `abreast verify` shows the rows that differ; repair them and start again"
    : RETRY_HINT;
  return new ReplicationError(isConflict ? "CONFLICT" : "APPLY", error.message, {
    where: error.where,
    hint: error.hint ?? hint,
    cause: error,
  });
}

const RETRY_HINT = "mend the cause on the target and start again: the transaction is tried from its start";

function asDefect(error: unknown): ReplicationError {
  return new ReplicationError("APPLY", error instanceof Error ? (error.stack ?? error.message) : String(error), {
    hint: "this is a defect of Abreast: please report it with this text",
    cause: error,
  });
}
