import type { Fault } from "../input/input.ts";
import type { StatementReport, TransactionReport } from "../report.ts";
import type { GroupState } from "./commit-groups.ts";
import type { GtidState } from "./gtid-runs.ts";
import type { RateState } from "./rate-curve.ts";
import type { ChangedRow } from "./row-keys.ts";
import type { TableCounts } from "./table-counts.ts";

/** What was found in a part of a log: whole transactions of one file. Plain data, so that a thread can hand it to another. */
export interface PartSummary {
  /** Number of the input, from 0. */
  file: number;
  bytes: number;
  unpackedBytes: number;
  transactions: number;
  events: number;
  /** By type number: events, and their bytes. */
  eventsByType: Float64Array;
  bytesByType: Float64Array;
  /** Microseconds since 1970; 0: unknown. In the order of the log, and the earliest and latest. */
  firstAtUs: number;
  lastAtUs: number;
  earliestUs: number;
  latestUs: number;
  rate: RateState;
  tables: TableCounts[];
  tablesLeftOut: number;
  hotRows: ChangedRow[];
  /** A row that is not among `hotRows` was changed at most so often. */
  untoldChanges: number;
  insertedAgain: { inside: number; across: number };
  largest: TransactionReport[];
  longest: TransactionReport[];
  ddl: StatementReport[];
  ddlCount: number;
  statements: StatementReport[];
  statementCount: number;
  sizeClasses: { small: number; medium: number; large: number; bulk: number };
  gtids: GtidState;
  groups: GroupState;
  /** Transactions by sequence_number - last_committed, in powers of two. */
  commitParentDistance: number[];
  serverVersion: string | null;
  flavour: "mysql" | "mariadb" | null;
  checksum: "none" | "crc32" | null;
  faults: Fault[];
}

/** Tables that are kept apart, in a part and in all. */
export const TABLES_MAX = 10_000;
/** Transactions in the lists of the largest and the longest. */
export const TRANSACTIONS_LISTED = 10;
/** DDL and statements that are listed; all are counted. */
export const DDL_LISTED = 1000;
export const STATEMENTS_LISTED = 200;
/** Of one part; more tell nothing new. */
export const FAULTS_MAX = 100;

export const SMALL_ROWS = 100;
export const BULK_ROWS = 1000;
export const LARGE_ROWS = 100_000;
export const LARGE_BYTES = 64 << 20;
