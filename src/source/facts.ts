import { ReplicationError } from "../base/error.ts";
import type { Log } from "../base/log.ts";
import type { ServerVersion } from "../wire/server-version.ts";
import type { Session } from "../wire/session.ts";

/** What the source says of itself when we connect. */
export interface SourceFacts {
  version: ServerVersion;
  serverId: number;
  /** Empty with MariaDB, which has none. */
  serverUuid: string;
  /** Whether a replica can ask by GTIDs: MySQL with gtid_mode=ON, MariaDB always. */
  gtids: "mysql" | "mariadb" | "none";
  binlogFormat: string;
  /** What its newest binlog file has; older ones may differ. */
  checksum: "crc32" | "none";
  semiSync: boolean;
  /** The source's clock minus ours, milliseconds, to half a round trip. */
  clockOffsetMs: number;
}

/**
 * Asks the source who it is. Needs no privilege.
 * @throws ReplicationError BINLOG_OFF, DUPLICATE_SERVER_ID (ours is its own), those of Session
 */
export async function readFacts(session: Session, ourServerId: number, log: Log): Promise<SourceFacts> {
  const version = session.serverVersion;
  // Asked by name through SHOW, so that a variable which this version does not have is missing instead of an error.
  const rows = await session.query(
    "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('server_id','server_uuid','gtid_mode','log_bin','binlog_format','binlog_checksum'," +
      "'rpl_semi_sync_master_enabled','rpl_semi_sync_source_enabled')",
  );
  const variables = new Map(rows.map((row) => [row["Variable_name"] ?? "", row["Value"] ?? ""]));
  const before = Date.now();
  const sourceSeconds = Number(await session.queryValue("SELECT UNIX_TIMESTAMP(NOW(6))"));
  const ours = (before + Date.now()) / 2;

  if (variables.get("log_bin") !== "ON") {
    throw new ReplicationError("BINLOG_OFF", "the source writes no binlog", {
      where: { server: session.server },
      hint: "start the source with --log-bin, --server-id and --binlog-format=ROW",
    });
  }
  const serverId = Number(variables.get("server_id"));
  if (serverId === ourServerId) {
    throw new ReplicationError("DUPLICATE_SERVER_ID", `our server id ${ourServerId} is the source's own`, {
      where: { server: session.server },
      hint: "give us another one with --server-id",
    });
  }
  const binlogFormat = variables.get("binlog_format") ?? "ROW";
  if (binlogFormat !== "ROW") {
    log.warn(
      `the source has binlog_format=${binlogFormat}: statements are executed as they are and may give other rows`,
      {
        server: session.server,
      },
    );
  }
  return {
    version,
    serverId,
    serverUuid: variables.get("server_uuid") ?? "",
    gtids: version.flavour === "mariadb" ? "mariadb" : variables.get("gtid_mode") === "ON" ? "mysql" : "none",
    binlogFormat,
    checksum: variables.get("binlog_checksum") === "CRC32" ? "crc32" : "none",
    semiSync:
      variables.get("rpl_semi_sync_source_enabled") === "ON" || variables.get("rpl_semi_sync_master_enabled") === "ON",
    clockOffsetMs: Math.round(sourceSeconds * 1000 - ours),
  };
}
