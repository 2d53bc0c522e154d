import type { BinlogFormat } from "../binlog/format.ts";
import type { EventList } from "./event-list.ts";

/** A place in the source's binlog: `position` is the true byte offset, also past 4 GiB (a double is exact to 9 PB). */
export interface SourcePosition {
  file: string;
  position: number;
}

/** A place in our relay log: the number of the relay file and a byte offset in it, at an event's start. */
export interface RelayPosition {
  file: number;
  offset: number;
}

/** What the source calls a transaction. */
export type TransactionId =
  | { kind: "mysql"; uuid: string; tag: string; gno: bigint }
  | { kind: "mariadb"; domainId: number; serverId: number; sequence: bigint }
  | { kind: "anonymous" };

/**
 * - `rows`: row events only, ended by Xid: the fast path, may be packed.
 * - `mixed`: a transaction with statements among its events (statement-format changes, SAVEPOINT, user variables, LOAD DATA, CREATE … SELECT).
 * - `ddl`: one statement outside a transaction, implicit commit.
 * - `xa-prepare`, `xa-commit`, `xa-rollback`: the two halves of a distributed transaction.
 * - `alter-start`, `alter-rollback`: MariaDB's two-phase ALTER, halves that change nothing on the target.
 * - `empty`: nothing to apply, but its identity counts.
 */
export type TransactionKind =
  | "rows"
  | "mixed"
  | "ddl"
  | "xa-prepare"
  | "xa-commit"
  | "xa-rollback"
  | "alter-start"
  | "alter-rollback"
  | "empty";

/**
 * The events between the GTID event and the end, both left out: `Query BEGIN` and Xid are left out too, statements inside stay. Compressed payloads and
 * compressed events are unpacked: every event in `events` is a plain one, without its checksum bytes (event length in the header corrected).
 * A transaction above the memory limit has a `range` of the relay log instead, from its first event (GTID) up to, not including, `to`; its events lie there raw, with
 * `checksum` (bodyEvents reads them).
 */
export type TransactionBody =
  | { events: EventList }
  | { range: { from: RelayPosition; to: RelayPosition; checksum: BinlogFormat["checksum"] } };

/** One source transaction, whole. Immutable once assembled. */
export interface Transaction {
  /** From 1, in the order of the stream, in this run of the engine. */
  ordinal: number;
  id: TransactionId;
  kind: TransactionKind;
  /** Where its first event (GTID) starts and where its last event ends. Same file. */
  start: SourcePosition;
  end: SourcePosition;
  relayEnd: RelayPosition;
  /** How the events of the body are read: without checksum, whatever the source's file has. */
  format: BinlogFormat;
  body: TransactionBody;
  /** Bytes of its events in the source's binlog. */
  bytes: number;
  /** Bytes of the events of its body, unpacked: what is to be applied. */
  eventBytes: number;
  /** Changed rows in its row events: inserts, updates and deletes. */
  rows: number;
  /** The source's logical clock, restarting at each file; 0 and 0 when the source gives none. */
  lastCommitted: number;
  sequenceNumber: number;
  /** MariaDB's commit id of a group commit; transactions with the same one ran together. */
  commitId: bigint | undefined;
  /** The source's connection that ran it; undefined where the binlog does not tell (MariaDB's transactions of row events). */
  sessionId: number | undefined;
  /** MariaDB's per-transaction flags: may it run beside others (FL_ALLOW_PARALLEL), did it wait on the source (FL_WAITED). */
  mariadbFlags:
    | { standalone: boolean; transactional: boolean; allowParallel: boolean; waited: boolean; ddl: boolean }
    | undefined;
  /** When the original source committed it, microseconds since 1970 (seconds × 1e6 where the source tells no more). 0 when unknown. */
  committedAtUs: number;
  /** How it ends: a transaction that ends in `rollback` changed non-transactional tables only. */
  ending: "commit" | "rollback" | "implicit" | "prepare";
  /**
   * It ends in Xid or XA_PREPARE: all that it changed could be rolled back. Otherwise (Query COMMIT, ROLLBACK, a lone statement) it may have changed tables that no
   * rollback restores, and servers with enforce_gtid_consistency refuse it beside changes of others.
   */
  transactional: boolean;
  /** Quoted XA identifier as the server writes it (`X'31',X'',1`), on the three xa kinds. */
  xid: string | undefined;
  /** `schema.table` of every table map in it, each once; for statements the default schema is in `schemas`. */
  tables: ReadonlySet<string>;
  schemas: ReadonlySet<string>;
}

export function describeId(id: TransactionId): string {
  if (id.kind === "mysql") return id.tag === "" ? `${id.uuid}:${id.gno}` : `${id.uuid}:${id.tag}:${id.gno}`;
  if (id.kind === "mariadb") return `${id.domainId}-${id.serverId}-${id.sequence}`;
  return "ANONYMOUS";
}
