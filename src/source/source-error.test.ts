import { expect, test } from "vitest";
import type { ErrorCode } from "../base/error.ts";
import { ReplicationError } from "../base/error.ts";
import { readErrorPacket } from "../wire/sql-error.ts";
import { describeSourceError, type StreamContext } from "./source-error.ts";

const CONTEXT: StreamContext = {
  server: "repl@db1:3306",
  serverId: 42,
  start: { kind: "file", file: "binlog.000003", position: 4711 },
  started: true,
};

function told(sqlCode: number, message: string, context: Partial<StreamContext> = {}): ReplicationError {
  const head = Buffer.from([0xff, sqlCode & 0xff, sqlCode >> 8]);
  const packet = Buffer.concat([head, Buffer.from("#HY000"), Buffer.from(message)]);
  return describeSourceError(readErrorPacket(packet, CONTEXT.server), { ...CONTEXT, ...context });
}

const CASES: [version: string, sqlCode: number, message: string, code: ErrorCode, hint: RegExp][] = [
  [
    "5.6",
    1236,
    "The slave is connecting using CHANGE MASTER TO MASTER_AUTO_POSITION = 1, but the master has purged binary logs containing GTIDs that the slave requires.",
    "GTID_PURGED",
    /--init/,
  ],
  [
    "8.0",
    1236,
    "Cannot replicate because the master purged required binary logs. Replicate the missing transactions from elsewhere, or provision a new slave from backup.",
    "GTID_PURGED",
    /--init/,
  ],
  [
    "8.4",
    1236,
    "Cannot replicate because the source purged required binary logs. Replicate the missing transactions from elsewhere.",
    "GTID_PURGED",
    /--init/,
  ],
  [
    "MariaDB",
    1236,
    "Could not find GTID state requested by slave in any binlog files. Probably the slave state is too old and required binlog files have been purged.",
    "GTID_PURGED",
    /--init/,
  ],
  [
    "MariaDB",
    1236,
    "Error: connecting slave requested to start from GTID 0-1-100, which is not in the master's binlog",
    "POSITION_NOT_FOUND",
    /transactions that we have/,
  ],
  [
    "MariaDB",
    1236,
    "The binlog on the master is missing the GTID 0-1-100 requested by the slave (even though a subsequent sequence number does exist), and GTID strict mode is enabled",
    "POSITION_NOT_FOUND",
    /transactions that we have/,
  ],
  [
    "5.6",
    1236,
    "Slave has more GTIDs than the master has, using the master's SERVER_UUID.",
    "POSITION_NOT_FOUND",
    /restored/,
  ],
  [
    "9.7",
    1236,
    "Replica has more GTIDs than the source has, using the source's SERVER_UUID.",
    "POSITION_NOT_FOUND",
    /restored/,
  ],
  [
    "all",
    1236,
    "Could not find first log file name in binary log index file",
    "POSITION_NOT_FOUND",
    /SHOW BINARY LOGS/,
  ],
  [
    "5.6",
    1236,
    "Client requested master to start replication from position > file size",
    "POSITION_NOT_FOUND",
    /SHOW BINARY LOGS/,
  ],
  [
    "MariaDB",
    1236,
    "Client requested master to start replication from impossible position",
    "POSITION_NOT_FOUND",
    /SHOW BINARY LOGS/,
  ],
  [
    "5.7",
    1236,
    "A slave with the same server_uuid/server_id as this slave has connected to the master; the first event 'x' at 4",
    "DUPLICATE_SERVER_ID",
    /42/,
  ],
  [
    "9.7",
    1236,
    "A replica with the same server_uuid/server_id as this replica has connected to the source; the first event 'x' at 4",
    "DUPLICATE_SERVER_ID",
    /42/,
  ],
  ["MariaDB 11.8", 4052, "A slave with the same server_id is already connected", "DUPLICATE_SERVER_ID", /--server-id/],
  ["all", 1236, "Binary log is not open", "BINLOG_OFF", /--log-bin/],
  [
    "9.7",
    1236,
    "The replication sender thread cannot start in AUTO_POSITION mode: this server has GTID_MODE = OFF instead of ON.",
    "CONFIG",
    /gtid_mode/,
  ],
  [
    "all",
    1236,
    "log event entry exceeded max_allowed_packet; Increase max_allowed_packet on source; the first event 'x' at 4",
    "SOURCE",
    /max_allowed_packet=1073741824/,
  ],
  ["5.6", 1236, "Misconfigured master - master server_id is 0", "SOURCE", /server_id/],
  ["8.0", 1045, "Access denied for user 'repl'@'%' (using password: YES)", "ACCESS_DENIED", /GRANT REPLICATION SLAVE/],
  [
    "8.0",
    1227,
    "Access denied; you need (at least one of) the REPLICATION SLAVE privilege(s) for this operation",
    "ACCESS_DENIED",
    /GRANT REPLICATION SLAVE/,
  ],
];

test.each(CASES)("%s: error %i, %s", (_version, sqlCode, message, code, hint) => {
  const error = told(sqlCode, message);
  expect(error.code).toBe(code);
  expect(error.retry).toBe("never");
  expect(error.hint).toMatch(hint);
  expect(error.message).toContain(message);
  expect(error.where.server).toBe("repl@db1:3306");
});

test.each([
  [1053, "Server shutdown in progress"],
  [1317, "Query execution was interrupted"],
  [1927, "Connection was killed"],
  [1105, "Unknown error"],
])("error %i is no fault of the stream: it is asked for again", (sqlCode, message) => {
  expect(told(sqlCode, message)).toMatchObject({ code: "CONNECTION_LOST", retry: "later" });
});

test("unreadable bytes mean a wrong position at the start, and a fault of the source later", () => {
  const message = "bogus data in log event; the first event 'binlog.000003' at 4711";
  expect(told(1236, message, { started: false })).toMatchObject({
    code: "POSITION_NOT_FOUND",
    where: { file: "binlog.000003", position: 4711 },
  });
  expect(told(1236, message).code).toBe("SOURCE");
});

test("a text that no version we know has is still told, with where", () => {
  expect(told(1236, "something new")).toMatchObject({
    code: "SOURCE",
    message: "the source says: something new (error 1236)",
  });
});

test("errors of our own pass as they are", () => {
  const error = new ReplicationError("CONNECTION_LOST", "cut");
  expect(describeSourceError(error, CONTEXT)).toBe(error);
});
