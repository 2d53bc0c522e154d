import { BATCH_SESSIONS, batchMixWorkload, SMALL_SESSIONS } from "../batch-mix/workload.ts";
import { deleteInsertWorkload, type KeyKind, SESSIONS } from "../delete-insert/workload.ts";
import { ddl } from "./ddl.ts";
import type { DistributionName } from "./distribution.ts";
import { hotRows } from "./hot-rows.ts";
import { LARGE_TABLE, largeTransaction } from "./large-transaction.ts";
import { oltpInsert, oltpUpdateIndex, oltpUpdateNonIndex } from "./oltp-autocommit.ts";
import { oltpReadWrite } from "./oltp-read-write.ts";
import { oltpWriteOnly } from "./oltp-write-only.ts";
import type { SbtestOptions } from "./sbtest.ts";
import type { Workload } from "./workload.ts";

/** Everything that a workload can be told, with the defaults; sysbench's where it has the option. */
export interface WorkloadOptions {
  /** Tables in each schema. */
  tables: number;
  /** Rows in each table. */
  tableSize: number;
  distribution: DistributionName;
  /** Rows of the large table. */
  rows: number;
  repeat: number;
  hotRows: number;
  /** Of all sessions together; no limit by default. */
  batches: number;
  batchRowsMin: number;
  batchRowsMax: number;
}

export const WORKLOAD_DEFAULTS: Readonly<WorkloadOptions> = {
  tables: 1,
  tableSize: 10_000,
  distribution: "special",
  rows: 100_000,
  repeat: 1,
  hotRows: 10,
  batches: Infinity,
  batchRowsMin: 1_000,
  batchRowsMax: 10_000,
};

export interface WorkloadKind {
  description: string;
  /** Which options it heeds. */
  options: readonly (keyof WorkloadOptions)[];
  /** Its number of threads, when it has only one. */
  threads?: number;
  /** Its threads have something in common, so that all must run in one thread of this process. */
  isShared?: boolean;
  /** sysbench has it under the same name. */
  isSysbench: boolean;
  make(options: WorkloadOptions): Workload;
  /** Names of its tables in each schema. */
  tablesOf(options: WorkloadOptions): string[];
}

function sysbench(description: string, make: (options: SbtestOptions) => Workload): WorkloadKind {
  return {
    description,
    options: ["tables", "tableSize", "distribution"],
    isSysbench: true,
    make,
    tablesOf: ({ tables }) => Array.from({ length: tables }, (_, index) => `sbtest${index + 1}`),
  };
}

function deleteInsert(description: string, key: KeyKind, change: "delete-insert" | "update"): WorkloadKind {
  return {
    description,
    options: [],
    threads: SESSIONS,
    isSysbench: false,
    make: () => deleteInsertWorkload({ key, change, rounds: Infinity }),
    tablesOf: () => ["m"],
  };
}

/** Every load there is, by name. The fifth variant of delete-insert, the commit order relaxed, is a setting of the replica under the first one's load. */
export const WORKLOADS = {
  oltp_write_only: sysbench(
    "sysbench: an update of an indexed and one of another column, a row deleted and inserted again",
    oltpWriteOnly,
  ),
  oltp_read_write: sysbench("sysbench: fourteen selects, then what oltp_write_only does", oltpReadWrite),
  oltp_insert: sysbench("sysbench: one row inserted, autocommit", oltpInsert),
  oltp_update_index: sysbench("sysbench: one indexed column updated, autocommit", oltpUpdateIndex),
  oltp_update_non_index: sysbench("sysbench: one column without index updated, autocommit", oltpUpdateNonIndex),
  "delete-insert-unique-index": deleteInsert(
    "lists of 50 rows deleted and inserted again under a unique index, 8 sessions",
    "unique index",
    "delete-insert",
  ),
  "delete-insert-plain-index": deleteInsert("the same, the index not unique", "plain index", "delete-insert"),
  "delete-insert-composite-primary-key": deleteInsert(
    "the same, the columns being the primary key",
    "composite primary key",
    "delete-insert",
  ),
  "delete-insert-update": deleteInsert("the same rows updated in their place", "unique index", "update"),
  "batch-mix": {
    description: "cleaning in batches of 1,000 to 10,000 rows by 4 sessions, small transactions by 12",
    options: ["batches", "batchRowsMin", "batchRowsMax"],
    threads: BATCH_SESSIONS + SMALL_SESSIONS,
    isShared: true,
    isSysbench: false,
    make: batchMixWorkload,
    tablesOf: () => ["account", "branch", "entry"],
  },
  "large-transaction": {
    description: "every row of a table changed in one transaction, by one session",
    options: ["rows", "repeat"],
    threads: 1,
    isSysbench: false,
    make: largeTransaction,
    tablesOf: () => [LARGE_TABLE],
  },
  ddl: {
    description: "a large table rebuilt by ALTER TABLE, by one session",
    options: ["rows", "repeat"],
    threads: 1,
    isSysbench: false,
    make: ddl,
    tablesOf: () => [LARGE_TABLE],
  },
  "hot-rows": {
    description: "a row inserted, and one of a few rows updated that all sessions want",
    options: ["hotRows"],
    isSysbench: false,
    make: hotRows,
    tablesOf: () => ["stock", "sale"],
  },
} as const satisfies Record<string, WorkloadKind>;

export type WorkloadName = keyof typeof WORKLOADS;

export const WORKLOAD_NAMES = Object.keys(WORKLOADS) as WorkloadName[];

/** sysbench's own `sbtest` for one schema, `sbtest1` … for several. */
export function schemaNames(schemas: number): string[] {
  return schemas === 1 ? ["sbtest"] : Array.from({ length: schemas }, (_, index) => `sbtest${index + 1}`);
}
