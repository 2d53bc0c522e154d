import { assert } from "../base/assert.ts";
import { systemClock } from "../base/clock.ts";
import { ReplicationError, type Retry } from "../base/error.ts";
import type { Log } from "../base/log.ts";
import type { ServerAddress } from "../base/server-url.ts";
import type { Run } from "../schedule/scheduler-types.ts";
import { describeId } from "../transaction/transaction.ts";
import type { ExecuteResult } from "../wire/session.ts";
import { isWritten } from "./checkpoint.ts";
import { applyResolving, type Resolution } from "./conflict/resolve.ts";
import {
  type CommitStatement,
  executeJob,
  executePrepared,
  type PreparedJob,
  prepareJob,
  requireOwnRow,
} from "./execute.ts";
import { explain, explainConflict } from "./explain.ts";
import type { Job } from "./job.ts";
import { openWorkerSession } from "./target-session.ts";
import { WorkerSession, type WorkerSettings } from "./worker-session.ts";

/** What a worker tells of its run. After `lost` it connects again by itself, and then tells `ready`. */
export interface WorkerEvents {
  ready(worker: number): void;
  lost(worker: number): void;
  executed(worker: number): void;
  committed(worker: number): void;
  /** `isEarly`: not all before it was committed when it began. */
  failed(worker: number, retry: Retry, error: ReplicationError, isEarly: boolean): void;
  /** It rolled back as it was told to: it did not fail. */
  gaveBack(worker: number): void;
  /** Nothing that this engine does can help: another engine has the channel, the password is wrong. */
  fatal(error: ReplicationError): void;
}

export interface WorkerOptions {
  address: ServerAddress;
  settings: WorkerSettings;
  events: WorkerEvents;
  /** What becomes of rows that are missing or already there, once it is sure that they are. */
  onConflict: "stop" | "skip" | "overwrite";
  /** Ends what the connection executes, from another one. */
  interrupt: (connectionId: number) => Promise<void>;
  log: Log;
}

/** The run that a worker goes on with after its commit. */
export interface Follow {
  run: Run;
  job: () => Job;
}

interface SentCommit {
  committing: Promise<ExecuteResult>;
  next: Job | undefined;
  ahead: Promise<CommitStatement> | undefined;
}

/** Built in microseconds. */
const TOGETHER_BYTES_MAX = 32 * 1024;

type Phase =
  | { name: "connecting" }
  | { name: "idle" }
  | { name: "executing"; job: Job }
  | { name: "executed"; job: Job; commit: string }
  | { name: "rolling-back"; job: Job }
  | { name: "committing"; job: Job }
  | { name: "stopped" };

/** How soon after an interruption that hit nothing the next one follows. */
const INTERRUPT_AGAIN_MS = 100;
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
  /** What follows the run at work, made ready for that session where it could be. */
  #next: { job: Job; prepared: (PreparedJob & { session: WorkerSession }) | undefined } | undefined;
  #sinceMs = systemClock.nowMs();
  #committedTransactions = 0;
  #retries = 0;
  readonly #conflicts = { skipped: 0, overwritten: 0 };
  /** Of the run at work: counted when it has committed. */
  #resolution: Resolution | undefined;
  #wakeSleeper: () => void = () => {};
  /** Of what it executes, because it holds locks that an earlier run needs. */
  #interruption: { over: boolean; done: Promise<void> } | undefined;

  constructor(options: WorkerOptions) {
    this.#options = options;
  }

  get #worker(): number {
    return this.#options.settings.worker;
  }

  /** Of its session on the target; undefined while it has none. */
  get connectionId(): number | undefined {
    const session = this.#session?.session;
    return session === undefined || session.closed ? undefined : session.connectionId;
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
    assert(this.#phase.name === "idle" && session !== undefined, "a worker applies one run at a time");
    if (job.run.attempt > 1) this.#retries++;
    this.#enter({ name: "executing", job });
    this.#resolution = undefined;
    await this.#execute(session, job, () => (job.run.resolve ? this.#resolve(session, job) : executeJob(session, job)));
  }

  async #resolve(session: WorkerSession, job: Job): Promise<CommitStatement> {
    const { onConflict } = this.#options;
    const first = job.transactions[0];
    if (onConflict === "stop" || first?.kind !== "rows" || !first.transactional) return executeJob(session, job);
    this.#resolution = await applyResolving(session, job, onConflict);
    return this.#resolution.commit;
  }

  /** While a run is at work: makes the next one ready, so that it can follow the commit at once. */
  prepare(job: Job): void {
    const session = this.#session;
    this.#next = { job, prepared: undefined };
    if (session === undefined || session.session.closed) return;
    try {
      const prepared = prepareJob(session, job);
      if (prepared !== undefined) this.#next.prepared = { session, ...prepared };
    } catch {
      // Executing it from the start meets the error again, and says what it is about.
    }
  }

  /**
   * Commits the run that is executed. `follow`: the run that is sent right behind the COMMIT, prepared or not. Its own commit is only sent when this one has
   * succeeded, so a failure here leaves nothing of it.
   */
  async commit(follow: Follow | undefined): Promise<void> {
    if (this.#phase.name === "stopped") return;
    const session = this.#session;
    assert(this.#phase.name === "executed" && session !== undefined, "only an executed run commits");
    const { job, commit } = this.#phase;
    this.#enter({ name: "committing", job });
    const { committing, next, ahead } = this.#sendCommit(session, commit, follow);
    try {
      const results = await committing;
      if (commit !== "COMMIT" && session.settings.gtid === "own") requireOwnRow(session, results.at(-1)?.affectedRows);
    } catch (error) {
      if (error instanceof ReplicationError && error.code === "FENCED") return this.#failed(session, job, error);
      // Whatever became of it, and of what was sent behind it, the target knows once this session is gone.
      session.session.destroy();
      return this.#resolveCommit(job, error, next);
    }
    return this.#committed(session, job, next, ahead);
  }

  /** The commit, and the run behind it: small ones in one piece, a large one is only made once the commit is on its way. */
  #sendCommit(session: WorkerSession, commit: CommitStatement, follow: Follow | undefined): SentCommit {
    let committing: Promise<ExecuteResult> | undefined;
    let ahead: Promise<CommitStatement> | undefined;
    let next: { job: Job; prepared: (PreparedJob & { session: WorkerSession }) | undefined } | undefined;
    const send = (): void => {
      committing = session.session.execute(commit);
      if (follow === undefined) return;
      if (this.#next?.job.run.id !== follow.run.id) this.prepare(follow.job());
      next = this.#next;
      if (next?.prepared?.session === session) ahead = executePrepared(session, next.prepared);
    };
    if (follow !== undefined && follow.run.bytes <= TOGETHER_BYTES_MAX) session.session.together(send);
    else send();
    this.#next = undefined;
    assert(committing !== undefined, "the commit is sent first");
    committing.catch(() => {});
    ahead?.catch(() => {});
    return { committing, next: next?.job, ahead };
  }

  /**
   * Gives the locks of its run back: rolls it back, in the middle of a statement too, and tells `failed` with `now`. What it executes may be just done, or fail by itself:
   * it is rolled back and told once all the same.
   */
  async rollback(): Promise<void> {
    const phase = this.#phase;
    const session = this.#session;
    if ((phase.name !== "executing" && phase.name !== "executed") || session === undefined) return;
    this.#next = undefined;
    if (phase.name === "executed") {
      this.#enter({ name: "rolling-back", job: phase.job });
      await this.#failed(session, phase.job, LOCK_BREAK);
      return;
    }
    const interruption = { over: false, done: Promise.resolve() };
    interruption.done = this.#interrupt(session, interruption);
    this.#interruption = interruption;
  }

  /**
   * Until what executes has ended, however it did: a job of several queries may be between two of them, where nothing can be interrupted. `DO 0` takes an interruption
   * that comes late, and, should the server owe an answer that never comes, is what shows it (see lock-waits.ts).
   */
  async #interrupt({ session }: WorkerSession, interruption: { over: boolean }): Promise<void> {
    do {
      await this.#options.interrupt(session.connectionId).catch(() => {});
      session.execute("DO 0").catch(() => {});
      if (!interruption.over) await this.#sleep(INTERRUPT_AGAIN_MS);
    } while (!interruption.over && !session.closed);
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
    eventBytesApplied: number;
    committedTransactions: number;
    retries: number;
    conflicts: { skipped: number; overwritten: number };
  } {
    const phase = this.#phase;
    return {
      phase: phase.name,
      sinceMs: this.#sinceMs,
      job: "job" in phase ? phase.job : undefined,
      eventBytesApplied: this.#session?.eventBytesApplied ?? 0,
      committedTransactions: this.#committedTransactions,
      retries: this.#retries,
      conflicts: { ...this.#conflicts },
    };
  }

  /** Tells that the run is committed, and goes on with the next one: on its way already, or from its start. */
  async #committed(
    session: WorkerSession,
    job: Job,
    next: Job | undefined,
    ahead: Promise<CommitStatement> | undefined,
  ): Promise<void> {
    this.#committedTransactions += job.transactions.length;
    this.#countConflicts();
    this.#enter(next === undefined ? { name: "idle" } : { name: "executing", job: next });
    this.#options.events.committed(this.#worker);
    if (next !== undefined) await this.#execute(session, next, () => ahead ?? executeJob(session, next));
  }

  #countConflicts(): void {
    if (this.#resolution === undefined) return;
    const { skipped, overwritten, lines } = this.#resolution;
    this.#conflicts.skipped += skipped;
    this.#conflicts.overwritten += overwritten;
    for (const line of lines) this.#options.log.warn(line);
    this.#resolution = undefined;
  }

  async #execute(session: WorkerSession, job: Job, work: () => Promise<CommitStatement>): Promise<void> {
    let outcome: { commit: string } | { error: unknown };
    try {
      outcome = { commit: await work() };
    } catch (error) {
      outcome = { error };
    }
    const interruption = this.#interruption;
    if (interruption !== undefined) return this.#interrupted(session, job, interruption);
    if ("error" in outcome) return this.#failed(session, job, outcome.error);
    this.#enter({ name: "executed", job, commit: outcome.commit });
    if (!this.#isStopped()) this.#options.events.executed(this.#worker);
  }

  async #interrupted(
    session: WorkerSession,
    job: Job,
    interruption: { over: boolean; done: Promise<void> },
  ): Promise<void> {
    this.#interruption = undefined;
    interruption.over = true;
    this.#wakeSleeper();
    await interruption.done;
    await session.session.execute("DO 0").catch(() => {});
    return this.#failed(session, job, LOCK_BREAK);
  }

  async #failed(session: WorkerSession, job: Job, error: unknown): Promise<void> {
    if (this.#phase.name === "stopped") return;
    this.#next = undefined;
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
    let explained = error.retry === "never" ? await explain(session, job, told) : told;
    session.forgetSettings();
    try {
      await session.session.execute("ROLLBACK");
      await session.session.execute(session.gtidNext(undefined).join(";") || "DO 0");
      // Only what is sure to be one: that costs as much as applying it again, row by row.
      if (explained.code === "CONFLICT" && job.run.atTurn) explained = await explainConflict(session, job, explained);
    } catch {
      session.session.destroy();
      return this.#sessionLost(explained);
    }
    this.#enter({ name: "idle" });
    if (error === LOCK_BREAK) this.#options.events.gaveBack(this.#worker);
    else this.#options.events.failed(this.#worker, explained.retry, explained, !job.run.atTurn);
  }

  /** Told as `later`, whatever failed: with any other word the scheduler may give the worker its next run at once, which has no session. */
  #sessionLost(error: ReplicationError): Promise<void> | void {
    if (this.#phase.name === "stopped") return;
    this.#enter({ name: "connecting" });
    this.#options.events.failed(this.#worker, "later", error, false);
    this.#options.events.lost(this.#worker);
    return this.start();
  }

  /** A COMMIT was sent and its outcome is not known: the former session is waited for, then the target knows. */
  async #resolveCommit(job: Job, error: unknown, next: Job | undefined): Promise<void> {
    const reason = error instanceof Error ? error.message : String(error);
    this.#options.log.warn("what became of a commit is not known: reading the checkpoint", {
      worker: this.#worker,
      reason,
    });
    const session = await this.#connect();
    if (session === undefined) return;
    try {
      if (await this.#isCommitted(session, job)) return await this.#committed(session, job, next, undefined);
      this.#enter({ name: "idle" });
      const cause = error instanceof ReplicationError ? error : asDefect(error);
      this.#options.events.failed(this.#worker, cause.retry, cause, false);
    } catch (again) {
      if (session.session.closed) return this.#resolveCommit(job, again, next);
      this.#options.events.fatal(again instanceof ReplicationError ? again : asDefect(again));
    }
  }

  async #isCommitted({ session, settings }: WorkerSession, job: Job): Promise<boolean> {
    const last = job.transactions.at(-1);
    if (settings.gtid === "preserve" && last !== undefined) {
      const gtid = describeId(last.id);
      return (await session.queryValue(`SELECT GTID_SUBSET('${gtid}', @@GLOBAL.gtid_executed)`)) === "1";
    }
    return isWritten(session, settings, job.checkpoint);
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
        const packetBytesMax = Number(await session.queryValue("SELECT @@max_allowed_packet"));
        const opened = new WorkerSession(session, settings, packetBytesMax);
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

const LOCK_BREAK = new ReplicationError("APPLY_TEMPORARY", "rolled back: an earlier transaction waits for its locks");

function asDefect(error: unknown): ReplicationError {
  return new ReplicationError("APPLY", error instanceof Error ? (error.stack ?? error.message) : String(error), {
    hint: "this is a defect of Abreast: please report it with this text",
    cause: error,
  });
}
