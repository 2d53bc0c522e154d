import type { PolicyName } from "../schedule/policies/policies.ts";
import type { Policy } from "../schedule/policy.ts";
import type { Run } from "../schedule/scheduler-types.ts";

export type Moment = "execute" | "executed" | "commit" | "committed" | "roll back";

export interface CellOptions {
  policy: PolicyName;
  workers: number;
  commitOrder: "preserve" | "relaxed";
  dependency?: "graph" | "low-water-mark";
  /** 1: nothing is packed. */
  packTransactionsMax: number;
  packBytesMax?: number;
  packRowsMax?: number;
  packMsMax?: number;
  /** Of the writeset policies. */
  writesetHistory?: number;
  /** Answers in place of a policy made here: several cells can ask one for the transaction at hand. */
  answers?: Policy;
  /** Is told what workers do, as the engine sees it. */
  onMoment?: (atUs: number, worker: number, what: Moment, run: Run) => void;
}
