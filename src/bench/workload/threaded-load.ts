import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { assert } from "../../base/assert.ts";
import { ReplicationError, type ErrorCode, type Where } from "../../base/error.ts";
import { SqlError } from "../../wire/sql-error.ts";
import { driveLoad, type Load, type LoadOptions, startLoad } from "./load.ts";
import type { Part } from "./load-part.ts";
import { LoadTally } from "./load-statistics.ts";
import { type WorkloadKind, type WorkloadName, type WorkloadOptions, WORKLOADS } from "./registry.ts";

export interface ThreadedLoadOptions extends Omit<LoadOptions, "workload"> {
  workload: WorkloadName;
  workloadOptions: WorkloadOptions;
  /** Threads of this process. */
  clientThreads?: number;
}

/** What a thread of this process gets. */
export interface ThreadTask extends Omit<
  ThreadedLoadOptions,
  "threads" | "clientThreads" | "onInterval" | "intervalMs"
> {
  threads: readonly number[];
  tally: SharedArrayBuffer;
  taken: SharedArrayBuffer;
}

export type ThreadOrder = "run" | "stop";
export type ThreadAnswer =
  | { type: "connected" }
  | { type: "done" }
  | { type: "failed"; error: SentError | undefined; message: string };

/** An error loses its class on the way between threads. */
export interface SentError {
  code: ErrorCode;
  hint: string | undefined;
  where: Where;
  sqlCode: number | undefined;
  sqlState: string | undefined;
}

/** Each has a start-up of its own to pay, 0.3 s of processor time, and what the load takes the servers beside it do not have. */
const PROCESSORS_PER_THREAD = 4;

/**
 * As startLoad, spread over several threads of this process: one ends at some 4,000 transactions of oltp_write_only per second. By default a quarter as many as there are processors. Run from
 * the sources, it is startLoad.
 */
export function startThreadedLoad(options: ThreadedLoadOptions): Load {
  const { onInterval: _onInterval, intervalMs: _intervalMs, threads, clientThreads, ...task } = options;
  const kind: WorkloadKind = WORKLOADS[options.workload];
  const file = threadFile();
  const count = Math.min(threads, clientThreads ?? Math.floor(availableParallelism() / PROCESSORS_PER_THREAD));
  if (file === undefined || count < 2 || kind.isShared === true) {
    return startLoad({ ...options, workload: kind.make(options.workloadOptions) });
  }
  const taken = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  const numbers = Array.from({ length: threads }, (_, thread) => thread);
  const groups = Array.from({ length: count }, (_, group) => numbers.filter((thread) => thread % count === group));
  const tallies = groups.map((group) => new LoadTally(group.length));
  const parts = groups.map(
    (group, index) =>
      new RemotePart(file, { ...task, threads: group, taken, tally: (tallies[index] as LoadTally).memory }),
  );
  return driveLoad(parts, tallies, options);
}

/** Node runs JavaScript only. */
function threadFile(): string | undefined {
  const file = `${fileURLToPath(new URL("load-thread", import.meta.url))}.js`;
  return existsSync(file) ? file : undefined;
}

/** A part in a thread of its own; load-thread.ts is its other end. */
class RemotePart implements Part {
  readonly #worker: Worker;
  readonly #connected = settlement();
  readonly #done = settlement();

  constructor(file: string, task: ThreadTask) {
    this.#worker = new Worker(file, { workerData: task });
    this.#worker.on("message", (answer: ThreadAnswer) => this.#answered(answer));
    this.#worker.on("error", (error) => this.#failed(error));
    this.#worker.on("exit", () => this.#failed(new ReplicationError("STOPPED", "a thread of the load ended early")));
    // Whoever waits for the connection need not wait for the end.
    this.#connected.promise.catch(() => {});
    this.#done.promise.catch(() => {});
  }

  connect(): Promise<void> {
    return this.#connected.promise;
  }

  run(): Promise<void> {
    this.#order("run");
    return this.#done.promise;
  }

  stop(): void {
    this.#order("stop");
  }

  #order(order: ThreadOrder): void {
    this.#worker.postMessage(order, []);
  }

  #answered(answer: ThreadAnswer): void {
    if (answer.type === "connected") this.#connected.resolve();
    else if (answer.type === "done") this.#done.resolve();
    else this.#failed(received(answer.error, answer.message));
  }

  #failed(error: Error): void {
    this.#connected.reject(error);
    this.#done.reject(error);
  }
}

interface Settlement {
  promise: Promise<void>;
  resolve: () => void;
  reject: (error: Error) => void;
}

function settlement(): Settlement {
  let settle: Omit<Settlement, "promise"> | undefined;
  const promise = new Promise<void>((resolve, reject) => (settle = { resolve, reject }));
  assert(settle !== undefined, "a promise calls its executor at once");
  return { promise, ...settle };
}

function received(error: SentError | undefined, message: string): Error {
  if (error === undefined) return new Error(message);
  const { code, hint, where, sqlCode, sqlState } = error;
  const details = { where, ...(hint === undefined ? {} : { hint }) };
  return sqlCode === undefined
    ? new ReplicationError(code, message, details)
    : new SqlError(code, message, sqlCode, sqlState ?? "", details);
}
