import { setTimeout as sleep } from "node:timers/promises";
import { assert } from "../../base/assert.ts";
import { ReplicationError } from "../../base/error.ts";
import { createPrng } from "../../base/prng.ts";
import type { ServerAddress } from "../../base/server-url.ts";
import { Session } from "../../wire/session.ts";
import type { Workload } from "./workload.ts";

export interface LoadOptions {
  address: ServerAddress;
  /** Default schema of every session; must exist. */
  schema: string;
  workload: Workload;
  /** Same seed, same rows, and the same transactions in each thread. */
  seed: number;
  threads: number;
  /** The load ends after this many transactions or seconds, or when no thread has any left, whichever comes first; else when `stop` is called. */
  transactions?: number;
  seconds?: number;
  /** Transactions per second of all threads together; without it as fast as the server goes. */
  ratePerSecond?: number;
  onInterval?: (interval: LoadInterval) => void;
  /** Milliseconds between two calls of `onInterval`. */
  intervalMs?: number;
}

export interface LoadCounts {
  transactions: number;
  statements: number;
  /** Deadlocks and lock wait timeouts: each was rolled back and tried again. */
  errors: number;
}

export interface LoadInterval {
  /** Since the start of the load. */
  elapsedMs: number;
  transactionsPerSecond: number;
  errorsPerSecond: number;
  total: LoadCounts;
}

export interface LoadSummary extends LoadCounts {
  elapsedMs: number;
}

export interface Load {
  counts(): LoadCounts;
  /** Lets the transactions at work end and starts no more. */
  stop(): void;
  /** Rejects with the first error that is not worth a retry. */
  done: Promise<LoadSummary>;
}

/** Makes schema `schema` and fills it. */
export async function prepareData(
  address: ServerAddress,
  schema: string,
  workload: Workload,
  seed: number,
): Promise<void> {
  const session = await Session.connect(address);
  try {
    await session.execute(`CREATE DATABASE IF NOT EXISTS \`${schema}\`; USE \`${schema}\``);
    for (const statement of workload.preparation(seed)) await session.execute(statement);
  } finally {
    await session.close();
  }
}

/** Starts the threads: one session each, all transactions taken from one common count, as in sysbench. */
export function startLoad(options: LoadOptions): Load {
  assert(options.threads > 0, "a load needs a thread");
  const counts: LoadCounts = { transactions: 0, statements: 0, errors: 0 };
  const stopped = new AbortController();
  const startMs = performance.now();
  const elapsedMs = (): number => performance.now() - startMs;
  let taken = 0;

  /** Takes one transaction of the common count; resolves when it is due, to false when there is none left. */
  async function take(): Promise<boolean> {
    if (options.transactions !== undefined && taken >= options.transactions) return false;
    const number = taken++;
    if (options.ratePerSecond !== undefined) {
      const waitMs = (number * 1000) / options.ratePerSecond - elapsedMs();
      if (waitMs > 0) await sleep(waitMs, undefined, { signal: stopped.signal }).catch(() => {});
    }
    return !stopped.signal.aborted && (options.seconds === undefined || elapsedMs() < options.seconds * 1000);
  }

  async function runThread(thread: number): Promise<void> {
    const session = await Session.connect(options.address);
    try {
      await session.execute(`USE \`${options.schema}\``);
      const next = options.workload.thread(createPrng(options.seed, thread), thread);
      while ((await take()) && (await runTransaction(session, next, counts)));
    } finally {
      await session.close();
    }
  }

  async function runThreads(): Promise<LoadSummary> {
    const reporting = reportIntervals(options, counts, elapsedMs);
    try {
      await Promise.all(
        Array.from({ length: options.threads }, (_, thread) =>
          runThread(thread).catch((error: unknown) => {
            stopped.abort();
            throw error;
          }),
        ),
      );
      return { ...counts, elapsedMs: elapsedMs() };
    } finally {
      clearInterval(reporting);
    }
  }

  return { counts: () => ({ ...counts }), stop: () => stopped.abort(), done: runThreads() };
}

/**
 * Like sysbench, a transaction that the server rolled back is made anew with other values until one commits.
 * @returns false when the thread has no transaction left.
 */
async function runTransaction(
  session: Session,
  next: ReturnType<Workload["thread"]>,
  counts: LoadCounts,
): Promise<boolean> {
  for (;;) {
    const statements = next();
    if (statements === undefined) return false;
    try {
      // One round trip for the whole transaction: the load shares its processor with the servers.
      await session.execute(statements.join(";"));
      counts.statements += statements.length;
      counts.transactions++;
      return true;
    } catch (error) {
      if (!(error instanceof ReplicationError) || error.code !== "APPLY_TEMPORARY") throw error;
      counts.errors++;
      await session.execute("ROLLBACK");
    }
  }
}

function reportIntervals(
  options: LoadOptions,
  counts: LoadCounts,
  elapsedMs: () => number,
): NodeJS.Timeout | undefined {
  const { onInterval } = options;
  if (onInterval === undefined) return undefined;
  let before = { ...counts };
  let beforeMs = elapsedMs();
  return setInterval(() => {
    const nowMs = elapsedMs();
    const seconds = (nowMs - beforeMs) / 1000;
    onInterval({
      elapsedMs: nowMs,
      transactionsPerSecond: (counts.transactions - before.transactions) / seconds,
      errorsPerSecond: (counts.errors - before.errors) / seconds,
      total: { ...counts },
    });
    before = { ...counts };
    beforeMs = nowMs;
  }, options.intervalMs ?? 1000);
}
