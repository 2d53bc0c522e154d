import { assert } from "../base/assert.ts";
import { ReplicationError } from "../base/error.ts";
import type { EventList } from "../transaction/event-list.ts";
import { isPackable } from "../transaction/packable.ts";
import type { Transaction } from "../transaction/transaction.ts";
import type { ExecuteResult } from "../wire/session.ts";
import { SqlError } from "../wire/sql-error.ts";
import { checkpointUpdate, fenced, intentUpdate, ownRowQuery } from "./checkpoint.ts";
import type { Job } from "./job.ts";
import { alreadyDone, schemaFingerprint } from "./statement/fingerprint.ts";
import type { DdlFacts, Step, StatementStep } from "./statement/steps.ts";
import type { BodyBatches, WorkerSession } from "./worker-session.ts";
import { forgetPrepared, keepPrepared, readPrepared } from "./xa.ts";

/** What `COMMIT` will be, once it is the job's turn. Until then nothing of the job is visible, except what commits by itself (DDL, non-transactional tables). */
export type CommitStatement = string;

/**
 * Executes a job up to, not including, its commit. What it changes and the checkpoint are then one open transaction, except:
 * - after a statement with an implicit commit, and after changes of non-transactional tables, the checkpoint is a transaction of its own. A crash
 *   between the two is recognised by the intent that was written before (fingerprint.ts); changes of non-transactional tables may be repeated, or met half done.
 * - with `gtid: preserve` the target's own executed GTIDs are the checkpoint.
 * @returns the statement that commits
 * @throws SqlError, ReplicationError; the caller rolls back
 */
export async function executeJob(worker: WorkerSession, job: Job): Promise<CommitStatement> {
  const first = job.transactions[0];
  assert(first !== undefined, "a job has a transaction");
  await worker.useFormat(first.format);
  if (isPackable(first)) return executePacked(worker, job);
  assert(job.transactions.length === 1, "what cannot be packed runs alone");
  if (first.kind === "xa-prepare") return executePrepare(worker, job, first);
  if (first.kind === "xa-commit" || first.kind === "xa-rollback") return executeXaEnd(worker, job, first);
  return executeSteps(worker, job, first, worker.settings.readBody(first));
}

async function executePacked(worker: WorkerSession, job: Job): Promise<CommitStatement> {
  worker.forgetSettings();
  await begin(worker, job, job.transactions[0], bodies(worker, job));
  return "COMMIT";
}

async function* bodies(worker: WorkerSession, job: Job): AsyncGenerator<Iterable<Buffer>> {
  for (const transaction of job.transactions) {
    if (transaction.kind === "rows") yield* worker.settings.readBody(transaction);
  }
}

/** A packed job whose queries are made: they can follow the commit before it without waiting for its answer. */
export interface PreparedJob {
  job: Job;
  before: readonly string[];
  queries: Buffer[][];
}

/**
 * Makes the queries of a job while the one before it is at work on the same session. Undefined when it must be executed from the start: it is not only rows in memory, or of
 * another format.
 */
export function prepareJob(worker: WorkerSession, job: Job): PreparedJob | undefined {
  const batches: EventList[] = [];
  for (const { kind, body, format, transactional } of job.transactions) {
    if (kind !== "rows" || !transactional || !("events" in body) || !worker.knows(format)) return undefined;
    batches.push(body.events);
  }
  const before = beginStatements(worker, job, job.transactions[0]);
  return { job, before, queries: worker.buildRows(before, batches) };
}

/** As `executeJob`. The first query is sent before this returns. */
export async function executePrepared(
  worker: WorkerSession,
  { job, before, queries }: PreparedJob,
): Promise<CommitStatement> {
  worker.forgetSettings();
  const results = await worker.sendBuilt(queries, eventBytesOf(job));
  checkBegun(worker, before, results);
  return "COMMIT";
}

const eventBytesOf = (job: Job): number => job.transactions.reduce((sum, { eventBytes }) => sum + eventBytes, 0);

function beginStatements(worker: WorkerSession, job: Job, transaction: Transaction | undefined): string[] {
  const statements = [...worker.gtidNext(transaction), "BEGIN"];
  if (worker.settings.gtid === "own") statements.push(checkpointUpdate(worker.settings, job.checkpoint));
  return statements;
}

function checkBegun(worker: WorkerSession, before: readonly string[], results: ExecuteResult): void {
  if (worker.settings.gtid === "own") requireOwnRow(worker, results[before.length - 1]?.affectedRows);
}

/** Opens the transaction, writes the checkpoint into it, and sends `rows` in the same go. */
export async function begin(
  worker: WorkerSession,
  job: Job,
  transaction: Transaction | undefined,
  rows: BodyBatches = [],
): Promise<void> {
  const before = beginStatements(worker, job, transaction);
  checkBegun(worker, before, await worker.sendRows(before, rows, { mergeStatements: true }));
}

/**
 * Opens a transaction without the checkpoint in it. Rows of tables without transactions alone need none: each BINLOG commits by itself, which also a MySQL that
 * enforces GTID consistency accepts (error 1785 otherwise).
 */
async function beginApart(worker: WorkerSession, transaction: Transaction | undefined): Promise<void> {
  const { session, settings } = worker;
  if (settings.gtid === "own") {
    for (const sql of worker.gtidNext(undefined)) await session.execute(sql);
    requireOwnRow(worker, (await session.execute(ownRowQuery(settings)))[0]?.rows.length);
  }
  const commitsByItself = settings.gtid === "own" && transaction?.kind === "rows" && transaction.ending !== "rollback";
  const statements = [...worker.gtidNext(transaction), ...(commitsByItself ? [] : ["BEGIN"])];
  if (statements.length > 0) await session.execute(statements.join(";"));
}

export function requireOwnRow(worker: WorkerSession, matchedRows: number | undefined): void {
  if (matchedRows !== 1) throw fenced(worker.settings.channel);
}

/** The checkpoint as a transaction of its own; with preserved GTIDs there is none. */
const checkpointAlone = (worker: WorkerSession, job: Job): CommitStatement =>
  worker.settings.gtid === "preserve"
    ? "DO 0"
    : [...worker.gtidNext(undefined), checkpointUpdate(worker.settings, job.checkpoint)].join(";");

/** A transaction with statements among its events, or a lone statement with an implicit commit. */
async function executeSteps(
  worker: WorkerSession,
  job: Job,
  transaction: Transaction,
  body: BodyBatches,
): Promise<CommitStatement> {
  const { session, steps: builder } = worker;
  const about = { format: transaction.format, start: transaction.start };
  // What no rollback restores stays apart from the checkpoint, which comes after it.
  const apart = !transaction.transactional;
  let open = false;
  let ddl: DdlFacts | undefined;
  const ensureOpen = async (): Promise<void> => {
    if (open) return;
    open = true;
    const owner = ddl === undefined ? transaction : undefined;
    if (apart) await beginApart(worker, owner);
    else await begin(worker, job, owner);
  };
  /** False: a former engine had done all of the transaction. */
  const run = async (steps: Step[]): Promise<boolean> => {
    for (const step of steps) {
      if (step.kind === "statement" && step.ddl !== undefined) {
        assert(!open, "a statement with an implicit commit comes before the rows of its transaction");
        ddl = step.ddl;
        const ran = await executeDdl(worker, job, transaction, step, step.ddl);
        // Its rows were committed with it.
        if (!ran && ddl.opensTransaction) return false;
        open = ddl.opensTransaction;
        continue;
      }
      await ensureOpen();
      if (step.kind === "rows") await worker.sendRows([], [step.events]);
      else {
        for (const sql of step.setup) await session.execute(sql);
        const work =
          step.kind === "load-data" ? session.executeWithFile(step.text, step.data) : session.execute(step.text);
        await meetsExpectation(work, step);
      }
    }
    return true;
  };
  for await (const batch of body) {
    if (!(await run(builder.push(batch, about, false)))) return checkpointAlone(worker, job);
  }
  await run(builder.push([], about, true));
  if (ddl?.opensTransaction) await session.execute("COMMIT");
  else if (open && !apart) return "COMMIT";
  else if (open) await session.execute(transaction.ending === "rollback" ? "ROLLBACK" : "COMMIT");
  else if (ddl === undefined) {
    await begin(worker, job, transaction);
    return "COMMIT";
  }
  return checkpointAlone(worker, job);
}

/**
 * Runs a statement that commits by itself exactly once, also when the engine is killed at any moment: an intent with a fingerprint of the schema is committed before it,
 * the checkpoint after it. A later engine that finds the intent without the checkpoint compares the fingerprint to learn
 * whether the statement had run. Preserved GTIDs need none of this: the server keeps statement and GTID together.
 * @returns false when a former engine had run it
 */
async function executeDdl(
  worker: WorkerSession,
  job: Job,
  transaction: Transaction,
  step: StatementStep,
  ddl: DdlFacts,
): Promise<boolean> {
  const { session, settings } = worker;
  const guarded = settings.gtid === "own" && ddl.resume !== "repeat";
  /** A former engine had at least begun it. */
  let begun = false;
  if (guarded) {
    const rows = { rows: async (sql: string) => (await session.execute(sql)).at(-1)?.rows ?? [] };
    await session.execute(worker.gtidNext(undefined).join(";") || "DO 0");
    const fingerprint = await schemaFingerprint(rows, ddl.schemas, { accounts: ddl.accounts });
    begun = job.intent !== undefined && job.intent.fingerprint !== fingerprint;
    if (begun && ddl.resume === "compare") {
      worker.steps.forget();
      return false;
    }
    // The first intent stays: what the schema was before the statement first ran is what the next comparison needs.
    if (!begun) {
      const before = job.before();
      const intent = { after: String(before.transactions), fingerprint };
      requireOwnRow(worker, (await session.execute(intentUpdate(settings, intent, before)))[0]?.affectedRows);
    }
  }
  // First: with the GTID of the transaction before it, MySQL refuses the USE of a setup.
  for (const sql of worker.gtidNext(transaction)) await session.execute(sql);
  for (const sql of step.setup) await session.execute(sql);
  await meetsExpectation(session.execute(step.text), step, begun);
  return true;
}

/** The statement ends as it did on the source: well, or with the very same error. `begun`: what a former engine has done of it may be done. */
async function meetsExpectation(
  work: Promise<unknown>,
  step: Exclude<Step, { kind: "rows" }>,
  begun = false,
): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof SqlError)) throw error;
    if (error.sqlCode === step.expectedError || (begun && alreadyDone(error.sqlCode))) return;
    throw new SqlError(error.code, `${withoutSecrets(error, step)}, in: ${step.shown}`, error.sqlCode, error.sqlState, {
      retry: error.retry,
      where: error.where,
      ...(LOCAL_REFUSED.has(error.sqlCode)
        ? { hint: "on the target, SET GLOBAL local_infile=ON; then start again" }
        : {}),
      cause: error.cause,
    });
  }
  if (step.expectedError === 0 || begun) return;
  throw new ReplicationError(
    "CONFLICT",
    `the source met error ${step.expectedError}, and the target none, in: ${step.shown}`,
    { hint: "compare the tables with `abreast verify`: the target held something else than the source" },
  );
}

/** ER_NOT_ALLOWED_COMMAND (to MySQL 5.7, MariaDB) and ER_CLIENT_LOCAL_FILES_DISABLED: LOAD DATA in statement format needs LOCAL. */
const LOCAL_REFUSED = new Set([1148, 3948]);

/** A syntax error repeats the statement's text from where it is wrong, which in one about accounts may be a password. */
const withoutSecrets = ({ message }: SqlError, step: Exclude<Step, { kind: "rows" }>): string =>
  step.kind === "statement" && step.ddl?.accounts ? message.replace(/near '.*' at line/s, "near '…' at line") : message;

/** A prepared XA transaction is kept as it is, beside the checkpoint, until its second half comes: see xa.ts. */
async function executePrepare(worker: WorkerSession, job: Job, transaction: Transaction): Promise<CommitStatement> {
  await begin(worker, job, transaction);
  await keepPrepared(worker.session, worker.settings.channel, transaction, worker.settings.readBody(transaction));
  return "COMMIT";
}

async function executeXaEnd(worker: WorkerSession, job: Job, transaction: Transaction): Promise<CommitStatement> {
  const { session, settings } = worker;
  assert(transaction.xid !== undefined, "an XA transaction has an identifier");
  if (transaction.kind === "xa-commit") {
    for (const sql of worker.gtidNext(undefined)) await session.execute(sql);
    const prepared = await readPrepared(session, settings.channel, transaction.xid);
    if (prepared === undefined) {
      throw new ReplicationError("UNSUPPORTED", `XA COMMIT ${transaction.xid}, prepared before this channel began`, {
        where: { ...transaction.end },
        hint: "start the channel from a point at which no XA transaction is prepared on the source (XA RECOVER is empty)",
      });
    }
    await worker.useFormat(prepared.format);
    const whole = { ...transaction, format: prepared.format, transactional: true };
    const commit = await executeSteps(worker, job, whole, prepared.events);
    assert(commit === "COMMIT", "a prepared transaction holds nothing that commits by itself");
  } else await begin(worker, job, transaction);
  await forgetPrepared(session, settings.channel, transaction.xid);
  return "COMMIT";
}
