import { randomUUID } from "node:crypto";
import type { WorkerKey } from "../apply/checkpoint.ts";
import type { TargetFacts } from "../apply/statement/target.ts";
import { openWorkerSession } from "../apply/target-session.ts";
import { WorkerSession } from "../apply/worker-session.ts";
import type { Log } from "../base/log.ts";
import type { ServerAddress } from "../base/server-url.ts";
import { FORMAT, tableMap } from "./events.ts";
import { leaveBinlogOut, ROWS, SCRATCH, scratchCheckpoint } from "./scratch.ts";

/** What some runs took: mean microseconds of each, as their session saw them. */
export interface RunTimes {
  runs: number;
  executeUs: number;
  commitUs: number;
  /** KiB of events. */
  kb: number;
}

export const scratchKeys = (workers: number): WorkerKey[] => {
  const engineId = randomUUID();
  return Array.from({ length: workers }, (_, worker) => ({ channel: SCRATCH, worker, engineId }));
};

export interface ScratchWorkerOptions {
  facts: TargetFacts;
  log: Log;
  leavesBinlogOut: boolean;
  /** Ends what it does, with its reason. */
  signal: AbortSignal | undefined;
}

/**
 * A session that applies as an engine's worker does: BEGIN, checkpoint and row events in one query, COMMIT in the next. Only where the rows come from, and where the checkpoint
 * goes, is different.
 */
export class ScratchWorker {
  readonly #session: WorkerSession;
  readonly #key: WorkerKey;
  readonly #signal: AbortSignal | undefined;
  #runs = 0;

  static async open(address: ServerAddress, key: WorkerKey, options: ScratchWorkerOptions): Promise<ScratchWorker> {
    const { facts, log, leavesBinlogOut, signal } = options;
    const session = await openWorkerSession(address, key.channel, key.worker, log);
    if (leavesBinlogOut) await leaveBinlogOut(session);
    const packetBytesMax = Number(await session.queryValue("SELECT @@max_allowed_packet"));
    const settings = { ...key, gtid: "own" as const, facts, readBody: () => [] };
    const worker = new ScratchWorker(new WorkerSession(session, settings, packetBytesMax), key, signal);
    await worker.#session.useFormat(FORMAT);
    return worker;
  }

  private constructor(session: WorkerSession, key: WorkerKey, signal: AbortSignal | undefined) {
    this.#session = session;
    this.#key = key;
    this.#signal = signal;
  }

  /** Applies runs of one rows event each, one after the other, until there are no more or the time is over. */
  async apply(events: Iterable<Buffer>, untilMs = Infinity): Promise<RunTimes> {
    const { session } = this.#session;
    const map = tableMap(ROWS);
    let runs = 0;
    let bytes = 0;
    let executeMs = 0;
    let commitMs = 0;
    for (const event of events) {
      this.#signal?.throwIfAborted();
      const before = [...this.#session.gtidNext(undefined), "BEGIN", scratchCheckpoint(this.#key, ++this.#runs)];
      const startMs = performance.now();
      await this.#session.sendRows(before, [[map, event]], { mergeStatements: true });
      const executedMs = performance.now();
      await session.execute("COMMIT");
      const endMs = performance.now();
      executeMs += executedMs - startMs;
      commitMs += endMs - executedMs;
      bytes += map.length + event.length;
      runs++;
      if (endMs >= untilMs) break;
    }
    return { runs, executeUs: (1000 * executeMs) / runs, commitUs: (1000 * commitMs) / runs, kb: bytes / 1024 / runs };
  }

  /** Mean microseconds of the smallest question, until the time is over. */
  async ping(untilMs: number): Promise<{ count: number; us: number }> {
    const { session } = this.#session;
    const startMs = performance.now();
    let count = 0;
    let nowMs = startMs;
    for (; nowMs < untilMs; count++) {
      this.#signal?.throwIfAborted();
      await session.execute("DO 0");
      nowMs = performance.now();
    }
    return { count, us: (1000 * (nowMs - startMs)) / count };
  }

  close(): Promise<void> {
    return this.#session.session.close();
  }
}
