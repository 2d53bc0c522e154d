import type { Prng } from "../../base/prng.ts";
import type { Statement } from "./statement.ts";

/** The statements of one transaction, BEGIN and COMMIT among them, in order. */
export type StatementList = readonly Statement[];

/**
 * What is written to a source: one file each. A workload only makes statements; connections, threads, rate and retries are load.ts's job, so that every workload
 * is driven and counted alike.
 */
export interface Workload {
  readonly name: string;
  /** The statements that make tables and rows in the session's default schema, in order. A generator: the rows need not fit in memory. */
  preparation(seed: number): Iterable<string>;
  /** Makes thread `thread` (from 0): every call of what it returns gives that thread's next transaction; undefined when the thread has none left. */
  thread(prng: Prng, thread: number): () => StatementList | undefined;
}
