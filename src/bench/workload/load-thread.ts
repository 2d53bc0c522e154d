import { parentPort, workerData } from "node:worker_threads";
import { ReplicationError } from "../../base/error.ts";
import { SqlError } from "../../wire/sql-error.ts";
import { LocalPart } from "./load-part.ts";
import { LoadTally } from "./load-statistics.ts";
import { type WorkloadKind, WORKLOADS } from "./registry.ts";
import type { SentError, ThreadAnswer, ThreadOrder, ThreadTask } from "./threaded-load.ts";

/** The other end of threaded-load.ts: connects, waits for the order to run, and ends when its sessions are closed. */
const { workload, workloadOptions, threads, tally, taken, ...options } = workerData as ThreadTask;
const kind: WorkloadKind = WORKLOADS[workload];
const counter = new Int32Array(taken);
const part = new LocalPart({
  ...options,
  workload: kind.make(workloadOptions),
  threads,
  tally: new LoadTally(threads.length, tally),
  take: () => Atomics.add(counter, 0, 1),
});

const answer = (message: ThreadAnswer): void => parentPort?.postMessage(message, []);

parentPort?.on("message", (order: ThreadOrder) => {
  if (order === "stop") part.stop();
  else void end(part.run(), "done");
});
await end(part.connect(), "connected");

async function end(work: Promise<void>, type: "connected" | "done"): Promise<void> {
  try {
    await work;
    answer({ type });
    if (type === "done") parentPort?.close();
  } catch (error) {
    answer({ type: "failed", error: sent(error), message: error instanceof Error ? error.message : String(error) });
    parentPort?.close();
  }
}

function sent(error: unknown): SentError | undefined {
  if (!(error instanceof ReplicationError)) return undefined;
  const { code, hint, where } = error;
  const sql = error instanceof SqlError ? error : undefined;
  return { code, hint, where, sqlCode: sql?.sqlCode, sqlState: sql?.sqlState };
}
