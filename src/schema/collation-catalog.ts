import { type CatalogSession, charsetName, collationName } from "./catalog.ts";

/** A collation as a server has it. Names say utf8mb3 where old servers say utf8; `sqlName` and `sqlCharset` are what this server understands. */
export interface CatalogCollation {
  name: string;
  charset: string;
  sqlName: string;
  sqlCharset: string;
  /** As table maps tell it; undefined where the server does not. */
  id: number | undefined;
  /** Trailing spaces mean nothing in comparisons. */
  padSpace: boolean;
  bytesPerCharacterMax: number;
}

/** All collations of the server. */
export async function readCollations(session: CatalogSession): Promise<CatalogCollation[]> {
  const charsets = await session.query(
    "SELECT CHARACTER_SET_NAME AS name, MAXLEN AS bytes FROM information_schema.CHARACTER_SETS",
  );
  const bytesOf = new Map(charsets.map((row) => [row["name"] ?? "", Number(row["bytes"])]));
  // Every column: PAD_ATTRIBUTE came with MySQL 8.0; the names with a character set in front, for collations of several, with MariaDB 10.10.
  const rows = [
    ...(await session.query("SELECT * FROM information_schema.COLLATIONS")),
    ...(await session.query("SELECT * FROM information_schema.COLLATION_CHARACTER_SET_APPLICABILITY")),
  ];
  const byName = new Map<string, CatalogCollation>();
  for (const row of rows) {
    const sqlName = row["FULL_COLLATION_NAME"] ?? row["COLLATION_NAME"] ?? "";
    const sqlCharset = row["CHARACTER_SET_NAME"];
    const name = collationName(sqlName);
    if (sqlCharset === null || sqlCharset === undefined || byName.has(name)) continue;
    byName.set(name, {
      name,
      charset: charsetName(sqlCharset),
      sqlName,
      sqlCharset,
      id: row["ID"] === null || row["ID"] === undefined ? undefined : Number(row["ID"]),
      padSpace: padsSpace(name, row["PAD_ATTRIBUTE"] ?? undefined),
      bytesPerCharacterMax: bytesOf.get(sqlCharset) ?? 0,
    });
  }
  return [...byName.values()];
}

/** MySQL before 8.0 and MariaDB do not say: there all pad but `binary` and MariaDB's `nopad` ones. */
function padsSpace(name: string, attribute: string | undefined): boolean {
  return attribute === undefined ? name !== "binary" && !name.includes("_nopad_") : attribute === "PAD SPACE";
}
