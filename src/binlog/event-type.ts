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

/** As SHOW BINLOG EVENTS prints them: sql/log_event.cc, get_type_str, of MySQL 9 and MariaDB 11.8. */
const MYSQL_NAMES: Readonly<Record<number, string>> = {
  0: "Unknown",
  1: "Start_v3",
  2: "Query",
  3: "Stop",
  4: "Rotate",
  5: "Intvar",
  6: "Load",
  7: "Slave",
  8: "Create_file",
  9: "Append_block",
  10: "Exec_load",
  11: "Delete_file",
  12: "New_load",
  13: "RAND",
  14: "User var",
  15: "Format_desc",
  16: "Xid",
  17: "Begin_load_query",
  18: "Execute_load_query",
  19: "Table_map",
  20: "Write_rows_event_old",
  21: "Update_rows_event_old",
  22: "Delete_rows_event_old",
  23: "Write_rows_v1",
  24: "Update_rows_v1",
  25: "Delete_rows_v1",
  26: "Incident",
  27: "Heartbeat",
  28: "Ignorable",
  29: "Rows_query",
  30: "Write_rows",
  31: "Update_rows",
  32: "Delete_rows",
  33: "Gtid",
  34: "Anonymous_Gtid",
  35: "Previous_gtids",
  36: "Transaction_context",
  37: "View_change",
  38: "XA_prepare",
  39: "Update_rows_partial",
  40: "Transaction_payload",
  41: "Heartbeat_v2",
  42: "Gtid_tagged_log_event",
};

const MARIADB_NAMES: Readonly<Record<number, string>> = {
  160: "Annotate_rows",
  161: "Binlog_checkpoint",
  162: "Gtid",
  163: "Gtid_list",
  164: "Start_encryption",
  165: "Query_compressed",
  166: "Write_rows_compressed_v1",
  167: "Update_rows_compressed_v1",
  168: "Delete_rows_compressed_v1",
  169: "Write_rows_compressed",
  170: "Update_rows_compressed",
  171: "Delete_rows_compressed",
};

/** The server's own name of the type; `Unknown(57)` for a number that has none in that flavour. */
export function eventTypeName(type: number, flavour: BinlogFormat["flavour"]): string {
  const name =
    type >= MARIADB_EVENTS_START ? (flavour === "mariadb" ? MARIADB_NAMES[type] : undefined) : MYSQL_NAMES[type];
  return name ?? `Unknown(${type})`;
}

const EVENT_TYPES: ReadonlySet<number> = new Set<number>(Object.values(EVENT_TYPE));

/** Whether a table of ours has it, in either flavour. */
export function isKnownEventType(type: number): boolean {
  return EVENT_TYPES.has(type);
}
