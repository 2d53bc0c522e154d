import { charsetName } from "../schema/catalog.ts";

/** What a definition must know of the server it comes from or goes to. */
export interface DefinitionServer {
  flavour: "mysql" | "mariadb";
  major: number;
  minor: number;
  /** Names of all collations, as COLLATE takes them. */
  collations: ReadonlySet<string>;
  /** The default collation of each character set. */
  defaultCollations: ReadonlyMap<string, string>;
}

export interface Translation {
  statement: string;
  /** What is not the same on the target, one sentence each. */
  warnings: string[];
}

/**
 * Makes a definition of one server (SHOW CREATE TABLE, or a part such as `CHARACTER SET x`) mean the same on another. Between servers of one series nothing is
 * changed. Else character sets and collations get the target's names, default collations are written out (they differ: utf8mb4 is general_ci in 5.6, 0900_ai_ci
 * in 8.0), collations that the target lacks are replaced by the nearest one, and what MySQL hides from other versions in comments is said in MariaDB's words.
 */
export function translateDefinition(statement: string, from: DefinitionServer, to: DefinitionServer): Translation {
  if (from.flavour === to.flavour && from.major === to.major && from.minor === to.minor) {
    return { statement, warnings: [] };
  }
  const warnings = new Set<string>();
  const translated = outsideQuotes(statement, (text) => {
    const withCollations = text.replaceAll(CHARACTER_SET, (_, keyword: string, charset: string, collate?: string) => {
      const collation =
        collate ?? from.defaultCollations.get(charset) ?? from.defaultCollations.get(charsetName(charset));
      const known = collation === undefined ? undefined : translateCollation(collation, to, warnings);
      const named = known === undefined ? charset : (charsetOf(known) ?? charset);
      return `${keyword}${named}${known === undefined ? "" : ` COLLATE ${known}`}`;
    });
    const loneCollations = withCollations.replaceAll(
      /(?<!(?:CHARACTER SET|CHARSET)[ =]\w+ )COLLATE[ =](\w+)/g,
      (_, collation: string) => {
        return `COLLATE ${translateCollation(collation, to, warnings)}`;
      },
    );
    return from.flavour === "mysql" && to.flavour === "mariadb" ? unhide(loneCollations, warnings) : loneCollations;
  });
  return { statement: translated, warnings: [...warnings] };
}

/** `CHARACTER SET x COLLATE y` of a column, `DEFAULT CHARSET=x COLLATE=y` of a table. */
const CHARACTER_SET = /((?:CHARACTER SET |CHARSET=))(\w+)(?: COLLATE[ =](\w+))?/g;

/** Applies `change` to the parts of a statement that are neither strings nor quoted names. */
function outsideQuotes(statement: string, change: (text: string) => string): string {
  return statement
    .split(/('(?:[^'\\]|\\.|'')*'|`(?:[^`]|``)*`)/s)
    .map((part, index) => (index % 2 === 0 ? change(part) : part))
    .join("");
}

/** In MariaDB's words what MySQL puts into comments for later versions; the rest of them MariaDB skips. */
function unhide(text: string, warnings: Set<string>): string {
  return text
    .replaceAll(/\/\*!80023 INVISIBLE \*\//g, "INVISIBLE")
    .replaceAll(/\/\*!80000 INVISIBLE \*\//g, "IGNORED")
    .replaceAll(/\/\*!(5[7-9]|[6-9]\d)\d{3} ([^*]+) \*\//g, (comment, _, what: string) => {
      if (!/DEFAULT ENCRYPTION='N'/.test(what)) warnings.add(`MariaDB has no ${what.trim()}`);
      return comment;
    });
}

/** The target's name for a collation, or for the nearest one it has. A collation without any keeps its name: the target then refuses the statement. */
export function translateCollation(collation: string, to: DefinitionServer, warnings: Set<string>): string {
  const renamed = [collation, collation.replace(/^utf8_/, "utf8mb3_"), collation.replace(/^utf8mb3_/, "utf8_")];
  const same = renamed.find((name) => to.collations.has(name));
  if (same !== undefined) return same;
  const near = nearest(collation).find((name) => to.collations.has(name));
  if (near === undefined) return collation;
  warnings.add(
    `the target has no collation ${collation}: ${near} is used, which may sort and compare some strings differently`,
  );
  return near;
}

/** MySQL's 0900 collations are of Unicode 9 and do not pad; MariaDB's uca1400 of Unicode 14, with and without padding; 520 is of Unicode 5.2. */
function nearest(collation: string): string[] {
  const mysql = /^utf8mb4_(?:(.+)_)?0900_(ai_ci|as_ci|as_cs|bin)$/.exec(collation);
  if (mysql !== null) {
    const [, language, kind] = mysql;
    if (kind === "bin") return ["utf8mb4_nopad_bin", "utf8mb4_bin"];
    if (language !== undefined) {
      const name = UCA1400_LANGUAGES[language];
      return name === undefined ? [] : [`utf8mb4_uca1400_${name}_nopad_${kind}`];
    }
    const older =
      kind === "ai_ci" ? ["utf8mb4_unicode_520_nopad_ci", "utf8mb4_unicode_520_ci", "utf8mb4_unicode_ci"] : [];
    return [`utf8mb4_uca1400_nopad_${kind}`, ...older];
  }
  const mariadb = /^(utf8mb4|utf8mb3|ucs2|utf16|utf32)_uca1400_(?:nopad_)?(ai|as)_(ci|cs)$/.exec(collation);
  if (mariadb !== null) {
    const [, charset, accent, letterCase] = mariadb;
    return [`${charset}_0900_${accent}_${letterCase}`, `${charset}_${letterCase === "ci" ? "unicode_520_ci" : "bin"}`];
  }
  const charset = /^([a-z0-9]+)_(.*)nopad_(.*)$/.exec(collation);
  if (charset !== null) return [`${charset[1]}_${charset[2]}${charset[3]}`];
  return [];
}

const UCA1400_LANGUAGES: Record<string, string> = {
  de_pb: "german2",
  is: "icelandic",
  lv: "latvian",
  ro: "romanian",
  sl: "slovenian",
  pl: "polish",
  et: "estonian",
  es: "spanish",
  es_trad: "spanish2",
  sv: "swedish",
  tr: "turkish",
  cs: "czech",
  da: "danish",
  lt: "lithuanian",
  sk: "slovak",
  la: "roman",
  eo: "esperanto",
  hu: "hungarian",
  hr: "croatian",
  vi: "vietnamese",
};

function charsetOf(collation: string): string | undefined {
  return /^[a-z0-9]+/.exec(collation)?.[0];
}

/** Reads what `translateDefinition` must know of a server. */
export async function readDefinitionServer(session: {
  query(sql: string): Promise<Record<string, string | null>[]>;
  serverVersion: { flavour: "mysql" | "mariadb"; major: number; minor: number };
}): Promise<DefinitionServer> {
  const { flavour, major, minor } = session.serverVersion;
  const collations = new Set<string>();
  // MariaDB 10.10 and later: one uca1400 collation serves several character sets, and only here has a name for each.
  for (const row of await session.query("SELECT * FROM information_schema.COLLATION_CHARACTER_SET_APPLICABILITY")) {
    collations.add(row["FULL_COLLATION_NAME"] ?? row["COLLATION_NAME"] ?? "");
  }
  const charsets = await session.query(
    "SELECT CHARACTER_SET_NAME AS charset_name, DEFAULT_COLLATE_NAME AS collation_name FROM information_schema.CHARACTER_SETS",
  );
  const defaultCollations = new Map(
    charsets.map((row) => [charsetName(row["charset_name"] ?? ""), row["collation_name"] ?? ""]),
  );
  return { flavour, major, minor, collations, defaultCollations };
}
