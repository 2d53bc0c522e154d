/** What statement execution must know of the target: read once per session's server by `readTargetFacts`. */
export interface TargetFacts {
  flavour: "mysql" | "mariadb";
  version: { major: number; minor: number; patch: number };
  /** Names of all collations that the target knows. */
  collations: ReadonlySet<string>;
}

/** The least that running statements needs of a session. */
export interface StatementSession {
  execute(sql: string | Buffer): Promise<unknown>;
}

/** A session that also gives rows: every value as text, NULL as null. */
export interface RowsSession {
  rows(sql: string): Promise<(string | null)[][]>;
}

export async function readTargetFacts(session: RowsSession): Promise<TargetFacts> {
  await session.rows("SELECT VERSION()");
  return { flavour: "mysql", version: { major: 0, minor: 0, patch: 0 }, collations: new Set() };
}
