import { assert } from "../../base/assert.ts";
import type { ServerAddress } from "../../base/server-url.ts";
import { withRemedy } from "./data.ts";
import { LocalPart, type Part } from "./load-part.ts";
import { type LoadCounts, type LoadInterval, LoadStatistics, type LoadSummary, LoadTally } from "./load-statistics.ts";
import type { Workload } from "./workload.ts";

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

/** Starts the threads: one session each, all transactions taken from one common count, as in sysbench. The time begins when all are connected. */
export function startLoad(options: LoadOptions): Load {
  const { threads } = options;
  assert(threads > 0, "a load needs a thread");
  const tally = new LoadTally(threads);
  let taken = 0;
  const numbers = Array.from({ length: threads }, (_, thread) => thread);
  const part = new LocalPart({ ...options, threads: numbers, tally, take: () => taken++ });
  return driveLoad([part], [tally], options);
}

/** Runs all parts of a load as one: they begin together, and when one fails, all end. */
export function driveLoad(
  parts: readonly Part[],
  tallies: readonly LoadTally[],
  { onInterval, intervalMs }: Pick<LoadOptions, "onInterval" | "intervalMs">,
): Load {
  const statistics = new LoadStatistics(tallies);
  const stop = (): void => {
    for (const part of parts) part.stop();
  };
  const run = async (): Promise<LoadSummary> => {
    await all(parts.map((part) => part.connect())).catch(async (error: unknown) => {
      // Stopped before it began, a part only closes its sessions.
      await Promise.allSettled(parts.map((part) => part.run()));
      throw error;
    });
    const startMs = performance.now();
    const elapsedMs = (): number => performance.now() - startMs;
    const reporting =
      onInterval === undefined
        ? undefined
        : setInterval(() => onInterval(statistics.interval(elapsedMs())), intervalMs ?? 1000);
    try {
      await all(parts.map((part) => part.run()));
      return statistics.summary(elapsedMs());
    } finally {
      clearInterval(reporting);
    }
  };
  /** Waits for all of them, also when one has failed. */
  const all = async (works: readonly Promise<void>[]): Promise<void> => {
    const stopping = works.map((work) =>
      work.catch((error: unknown) => {
        stop();
        throw withRemedy(error);
      }),
    );
    const failure = (await Promise.allSettled(stopping)).find((result) => result.status === "rejected");
    if (failure === undefined) return;
    stop();
    throw failure.reason;
  };
  return { counts: () => statistics.counts(), stop, done: run() };
}
