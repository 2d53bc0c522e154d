import type { Run } from "../schedule/scheduler-types.ts";
import type { Transaction } from "../transaction/transaction.ts";
import type { Checkpoint, Intent, WorkerCheckpoint } from "./checkpoint.ts";

/** What a worker gets: a run, its transactions in order, and what the target holds once it has committed. */
export interface Job {
  run: Run;
  transactions: readonly Transaction[];
  checkpoint: WorkerCheckpoint;
  /** What the target holds before it: asked only of a run that has everything before it committed, since it commits by itself. */
  before: () => Checkpoint;
  /** Found at the start for the first transaction: a former engine was about to run it. */
  intent: Intent | undefined;
}
