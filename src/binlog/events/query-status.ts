import type { ByteReader } from "../../base/reader.ts";

/** Session context that a statement ran in; what the event does not say is absent. Character sets are told by collation ids. */
export interface QueryStatus {
  /** QUERY_FLAG2. */
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
  enableCascadeTriggers?: number;
  /** MariaDB: number of the DDL statement in the source's own two-phase commit. */
  xid?: bigint;
  /** MariaDB: the GTID event's extra flags, on the halves of a two-phase ALTER, and the sequence of its start. */
  gtidFlagsExtra?: number;
  alterStartSequence?: bigint;
  /** MariaDB 11.2 and later: what collation a bare character set means. */
  characterSetCollations?: { characterSet: number; collation: number }[];
}

/**
 * Bits of `QueryStatus.flags2` (OPTIONS_WRITTEN_TO_BIN_LOG: sql/query_options.h, MySQL 8.0; sql/sql_priv.h, MariaDB 10.11). A set bit means what its name says, so that a
 * check is switched off by it.
 */
export const QUERY_FLAG2 = {
  AUTO_IS_NULL: 0x4000,
  NOT_AUTOCOMMIT: 0x8_0000,
  NO_FOREIGN_KEY_CHECKS: 0x400_0000,
  RELAXED_UNIQUE_CHECKS: 0x800_0000,
  /** From here on MariaDB's. */
  NO_CHECK_CONSTRAINT_CHECKS: 0x8000,
  EXPLICIT_DEFAULTS_FOR_TIMESTAMP: 0x100_0000,
  IF_EXISTS: 0x1000_0000,
  INSERT_HISTORY: 0x4000_0000,
} as const;

/** More schemas than this are written as 254, "many" (MAX_DBS_IN_EVENT_MTS, OVER_MAX_DBS_IN_EVENT_MTS). */
const UPDATED_SCHEMAS_MAX = 16;

/** Codes of MySQL up to 9.7 (libs/mysql/binlog/event/statement_events.h) and, from 128, of MariaDB up to 11.8 (sql/log_event.h). */
const CODE = {
  FLAGS2: 0,
  SQL_MODE: 1,
  CATALOG: 2,
  AUTO_INCREMENT: 3,
  CHARSET: 4,
  TIME_ZONE: 5,
  CATALOG_NZ: 6,
  LC_TIME_NAMES: 7,
  CHARSET_DATABASE: 8,
  TABLE_MAP_FOR_UPDATE: 9,
  MASTER_DATA_WRITTEN: 10,
  INVOKER: 11,
  UPDATED_DB_NAMES: 12,
  MICROSECONDS: 13,
  COMMIT_TS: 14,
  COMMIT_TS2: 15,
  EXPLICIT_DEFAULTS_FOR_TIMESTAMP: 16,
  DDL_LOGGED_WITH_XID: 17,
  DEFAULT_COLLATION_FOR_UTF8MB4: 18,
  SQL_REQUIRE_PRIMARY_KEY: 19,
  DEFAULT_TABLE_ENCRYPTION: 20,
  ENABLE_CASCADE_TRIGGERS: 21,
  HRNOW: 128,
  XID: 129,
  GTID_FLAGS3: 130,
  CHARACTER_SET_COLLATIONS: 131,
  /** Filler where a GTID event was made into a BEGIN. */
  DUMMY: 255,
} as const;

/** FL_COMMIT_ALTER and FL_ROLLBACK_ALTER of the extra flags: a sequence follows. */
const ALTER_ENDED = 4 | 8;

/**
 * Reads the status variables between the reader's offset and `end`: `u8 code; value`, in any order. The value's length follows from the code, so that nothing
 * can be read behind an unknown one: the rest is left out, as the servers do.
 */
export function decodeQueryStatus(reader: ByteReader, end: number): QueryStatus {
  const status: QueryStatus = {};
  while (reader.offset < end) {
    if (!readVariable(reader, status, end)) break;
  }
  if (reader.offset > end) reader.fail("a query's status variables run into its text");
  reader.skip(end - reader.offset);
  return status;
}

/** False on an unknown code. */
function readVariable(reader: ByteReader, status: QueryStatus, end: number): boolean {
  const code = reader.u8();
  switch (code) {
    case CODE.FLAGS2:
      status.flags2 = reader.u32();
      return true;
    case CODE.SQL_MODE:
      status.sqlMode = reader.u64();
      return true;
    case CODE.CATALOG:
      status.catalog = reader.text(reader.u8());
      reader.skip(1);
      return true;
    case CODE.AUTO_INCREMENT:
      status.autoIncrementIncrement = reader.u16();
      status.autoIncrementOffset = reader.u16();
      return true;
    case CODE.CHARSET:
      status.characterSetClient = reader.u16();
      status.collationConnection = reader.u16();
      status.collationServer = reader.u16();
      return true;
    case CODE.TIME_ZONE:
      status.timeZone = reader.text(reader.u8());
      return true;
    case CODE.CATALOG_NZ:
      status.catalog = reader.text(reader.u8());
      return true;
    case CODE.LC_TIME_NAMES:
      status.lcTimeNames = reader.u16();
      return true;
    case CODE.CHARSET_DATABASE:
      status.collationDatabase = reader.u16();
      return true;
    case CODE.TABLE_MAP_FOR_UPDATE:
      status.tableMapForUpdate = reader.u64();
      return true;
    case CODE.MASTER_DATA_WRITTEN:
      status.masterDataWritten = reader.u32();
      return true;
    case CODE.INVOKER:
      status.invokerUser = reader.text(reader.u8());
      status.invokerHost = reader.text(reader.u8());
      return true;
    case CODE.UPDATED_DB_NAMES:
      status.updatedSchemas = readUpdatedSchemas(reader, end);
      return true;
    case CODE.MICROSECONDS:
    case CODE.HRNOW:
      status.microseconds = reader.u24();
      return true;
    case CODE.COMMIT_TS:
      reader.skip(8);
      return true;
    case CODE.COMMIT_TS2:
      reader.skip(16);
      return true;
    case CODE.EXPLICIT_DEFAULTS_FOR_TIMESTAMP:
      status.explicitDefaultsForTimestamp = reader.u8() !== 0;
      return true;
    case CODE.DDL_LOGGED_WITH_XID:
      status.ddlXid = reader.u64();
      return true;
    case CODE.DEFAULT_COLLATION_FOR_UTF8MB4:
      status.defaultCollationForUtf8mb4 = reader.u16();
      return true;
    case CODE.SQL_REQUIRE_PRIMARY_KEY:
      status.sqlRequirePrimaryKey = reader.u8();
      return true;
    case CODE.DEFAULT_TABLE_ENCRYPTION:
      status.defaultTableEncryption = reader.u8();
      return true;
    case CODE.ENABLE_CASCADE_TRIGGERS:
      status.enableCascadeTriggers = reader.u8();
      return true;
    case CODE.XID:
      status.xid = reader.u64();
      return true;
    case CODE.GTID_FLAGS3:
      status.gtidFlagsExtra = reader.u8();
      if ((status.gtidFlagsExtra & ALTER_ENDED) !== 0) status.alterStartSequence = reader.u64();
      return true;
    case CODE.CHARACTER_SET_COLLATIONS:
      status.characterSetCollations = [];
      for (let left = reader.u8(); left > 0; left--) {
        status.characterSetCollations.push({ characterSet: reader.u16(), collation: reader.u16() });
      }
      return true;
    case CODE.DUMMY:
      return true;
    default:
      return false;
  }
}

function readUpdatedSchemas(reader: ByteReader, end: number): string[] | "*" {
  const count = reader.u8();
  if (count > UPDATED_SCHEMAS_MAX) return "*";
  const schemas: string[] = [];
  for (let i = 0; i < count && reader.offset < end; i++) schemas.push(reader.nulTerminated());
  return schemas;
}
