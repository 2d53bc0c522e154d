import { ReplicationError } from "../base/error.ts";
import type { ServerAddress } from "../base/server-url.ts";
import { GtidSet } from "../gtid/mysql.ts";
import { Session } from "../wire/session.ts";
import { sqlLiteral } from "../wire/sql-text.ts";
import type { StreamStart } from "./connect.ts";

const HINT =
  "make a new copy with --init=restart; then keep binlogs longer on the source (binlog_expire_logs_seconds, expire_logs_days)";

/**
 * Asked before a dump by GTIDs, because only MySQL 8.0 and later name the missing transactions in their error.
 * @throws ReplicationError GTID_PURGED with the missing GTIDs
 */
export async function checkPurged(session: Session, executed: GtidSet): Promise<void> {
  const purged = GtidSet.parse(((await session.queryValue("SELECT @@global.gtid_purged")) ?? "").replaceAll("\n", ""));
  const missing = purged.subtract(executed);
  if (missing.isEmpty) return;
  throw new ReplicationError("GTID_PURGED", `the source has purged transactions that we need: ${missing.toString()}`, {
    where: { server: session.server },
    hint: HINT,
  });
}

/**
 * MariaDB refuses a position that is too old without saying what it has: its oldest file begins with the list of GTIDs before it. The same error with that
 * in it, or the error itself when the source may not be asked (BINLOG MONITOR, REPLICATION SLAVE).
 */
export async function explainPurged(
  error: ReplicationError,
  address: ServerAddress,
  start: StreamStart,
): Promise<ReplicationError> {
  if (error.code !== "GTID_PURGED" || start.kind !== "mariadb-gtid") return error;
  let oldest: string;
  let session: Session | undefined;
  try {
    session = await Session.connect(address);
    const file = (await session.query("SHOW BINARY LOGS"))[0]?.["Log_name"] ?? "";
    const events = await session.query(`SHOW BINLOG EVENTS IN ${sqlLiteral(file)} LIMIT 2`);
    oldest = /^\[(.*)\]$/.exec(events.find((event) => event["Event_type"] === "Gtid_list")?.["Info"] ?? "")?.[1] ?? "";
  } catch {
    return error;
  } finally {
    session?.destroy();
  }
  return new ReplicationError(
    "GTID_PURGED",
    `the source has purged transactions that we need: we have ${start.position.toString()}, its oldest binlog goes on after ${oldest}`,
    { where: error.where, hint: HINT, cause: error },
  );
}
