import { unreachable } from "../base/assert.ts";
import { type ErrorCode, ReplicationError } from "../base/error.ts";
import { SqlError } from "../wire/sql-error.ts";
import type { StreamStart } from "./connect.ts";

/** The number of every error that ends a dump for good; the text says which (ER_SOURCE_FATAL_ERROR_READING_BINLOG). */
const FATAL = 1236;
/** MariaDB: a replica of the same server id connected (ER_SLAVE_SAME_ID). */
const SAME_ID = 4052;
/** MariaDB: GTID position not found in the binlog, two texts. */
const GTID_NOT_FOUND = new Set([1945, 1955]);

export interface StreamContext {
  server: string;
  serverId: number;
  start: StreamStart;
  /** Whether an event of the source's file has come since the start: before it, unreadable bytes mean a wrong position. */
  started: boolean;
}

interface Meaning {
  text: RegExp;
  code: ErrorCode;
  hint: (context: StreamContext) => string;
}

const NEW_COPY = "make a new copy with --init=restart, or a start point that the source still has";

/**
 * What the dump thread says (`sql/rpl_binlog_sender.cc`, `sql/binlog.cc` of MySQL; `sql/sql_repl.cc` of MariaDB), in the words of all versions: master and
 * slave became source and replica.
 */
const MEANINGS: readonly Meaning[] = [
  {
    text: /purged (required )?binary logs|could not find gtid state requested/i,
    code: "GTID_PURGED",
    hint: () => `${NEW_COPY}; then keep binlogs longer (binlog_expire_logs_seconds, expire_logs_days)`,
  },
  {
    text: /which is not in the (master|source)'s binlog|is missing the GTID|(slave|replica) has more GTIDs than/i,
    code: "POSITION_NOT_FOUND",
    hint: () =>
      "this source lacks transactions that we have: was it restored, or is it another server? if it is right, make a new copy with --init=restart",
  },
  {
    text: /could not find first log file name|could not find .* in binary log index|log file .* not found/i,
    code: "POSITION_NOT_FOUND",
    hint: () => `look at SHOW BINARY LOGS on the source; ${NEW_COPY}`,
  },
  {
    text: /position > file size|impossible position|position < 4/i,
    code: "POSITION_NOT_FOUND",
    hint: () => "look at SHOW BINARY LOGS on the source for the size of that file",
  },
  {
    text: /same (server_uuid\/)?server_id/i,
    code: "DUPLICATE_SERVER_ID",
    hint: ({ serverId }) =>
      `another replica uses our server id ${serverId} or UUID: give each its own with --server-id`,
  },
  {
    text: /binary log is not open/i,
    code: "BINLOG_OFF",
    hint: () => "start the source with --log-bin, --server-id and --binlog-format=ROW",
  },
  {
    text: /GTID_MODE = /i,
    code: "CONFIG",
    hint: () => "set gtid_mode=ON on the source, or start from file:position",
  },
  {
    text: /exceeded max_allowed_packet/i,
    code: "SOURCE",
    hint: () => "on the source: SET GLOBAL max_allowed_packet=1073741824",
  },
  {
    text: /server_id was not set|misconfigured/i,
    code: "SOURCE",
    hint: () => "give the source a server_id other than 0",
  },
];

/** Unreadable where the stream began: there is no event at that position. */
const UNREADABLE =
  /bogus data|did not pass crc|exceeded max_allowed_packet|truncated in the middle|I\/O error|error reading log event/i;

/** Our own words for an error packet that came in the place of the stream, the server's kept in them. */
export function describeSourceError(error: ReplicationError, context: StreamContext): ReplicationError {
  if (!(error instanceof SqlError)) return error;
  const where = { server: context.server, ...whereOf(context.start) };
  if (error.code === "ACCESS_DENIED") {
    return new ReplicationError("ACCESS_DENIED", `the source does not let us replicate: ${error.message}`, {
      where: { server: context.server },
      hint: "run on the source: GRANT REPLICATION SLAVE ON *.* TO the user",
      cause: error,
    });
  }
  if (error.sqlCode !== FATAL && error.sqlCode !== SAME_ID && !GTID_NOT_FOUND.has(error.sqlCode)) {
    return new ReplicationError("CONNECTION_LOST", `the source ended the stream: ${error.message}`, {
      where,
      cause: error,
    });
  }
  if (!context.started && context.start.kind === "file" && UNREADABLE.test(error.message)) {
    return new ReplicationError("POSITION_NOT_FOUND", `no event starts there: ${error.message}`, {
      where,
      hint: "give the position of a transaction's start (SHOW BINLOG EVENTS IN … on the source)",
      cause: error,
    });
  }
  const meaning = MEANINGS.find(({ text }) => text.test(error.message));
  return new ReplicationError(meaning?.code ?? "SOURCE", `the source says: ${error.message}`, {
    where,
    ...(meaning === undefined ? {} : { hint: meaning.hint(context) }),
    cause: error,
  });
}

function whereOf(start: StreamStart): { file?: string; position?: number; gtid?: string } {
  switch (start.kind) {
    case "file":
      return { file: start.file, position: start.position };
    case "mysql-gtid":
      return { gtid: start.executed.toString() };
    case "mariadb-gtid":
      return { gtid: start.position.toString() };
    default:
      return unreachable(start);
  }
}
