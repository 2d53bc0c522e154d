import { BATCH_SESSIONS, batchMixWorkload, SMALL_SESSIONS } from "../batch-mix/workload.ts";
import { oltpWriteOnly } from "../workload/oltp-write-only.ts";
import type { Workload } from "../workload/workload.ts";

export interface Load {
  what: string;
  threads: number;
  workload(): Workload;
  /** Undefined: until the workload has no more. */
  transactions(wanted: number): number | undefined;
}

/** Each of them is limited by something else: the cost of a transaction; a few rows that nearly all want; large transactions among small ones. */
export const LOADS = {
  uniform: {
    what: "sysbench's oltp_write_only on 8 tables of 10,000 rows, every row as likely as any other",
    threads: 16,
    workload: () => oltpWriteOnly({ tables: 8, tableSize: 10_000, distribution: "uniform" }),
    transactions: (wanted) => wanted,
  },
  hot: {
    what: "the same on 1 table of 1,000 rows, three changes of four on 10 of them",
    threads: 16,
    workload: () => oltpWriteOnly({ tables: 1, tableSize: 1_000, distribution: "special" }),
    transactions: (wanted) => wanted,
  },
  "batch-mix": {
    what: "batches of 1,000 to 10,000 rows from 4 sessions among single movements from 12",
    threads: BATCH_SESSIONS + SMALL_SESSIONS,
    workload: () => batchMixWorkload({ batches: 24, batchRowsMin: 1_000, batchRowsMax: 10_000 }),
    transactions: () => undefined,
  },
} as const satisfies Record<string, Load>;

export type LoadName = keyof typeof LOADS;

export const LOAD_NAMES = Object.keys(LOADS) as LoadName[];
