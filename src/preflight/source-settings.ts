import type { Findings } from "./findings.ts";
import type { PreflightOptions } from "./report.ts";
import { type CheckedServer, describeServer, isOn, variable } from "./server.ts";

/** The oldest whose binlogs the engine was tried on. */
const OLDEST = { mysql: [5, 6], mariadb: [10, 4] } as const;
const RETENTION_SECONDS_MIN = 86_400;

/** What the source writes into its binlog, and how long it keeps it. */
export async function checkSourceSettings(
  source: CheckedServer,
  options: PreflightOptions,
  findings: Findings,
): Promise<void> {
  const { flavour } = source.session.serverVersion;
  const [major, minor] = OLDEST[flavour];
  if (source.session.serverVersion.atLeast(major, minor)) findings.ok("source-version", describeServer(source));
  else {
    const what = `${describeServer(source)} is older than any version that this was tried with`;
    findings.warning("source-version", what, "try it with a copy of the server first");
  }
  if (!isOn(source, "log_bin")) {
    findings.error(
      "source-binlog",
      "the source writes no binlog",
      "put log_bin=binlog into its configuration and restart it",
    );
    return;
  }
  findings.ok("source-binlog", "the source writes a binlog");
  checkFormat(source, findings);
  checkServerId(source, options, findings);
  checkRetention(source, findings);
  if (flavour === "mysql") checkGtids(source, options, findings);
  if (variable(source, "binlog_checksum")?.toUpperCase() === "NONE") {
    const what = "binlog_checksum is NONE: damage on the way is not noticed";
    findings.warning("source-checksum", what, "SET GLOBAL binlog_checksum='CRC32'");
  }
  if (isOn(source, "binlog_encryption", "encrypt_binlog")) {
    findings.ok(
      "source-encryption",
      "the binlog's files are encrypted: read from the server, which decrypts them, not from files",
    );
  }
  if (options.semiSync === true) checkSemiSync(source, findings);
  await findings.look("source-binlog-filter", source.session, () => checkLogged(source, findings));
}

function checkFormat(source: CheckedServer, findings: Findings): void {
  const format = variable(source, "binlog_format")?.toUpperCase() ?? "ROW";
  const remedy = "SET GLOBAL binlog_format='ROW' (sessions that are open keep theirs: let them connect anew)";
  if (format === "ROW") findings.ok("source-binlog-format", "binlog_format is ROW");
  else if (format === "MIXED") {
    findings.warning(
      "source-binlog-format",
      "binlog_format is MIXED: some changes come as statements, slower and by what they find",
      remedy,
    );
  } else {
    findings.error(
      "source-binlog-format",
      `binlog_format is ${format}: statements may have another effect on the target`,
      remedy,
    );
  }
  const image = variable(source, "binlog_row_image")?.toUpperCase() ?? "FULL";
  if (image.startsWith("FULL")) findings.ok("source-row-image", `binlog_row_image is ${image}`);
  else {
    const what = `binlog_row_image is ${image}: rows are found by their key alone, and tables without one cannot follow`;
    findings.warning("source-row-image", what, "SET GLOBAL binlog_row_image='FULL'");
  }
}

function checkServerId(source: CheckedServer, options: PreflightOptions, findings: Findings): void {
  const serverId = variable(source, "server_id") ?? "0";
  if (serverId === "0") {
    findings.error(
      "source-server-id",
      "server_id is 0: the source refuses every replica",
      "SET GLOBAL server_id=1, and in its configuration",
    );
  } else if (options.serverId !== undefined && serverId === String(options.serverId)) {
    findings.error("source-server-id", `server_id is ${serverId}, which is ours too`, "give another --server-id");
  } else findings.ok("source-server-id", `server_id is ${serverId}`);
}

function checkRetention(source: CheckedServer, findings: Findings): void {
  const ofSeconds = Number(variable(source, "binlog_expire_logs_seconds") ?? 0);
  const seconds = ofSeconds > 0 ? ofSeconds : Number(variable(source, "expire_logs_days") ?? 0) * 86_400;
  if (seconds === 0) findings.ok("source-retention", "the binlog is kept until someone purges it");
  else if (seconds >= RETENTION_SECONDS_MIN)
    findings.ok("source-retention", `the binlog is kept for ${seconds / 86_400} days`);
  else {
    const what = `the binlog is kept for ${seconds} s only: after a longer stop it is not there any more`;
    const name = source.variables.has("binlog_expire_logs_seconds")
      ? "binlog_expire_logs_seconds=259200"
      : "expire_logs_days=3";
    findings.warning("source-retention", what, `SET GLOBAL ${name}`);
  }
}

function checkGtids(source: CheckedServer, options: PreflightOptions, findings: Findings): void {
  const mode = variable(source, "gtid_mode") ?? "OFF";
  const remedy = source.session.serverVersion.atLeast(5, 7)
    ? "SET GLOBAL enforce_gtid_consistency=ON; SET GLOBAL gtid_mode=OFF_PERMISSIVE; SET GLOBAL gtid_mode=ON_PERMISSIVE; SET GLOBAL gtid_mode=ON"
    : "put gtid_mode=ON, enforce_gtid_consistency=ON and log_slave_updates into its configuration and restart it";
  if (mode === "ON") findings.ok("source-gtid", "gtid_mode is ON");
  else if (options.gtid === "preserve") {
    findings.error("source-gtid", `gtid_mode is ${mode}: there are no GTIDs to preserve`, remedy);
  } else {
    findings.warning(
      "source-gtid",
      `gtid_mode is ${mode}: positions are of this server alone, and a failover to another source cannot be followed`,
      remedy,
    );
  }
}

function checkSemiSync(source: CheckedServer, findings: Findings): void {
  const { serverVersion } = source.session;
  const [newName, oldName] = ["rpl_semi_sync_source_enabled", "rpl_semi_sync_master_enabled"];
  const name = source.variables.has(newName) ? newName : oldName;
  if (!source.variables.has(name)) {
    const plugin = serverVersion.has("source-replica-names")
      ? "INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'"
      : "INSTALL PLUGIN rpl_semi_sync_master SONAME 'semisync_master.so'";
    findings.error("source-semi-sync", "the source has no semi-synchronous replication", plugin);
  } else if (!isOn(source, name)) {
    findings.warning("source-semi-sync", `${name} is OFF: the source does not wait for us`, `SET GLOBAL ${name}=ON`);
  } else findings.ok("source-semi-sync", `${name} is ON`);
}

/** Changes that do not reach the binlog at all. */
async function checkLogged(source: CheckedServer, findings: Findings): Promise<void> {
  const { session } = source;
  const [status] = await session.query(session.serverVersion.showBinlogStatus);
  const filters = ["Binlog_Do_DB", "Binlog_Ignore_DB"].filter((name) => (status?.[name] ?? "") !== "");
  if (filters.length > 0) {
    const what = filters.map((name) => `${name} is ${status?.[name]}`).join(", ");
    findings.warning(
      "source-binlog-filter",
      `${what}: other schemas are not in the binlog`,
      "remove binlog_do_db and binlog_ignore_db from its configuration",
    );
  }
  if (isOn(source, "log_replica_updates", "log_slave_updates")) return;
  const replica = await session.query(session.serverVersion.showReplicaStatus);
  if (replica.length === 0) return;
  findings.error(
    "source-replica-updates",
    "the source is a replica itself, and does not log what it replicates",
    "put log_replica_updates=ON (before 8.0.26 and MariaDB: log_slave_updates) into its configuration and restart it",
  );
}
