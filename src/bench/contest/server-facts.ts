import { readFileSync } from "node:fs";
import type { Session } from "../../wire/session.ts";

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
