import { unreachable } from "../base/assert.ts";
import { ReplicationError } from "../base/error.ts";
import type { Log } from "../base/log.ts";
import type { ServerAddress } from "../base/server-url.ts";
import type { MariadbGtidPosition } from "../gtid/mariadb.ts";
import type { GtidSet } from "../gtid/mysql.ts";
import type { Connection } from "../wire/connection.ts";
import { Session } from "../wire/session.ts";
import { readErrorPacket } from "../wire/sql-error.ts";
import { sqlText } from "../wire/sql-text.ts";
import { DUMP_POSITION_MAX, dumpCommand, dumpGtidCommand, registerCommand } from "./dump-command.ts";
import { readFacts, type SourceFacts } from "./facts.ts";
import { checkPurged } from "./purged.ts";
import { describeSourceError, type StreamContext } from "./source-error.ts";

/** From where the source is asked to send: what was executed, or a file position. */
export type StreamStart =
  | { kind: "mysql-gtid"; executed: GtidSet }
  | { kind: "mariadb-gtid"; position: MariadbGtidPosition }
  | { kind: "file"; file: string; position: number };

/** Who we are to the source, and how we want the stream. */
export interface ReplicaIdentity {
  serverId: number;
  /** MySQL ends an older stream of the same UUID, so a reconnect leaves no dead dump thread behind. */
  uuid: string;
  /** Shown by SHOW REPLICAS. */
  reportHost: string;
  reportPort: number;
  heartbeatMs: number;
  /** Ask for semi-synchronous replication; only where `SourceFacts.semiSync`. */
  semiSync: boolean;
  /** The source ends the stream where its log ends, instead of waiting for more. Only for a start at a file position; an empty file name means the oldest file. */
  stopsAtEnd?: boolean;
}

/** The replica capability that knows GTIDs (MARIA_SLAVE_CAPABILITY_GTID, `sql/log_event.h`); with less, MariaDB rewrites its events. */
const MARIADB_CAPABILITY = 4;
/** How long the source waits for us while we do not read: its default of 60 s is short for a relay log that has no room. */
const NET_WRITE_TIMEOUT_SECONDS = 600;

/** @throws ReplicationError CONNECT, ACCESS_DENIED, BINLOG_OFF, DUPLICATE_SERVER_ID */
export async function connectSource(
  address: ServerAddress,
  serverId: number,
  log: Log,
): Promise<{ session: Session; facts: SourceFacts }> {
  const session = await Session.connect(address, { programName: "abreast receiver" });
  try {
    return { session, facts: await readFacts(session, serverId, log) };
  } catch (error) {
    session.destroy();
    throw error;
  }
}

/**
 * Turns the session into the event stream: tells the source who we are and what we understand, registers, asks for the dump. Whoever gets the connection
 * must set its `onPacket` and `onClosed` at once. A start above 4 GiB that only a file position can tell begins at the file's start: what comes before it is
 * to be dropped.
 * @throws ReplicationError ACCESS_DENIED, GTID_PURGED, CONFIG (the source has no such GTIDs), CONNECTION_LOST
 */
export async function requestStream(
  session: Session,
  facts: SourceFacts,
  start: StreamStart,
  identity: ReplicaIdentity,
): Promise<Connection> {
  checkKind(facts, start, session.server);
  if (start.kind === "mysql-gtid") await checkPurged(session, start.executed);
  await session.execute(setupStatements(facts, start, identity));
  const connection = session.release();
  const context: StreamContext = { server: session.server, serverId: identity.serverId, start, started: false };
  const answer = await ask(connection, registerCommand(identity));
  if (answer[0] === 0xff) {
    connection.destroy();
    throw describeSourceError(readErrorPacket(answer, session.server), context);
  }
  connection.onPacket = () => {};
  connection.send([dumpFor(start, identity)]);
  return connection;
}

function dumpFor(start: StreamStart, { serverId, stopsAtEnd }: ReplicaIdentity): Buffer {
  switch (start.kind) {
    case "mysql-gtid":
      return dumpGtidCommand(serverId, start.executed);
    case "mariadb-gtid":
      return dumpCommand(serverId, "", 4);
    case "file":
      return dumpCommand(serverId, start.file, start.position > DUMP_POSITION_MAX ? 4 : start.position, stopsAtEnd);
    default:
      return unreachable(start);
  }
}

/** Variables have two names, one before and one since MySQL 8.0.26; setting one that nobody reads does no harm. Heartbeats are in nanoseconds. */
function setupStatements(facts: SourceFacts, start: StreamStart, identity: ReplicaIdentity): string {
  const heartbeat = Math.round(identity.heartbeatMs) * 1_000_000;
  const uuid = sqlText(identity.uuid);
  const variables = [
    // We can check CRC32; whether a file has it says its FORMAT_DESCRIPTION.
    "@master_binlog_checksum='CRC32', @source_binlog_checksum='CRC32'",
    `@master_heartbeat_period=${heartbeat}, @source_heartbeat_period=${heartbeat}`,
    `@slave_uuid=${uuid}, @replica_uuid=${uuid}`,
    `net_write_timeout=${NET_WRITE_TIMEOUT_SECONDS}`,
  ];
  if (identity.semiSync) variables.push("@rpl_semi_sync_slave=1, @rpl_semi_sync_replica=1");
  if (facts.version.flavour === "mariadb") variables.push(`@mariadb_slave_capability=${MARIADB_CAPABILITY}`);
  if (start.kind === "mariadb-gtid") {
    // Strict: a GTID of ours that the source does not have is an error, not a place to guess from.
    variables.push(`@slave_connect_state=${sqlText(start.position.toString())}`);
    variables.push("@slave_gtid_strict_mode=1, @slave_gtid_ignore_duplicates=0");
  }
  return `SET ${variables.join(", ")}`;
}

function checkKind(facts: SourceFacts, start: StreamStart, server: string): void {
  if (start.kind === "file" || start.kind === `${facts.gtids}-gtid`) return;
  const has =
    facts.gtids === "none"
      ? "has gtid_mode other than ON"
      : `is ${facts.version.flavour === "mysql" ? "MySQL" : "MariaDB"}`;
  throw new ReplicationError(
    "CONFIG",
    `the start point is of ${start.kind === "mysql-gtid" ? "MySQL" : "MariaDB"} GTIDs, but the source ${has}`,
    {
      where: { server },
      hint: "start from file:position, or from GTIDs as this source has them",
    },
  );
}

/** One command, one packet in answer. */
function ask(connection: Connection, command: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    connection.onPacket = (bytes, start, end) => resolve(bytes.subarray(start, end));
    connection.onClosed = reject;
    connection.send([command]);
  });
}
