import { readFileSync } from "node:fs";
import type { SandboxServer } from "../../sandbox/start.ts";
import { Session } from "../../wire/session.ts";

/** Everything the server has: `uuid:1-5,…` of MySQL, `0-1-100` of MariaDB's binlog. */
export async function gtidPosition(session: Session): Promise<string> {
  const variable = session.serverVersion.flavour === "mariadb" ? "gtid_binlog_pos" : "gtid_executed";
  const text = await session.queryValue(`SELECT @@GLOBAL.${variable}`);
  return (text ?? "").replaceAll(/\s/g, "");
}

/** The server's own checksum of every table of a schema, by table name. Comparable between servers of one version. */
export async function checksumTables(session: Session, schema: string): Promise<Map<string, string>> {
  const tables = await session.query(`SHOW TABLES FROM \`${schema}\``);
  const names = tables.map((row) => `\`${schema}\`.\`${Object.values(row)[0]}\``);
  const rows = await session.query(`CHECKSUM TABLE ${names.join(", ")}`);
  return new Map(rows.map((row) => [String(row["Table"]), String(row["Checksum"])]));
}

/** The same of several schemas. */
export async function checksumsOf(server: SandboxServer, schemas: readonly string[]): Promise<Map<string, string>> {
  const session = await Session.connect(server.address);
  try {
    const checksums = new Map<string, string>();
    for (const schema of schemas) {
      for (const [table, checksum] of await checksumTables(session, schema)) checksums.set(table, checksum);
    }
    return checksums;
  } finally {
    await session.close();
  }
}

/** Reads every row once, so that nobody measures the first read of a page. MariaDB's copy of the source's binlog goes: it is not the target's own. */
export async function warmUp(target: SandboxServer, schemas: readonly string[]): Promise<void> {
  const session = await Session.connect(target.address);
  try {
    if (session.serverVersion.flavour === "mariadb") await session.execute("RESET MASTER");
    for (const schema of schemas) await checksumTables(session, schema);
  } finally {
    await session.close();
  }
}

export function sameChecksums(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean {
  return a.size === b.size && [...a].every(([table, checksum]) => b.get(table) === checksum);
}

/** User and system time that a process has used so far (proc(5), fields 14 and 15 of stat). */
export function cpuSecondsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS_PER_SECOND;
}

/** USER_HZ, 100 on every Linux of today. */
const CLOCK_TICKS_PER_SECOND = 100;

/** What decides how fast a server commits and replicates; those of one that it does not have are missing. */
const SETTINGS = [
  "sync_binlog",
  "innodb_flush_log_at_trx_commit",
  "innodb_buffer_pool_size",
  "binlog_format",
  "binlog_row_image",
  "binlog_group_commit_sync_delay",
  "binlog_commit_wait_usec",
  "binlog_transaction_dependency_history_size",
  "transaction_isolation",
  "tx_isolation",
];

/** Settings that matter, as the server itself has them. */
export async function settingsOf(server: SandboxServer): Promise<Record<string, string>> {
  const session = await Session.connect(server.address);
  try {
    const names = SETTINGS.map((name) => `'${name}'`).join(",");
    const rows = await session.query(`SHOW GLOBAL VARIABLES WHERE Variable_name IN (${names})`);
    return Object.fromEntries(rows.map((row) => [String(row["Variable_name"]), String(row["Value"])]));
  } finally {
    await session.close();
  }
}
