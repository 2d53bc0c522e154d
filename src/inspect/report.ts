import type { Fault } from "./input/input.ts";
import type { ParallelismReport } from "./parallelism/parallelism.ts";

/** All that `inspect` says of a log: the JSON of `inspect --json`, documented in docs/cli-json.md. Times are ISO 8601, UTC, with microseconds where the log has them. */
export interface InspectReport {
  files: FileReport[];
  /** Groups of events that commit together, as the server's applier counts them; DDL is one each. */
  transactions: number;
  /** Those inside compressed transactions included. */
  events: number;
  eventsByType: EventTypeReport[];
  rows: RowCounts;
  /** Of all events, as they lie in the files (uncompressed files). */
  bytes: number;
  /** Of all events once compressed transactions and events are unpacked. */
  unpackedBytes: number;
  /** When the first and the last transaction were committed, in the order of the log. */
  firstAt: string | null;
  lastAt: string | null;
  /** From the earliest to the latest commit. */
  seconds: number;
  rate: RateReport;
  tables: TableReport[];
  /** More tables than are kept apart were changed; what is missing in `tables`. */
  tablesLeftOut: number;
  patterns: PatternsReport;
  largest: TransactionReport[];
  /** By the time from the first event's clock to the commit: how long it had been open, as far as the log tells. */
  longest: TransactionReport[];
  ddl: StatementReport[];
  ddlCount: number;
  /** Changes logged as statements. */
  statements: StatementReport[];
  statementCount: number;
  sizeClasses: SizeClasses;
  gtids: GtidReport;
  groupCommit: GroupCommitReport;
  /** `commitParentDistance` is of the whole log; `policies` is empty when it was not asked for. */
  parallelism: ParallelismReport | null;
  /** Whether each event's CRC was checked. */
  checksumsVerified: boolean;
  faults: Fault[];
}

export interface FileReport {
  name: string;
  /** Uncompressed bytes read. */
  bytes: number;
  /** As it lies on disk; null where that is not known. */
  fileBytes: number | null;
  transactions: number;
  events: number;
  serverVersion: string | null;
  checksum: "none" | "crc32" | null;
  firstAt: string | null;
  lastAt: string | null;
}

export interface EventTypeReport {
  /** The server's name: `Write_rows`. */
  type: string;
  /** Its number in the log. */
  code: number;
  events: number;
  bytes: number;
}

export interface RowCounts {
  inserted: number;
  updated: number;
  deleted: number;
}

/** The load over time: at most 480 buckets of equal width, the first beginning at `from`. */
export interface RateReport {
  from: string | null;
  bucketSeconds: number;
  /** Per bucket. */
  transactions: number[];
  rows: number[];
  bytes: number[];
  /** Averages over the time span, null when it is less than a second; where clocks tell whole seconds, the last one counts too. */
  perSecond: Load | null;
  perMinute: Load | null;
  /** The busiest bucket, as a rate per second. */
  peak: (Load & { at: string }) | null;
}

export interface Load {
  transactions: number;
  rows: number;
  bytes: number;
}

export interface TableReport {
  schema: string;
  table: string;
  inserts: number;
  updates: number;
  deletes: number;
  transactions: number;
  /** Of its row events and table maps, unpacked. */
  bytes: number;
  /** Of them: column values that minimal row images (binlog_row_image=MINIMAL) would not have. */
  savableBytes: number;
  /** Updates whose images are equal. */
  emptyUpdates: number;
  /** How rows were told apart: by a key that the schema or the log names, by a guess (the first column), or not at all. */
  keyFrom: "schema" | "log" | "guess" | "none";
  key: string[] | null;
}

export interface PatternsReport {
  /** The same key deleted, then inserted again: inside one transaction, and in one of the next few. */
  deleteThenInsert: { inside: number; across: number; tables: { schema: string; table: string; count: number }[] };
  /** The most changed rows; inserts count only where the row had been changed before. */
  hotRows: HotRow[];
  emptyUpdates: number;
  /** Of tables that the log or the schema shows to have no key. */
  tablesWithoutKey: string[];
  /** What minimal row images would save: bytes, and their part of all bytes. */
  savableBytes: number;
  savableShare: number;
}

export interface HotRow {
  /** `schema.table`. */
  table: string;
  /** The key's values, as text. */
  key: string;
  /** What is taken for the key is the table's first column. */
  guessed: boolean;
  /** It was changed at least so often, */
  count: number;
  /** and at most so often. */
  countMax: number;
  /** Part of all changed rows. */
  share: number;
}

export interface TransactionReport {
  /** `uuid:gno`, `domain-server-sequence`, or null. */
  gtid: string | null;
  file: string;
  position: number;
  bytes: number;
  rows: number;
  at: string | null;
  /** Whole ones, since the begin is told in whole ones: up to one more or less. */
  seconds: number;
  tables: string[];
}

export interface StatementReport {
  gtid: string | null;
  file: string;
  position: number;
  at: string | null;
  /** As the source says: whole seconds. */
  executionSeconds: number;
  schema: string;
  /** Shortened to 500 characters. */
  text: string;
}

/** By changed rows, and by bytes for large ones. `bulk`: those of `medium` with 1,000 rows and more. */
export interface SizeClasses {
  small: number;
  medium: number;
  large: number;
  bulk: number;
}

export interface GtidReport {
  /** Every GTID read, as the server writes a set; null when there are none. For MariaDB the last of each domain, as gtid_slave_pos has it. */
  set: string | null;
  /** As they were read, whatever their sources are. */
  first: string | null;
  last: string | null;
  /** By UUID, UUID and tag, or MariaDB's domain: the lowest and the highest number, and how many gaps there are between. */
  sources: { source: string; from: string; to: string; gapCount: number }[];
  /** Numbers that are missing between those read, or came out of order. */
  gaps: { source: string; from: string; to: string }[];
  gapCount: number;
}

/** Transactions that the source committed together. */
export interface GroupCommitReport {
  /** What tells them: equal last_committed of neighbours, or MariaDB's commit id. */
  by: "last_committed" | "commit id" | null;
  groups: number;
  meanSize: number;
  largest: number;
  /** Groups by size, in powers of two: up to 1, 2, 4, … */
  sizes: { upTo: number; groups: number }[];
}
