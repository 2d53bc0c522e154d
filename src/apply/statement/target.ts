/** What statement execution must know of the target; the same for every session on it. */
export interface TargetFacts extends ServerKind {
  /** Names of all collations that the target knows, character set included, as the target spells them. */
  collations: ReadonlySet<string>;
}

/** A server's flavour and number. */
export interface ServerKind {
  flavour: "mysql" | "mariadb";
  version: { major: number; minor: number; patch: number };
}

/** The least that is needed of a session: rows with every value as text, NULL as null. */
export interface RowsSession {
  rows(sql: string): Promise<(string | null)[][]>;
}

/** @throws SqlError */
export async function readTargetFacts(session: RowsSession): Promise<TargetFacts> {
  const version = (await session.rows("SELECT VERSION()"))[0]?.[0] ?? "";
  const kind = serverKind(version);
  const names = await session.rows("SELECT COLLATION_NAME FROM information_schema.COLLATIONS");
  // The collations of MariaDB 10.10+ that fit several character sets have their whole names only here.
  if (kind.flavour === "mariadb" && atLeast(kind, 10, 10, 1)) {
    names.push(
      ...(await session.rows(
        "SELECT FULL_COLLATION_NAME FROM information_schema.COLLATION_CHARACTER_SET_APPLICABILITY",
      )),
    );
  }
  return { ...kind, collations: new Set(names.map(([name]) => name ?? "")) };
}

/** Reads `9.7.4`, `10.11.19-MariaDB-log`, `5.5.5-10.6.1-MariaDB`: a version as SELECT VERSION() or a FORMAT_DESCRIPTION event has it. */
export function serverKind(version: string): ServerKind {
  const flavour = /mariadb/i.test(version) ? "mariadb" : "mysql";
  const numbers = /^(?:5\.5\.5-(?=\d+\.\d))?(\d+)\.(\d+)\.(\d+)/.exec(version);
  const [major, minor, patch] = (numbers ?? []).slice(1).map(Number);
  return { flavour, version: { major: major ?? 0, minor: minor ?? 0, patch: patch ?? 0 } };
}

function atLeast({ version }: ServerKind, major: number, minor = 0, patch = 0): boolean {
  if (version.major !== major) return version.major > major;
  if (version.minor !== minor) return version.minor > minor;
  return version.patch >= patch;
}

export const isMysql = (server: ServerKind, major: number, minor = 0, patch = 0): boolean =>
  server.flavour === "mysql" && atLeast(server, major, minor, patch);

export const isMariadb = (server: ServerKind, major: number, minor = 0, patch = 0): boolean =>
  server.flavour === "mariadb" && atLeast(server, major, minor, patch);
