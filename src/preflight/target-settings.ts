import { quoteText } from "../schema/names.ts";
import type { Findings } from "./findings.ts";
import { hasGlobal } from "./grants.ts";
import type { PreflightOptions } from "./report.ts";
import { type CheckedServer, describeServer, isOn, variable } from "./server.ts";

const PACKET_BYTES_MAX = 1024 ** 3;

/** What the target must allow, and what must be alike on both. `source` is undefined when it could not be reached. */
export async function checkTargetSettings(
  target: CheckedServer,
  source: CheckedServer | undefined,
  options: PreflightOptions,
  findings: Findings,
): Promise<void> {
  findings.ok("target-version", describeServer(target));
  checkReadOnly(target, findings);
  checkDurability(target, findings);
  if (variable(target, "default_storage_engine")?.toUpperCase() !== "INNODB") {
    const what = `default_storage_engine is ${variable(target, "default_storage_engine")}: a CREATE TABLE without ENGINE may make a table without transactions`;
    findings.warning("target-engine", what, "SET GLOBAL default_storage_engine=InnoDB");
  }
  if (options.gtid === "preserve") checkPreserve(target, source, findings);
  await findings.look("target-replica", target.session, () => checkOwnReplica(target, findings));
  if (source === undefined) return;
  checkVersions(source, target, findings);
  checkPacket(source, target, findings);
  await checkTimeZones(source, target, findings);
}

function checkReadOnly(target: CheckedServer, findings: Findings): void {
  const { grants, session } = target;
  const isMysql = session.serverVersion.flavour === "mysql";
  if (isOn(target, "super_read_only")) {
    findings.error("target-read-only", "super_read_only is ON: nobody may write", "SET GLOBAL super_read_only=OFF");
  } else if (
    isOn(target, "read_only") &&
    !hasGlobal(grants, "SUPER", isMysql ? "CONNECTION_ADMIN" : "READ_ONLY ADMIN")
  ) {
    const privilege = isMysql
      ? session.serverVersion.atLeast(8)
        ? "CONNECTION_ADMIN"
        : "SUPER"
      : session.serverVersion.atLeast(10, 5, 2)
        ? "READ_ONLY ADMIN"
        : "SUPER";
    findings.error(
      "target-read-only",
      "read_only is ON, and the user is not exempt",
      `GRANT ${privilege} ON *.* to the target's user, or SET GLOBAL read_only=OFF`,
    );
  } else findings.ok("target-read-only", "the user may write");
}

function checkDurability(target: CheckedServer, findings: Findings): void {
  const flush = variable(target, "innodb_flush_log_at_trx_commit") ?? "1";
  const sync = isOn(target, "log_bin") ? (variable(target, "sync_binlog") ?? "0") : "1";
  const settings = `innodb_flush_log_at_trx_commit is ${flush}${isOn(target, "log_bin") ? `, sync_binlog is ${sync}` : ""}`;
  findings.ok(
    "target-durability",
    flush === "1" && sync === "1"
      ? `${settings}: every commit is on disk`
      : `${settings}: faster; after a crash of its machine the target goes on from an older checkpoint, which is safe while the source keeps its binlog`,
  );
}

function checkPreserve(target: CheckedServer, source: CheckedServer | undefined, findings: Findings): void {
  if (target.session.serverVersion.flavour === "mariadb" || source?.session.serverVersion.flavour === "mariadb") {
    findings.error("target-gtid", "GTIDs can only be preserved from MySQL to MySQL", "use --gtid own");
  } else if (variable(target, "gtid_mode") !== "ON") {
    findings.error(
      "target-gtid",
      `gtid_mode is ${variable(target, "gtid_mode")}: the source's GTIDs cannot be kept`,
      "SET GLOBAL gtid_mode=ON (in steps: OFF_PERMISSIVE, ON_PERMISSIVE, ON), or use --gtid own",
    );
  } else findings.ok("target-gtid", "gtid_mode is ON");
}

async function checkOwnReplica(target: CheckedServer, findings: Findings): Promise<void> {
  const { session } = target;
  const rows = await session.query(session.serverVersion.showReplicaStatus);
  const running = rows.filter((row) => (row["Replica_SQL_Running"] ?? row["Slave_SQL_Running"]) === "Yes");
  if (running.length === 0) return;
  const host = running[0]?.["Source_Host"] ?? running[0]?.["Master_Host"];
  const stop = session.serverVersion.has("show-replica-status") ? "STOP REPLICA" : "STOP SLAVE";
  findings.warning(
    "target-replica",
    `the target's own replica runs too, from ${host}: two writers of one table will collide`,
    stop,
  );
}

function checkVersions(source: CheckedServer, target: CheckedServer, findings: Findings): void {
  const [from, to] = [source.session.serverVersion, target.session.serverVersion];
  if (from.flavour !== to.flavour) {
    findings.warning(
      "target-flavour",
      `from ${describeServer(source)} to ${describeServer(target)}: DDL is translated where that is safe, and stops the replication where it is not`,
      "try the application's DDL on a copy first",
    );
  } else if (!to.atLeast(from.major, from.minor)) {
    findings.warning(
      "target-flavour",
      `the target (${describeServer(target)}) is older than the source (${describeServer(source)}): it may not know its DDL`,
      "use a target of the source's version or a later one",
    );
  }
}

/** A row event may be as large as the source's max_allowed_packet, and travels in base64. */
function checkPacket(source: CheckedServer, target: CheckedServer, findings: Findings): void {
  const [ours, theirs] = [source, target].map((server) => Number(variable(server, "max_allowed_packet"))) as [
    number,
    number,
  ];
  const wanted = Math.min(PACKET_BYTES_MAX, 1024 * Math.ceil((ours * 1.4) / 1024));
  if (theirs >= wanted) findings.ok("target-packet", `max_allowed_packet is ${theirs}`);
  else {
    const what = `max_allowed_packet is ${theirs}, that of the source ${ours}: the largest rows it allows would not pass`;
    const remedy = `SET GLOBAL max_allowed_packet=${wanted}`;
    if (theirs < ours) findings.error("target-packet", what, remedy);
    else findings.warning("target-packet", what, remedy);
  }
}

const NAMED_ZONE = "Europe/Berlin";

/** Statements (not rows) that ran in a named time zone need the target's zone tables. */
async function checkTimeZones(source: CheckedServer, target: CheckedServer, findings: Findings): Promise<void> {
  const zone = variable(source, "time_zone") ?? "SYSTEM";
  const isNamed = zone !== "SYSTEM" && !/^[+-]\d\d:\d\d$/.test(zone);
  const asked = isNamed ? zone : NAMED_ZONE;
  const converted = `SELECT CONVERT_TZ('2026-01-01 00:00:00','+00:00',${quoteText(asked)})`;
  const knows = async ({ session }: CheckedServer): Promise<boolean> => (await session.queryValue(converted)) !== null;
  if (!(await knows(source)) || (await knows(target))) return;
  const what = isNamed
    ? `the source runs in time zone ${zone}, which the target does not know`
    : "the source knows named time zones, the target none: statements that used one would stop the replication";
  const load = target.session.serverVersion.flavour === "mysql" ? "mysql_tzinfo_to_sql" : "mariadb-tzinfo-to-sql";
  findings.warning(
    "target-time-zones",
    what,
    `in a shell on the target: ${load} /usr/share/zoneinfo | mysql -u root mysql`,
  );
}
