import { assert } from "../../base/assert.ts";
import type { BinlogFormat } from "../format.ts";
/** Session context that a statement ran in; what the event does not say is absent. Numbers of character sets are collation ids. */
export interface QueryStatus {
  flags2?: number;
  sqlMode?: bigint;
  catalog?: string;
  autoIncrementIncrement?: number;
  autoIncrementOffset?: number;
  characterSetClient?: number;
  collationConnection?: number;
  collationServer?: number;
  timeZone?: string;
  /** Number of the locale of month and day names. */
  lcTimeNames?: number;
  collationDatabase?: number;
  tableMapForUpdate?: bigint;
  masterDataWritten?: number;
  invokerUser?: string;
  invokerHost?: string;
  /** `"*"`: more than 16, treat as all. */
  updatedSchemas?: string[] | "*";
  /** Fraction of the header's timestamp, µs. MySQL's Q_MICROSECONDS and MariaDB's Q_HRNOW. */
  microseconds?: number;
  explicitDefaultsForTimestamp?: boolean;
  ddlXid?: bigint;
  defaultCollationForUtf8mb4?: number;
  sqlRequirePrimaryKey?: number;
  defaultTableEncryption?: number;
  /** MariaDB. */
  xid?: bigint;
  gtidFlags3?: number;
  characterSetCollations?: { characterSet: number; collation: number }[];
}
/** Bits of `QueryStatus.flags2`, and of no other. */
export const QUERY_FLAG2 = {
  AUTO_IS_NULL: 0x4000,
  NOT_AUTOCOMMIT: 0x80000,
  NO_FOREIGN_KEY_CHECKS: 0x4000000,
  RELAXED_UNIQUE_CHECKS: 0x8000000,
  /** MariaDB. */
  IF_EXISTS: 0x10000000,
  INSERT_HISTORY: 0x20000000,
  /** MariaDB: inverted in the log. */
  CHECK_CONSTRAINT_CHECKS_OFF: 0x40000000,
} as const;
export interface QueryEvent {
  kind: "query";
  threadId: number;
  executionSeconds: number;
  errorCode: number;
  schema: string;
  status: QueryStatus;
  /** The statement, in the character set `status.characterSetClient`: bytes, a view into the event. */
  sql: Buffer;
}
export function decodeQuery(_event: Buffer, _format: BinlogFormat): QueryEvent {
  return todo();
}
/** Where the statement's bytes lie, without decoding the rest: `[sqlOffset(event), contentEnd)`. */
export function querySqlOffset(_event: Buffer, _format: BinlogFormat): number {
  return todo();
}

const todo = (): never => {
  assert(false, "not written yet");
};
