import type { GtidName } from "./gtid-name.ts";
import type { TableCounts } from "./table-counts.ts";

/** A table that a transaction changes, and where its changes are counted. */
export interface CountedTable {
  /** `schema.table`. */
  name: string;
  counts: TableCounts;
}

/** The transaction that is being read. One object, filled anew for each: a log has millions. */
export class OpenTransaction implements GtidName {
  /** From 1, in the part of the log. */
  number = 0;
  /** Offset of its first event in the file. */
  offset = 0;
  bytes = 0;
  unpackedBytes = 0;
  rows = 0;
  /** Seconds: the clock of its first event behind the GTID event, which is when its first statement began; 0: there is none. */
  beganAt = 0;
  /** As the GTID event says; 0: it does not. */
  committedAtUs = 0;
  lastCommitted = 0;
  sequenceNumber = 0;
  /** MariaDB's id of a group commit; 0: none. */
  commitId = 0;
  gtidSource = "";
  gtidNumber = 0;
  serverId = 0;
  readonly tables: CountedTable[] = [];

  begin(offset: number): void {
    this.number++;
    this.offset = offset;
    this.bytes = 0;
    this.unpackedBytes = 0;
    this.rows = 0;
    this.beganAt = 0;
    this.committedAtUs = 0;
    this.lastCommitted = 0;
    this.sequenceNumber = 0;
    this.commitId = 0;
    this.gtidSource = "";
    this.gtidNumber = 0;
    this.serverId = 0;
    this.tables.length = 0;
  }
}
