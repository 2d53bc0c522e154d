import { type ErrorCode, type ErrorDetails, ReplicationError, type Where } from "../base/error.ts";

/** A server's answer that a statement failed. `sqlCode` is its number (1213), `sqlState` five characters (40001); the message is the server's own. */
export class SqlError extends ReplicationError {
  readonly sqlCode: number;
  readonly sqlState: string;

  constructor(code: ErrorCode, message: string, sqlCode: number, sqlState: string, details: ErrorDetails = {}) {
    super(code, message, details);
    this.sqlCode = sqlCode;
    this.sqlState = sqlState;
  }

  override at(where: Where): SqlError {
    return new SqlError(this.code, this.message, this.sqlCode, this.sqlState, {
      retry: this.retry,
      where: { ...where, ...this.where },
      ...(this.hint === undefined ? {} : { hint: this.hint }),
      cause: this.cause,
    });
  }
}

/** Rolled back by the server, and good to try again: what its own replica retries (`sql/rpl_rli.cc` has_temporary_error; MariaDB's slave_transaction_retry_errors). */
const TEMPORARY = new Set([
  1020, // MariaDB: record changed since last read (innodb_snapshot_isolation)
  1205, // lock wait timeout
  1213, // deadlock
  1613, // XA: transaction branch rolled back, took too long
  1614, // XA: transaction branch rolled back, deadlock
  3101, // rolled back by the plugin that certifies commits
  3572, // NOWAIT lock not available
]);

/** The session is over or about to be. */
const SESSION_ENDED = new Set([
  1053, // shutdown in progress
  1152, // aborted connection
  1158, // error reading packets
  1159, // timeout reading packets
  1160, // error writing packets
  1161, // timeout writing packets
  1184, // aborted connection
  1927, // MariaDB: connection was killed
  3169, // session was killed
  4031, // disconnected because of inactivity
]);

/** Login or grants. */
const ACCESS = new Set([
  1044, 1045, 1130, 1131, 1132, 1133, 1141, 1142, 1143, 1147, 1211, 1227, 1251, 1275, 1370, 1410, 1524, 1698, 1820,
  1862, 1873, 3118, 3159, 3878, 3879, 3955, 4151,
]);

/** The server has no room for us now: too many connections, of this user, per hour; host blocked for now. */
const NO_ROOM = new Set([1040, 1041, 1129, 1135, 1203, 1226]);

export function sqlErrorCode(sqlCode: number): ErrorCode {
  if (TEMPORARY.has(sqlCode)) return "APPLY_TEMPORARY";
  if (SESSION_ENDED.has(sqlCode)) return "CONNECTION_LOST";
  if (ACCESS.has(sqlCode)) return "ACCESS_DENIED";
  if (NO_ROOM.has(sqlCode)) return "CONNECT";
  return "APPLY";
}

/** Reads an ERR packet: 0xff, number, `#` and SQL state, message. */
export function readErrorPacket(payload: Buffer, server: string): SqlError {
  const sqlCode = payload.length < 3 ? 0 : payload.readUInt16LE(1);
  const hasState = payload[3] === 0x23;
  const sqlState = hasState ? payload.toString("latin1", 4, 9) : "HY000";
  const message = payload.toString("utf8", hasState ? 9 : 3);
  const code = sqlErrorCode(sqlCode);
  return new SqlError(code, `${message} (error ${sqlCode})`, sqlCode, sqlState, {
    where: { server },
    ...(code === "ACCESS_DENIED"
      ? { hint: "grant the user of this server what is missing: abreast preflight lists it" }
      : {}),
  });
}
