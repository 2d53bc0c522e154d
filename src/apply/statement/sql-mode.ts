import { isMariadb, isMysql, type ServerKind } from "./target.ts";

/** Bits of sql_mode, the same in all versions of both servers up to bit 31 (sql/system_variables.h; MariaDB sql/sql_class.h). "" is no mode. */
const MODES = [
  "REAL_AS_FLOAT",
  "PIPES_AS_CONCAT",
  "ANSI_QUOTES",
  "IGNORE_SPACE",
  "", // 4: never a mode in MySQL; IGNORE_BAD_TABLE_OPTIONS in MariaDB, see below
  "ONLY_FULL_GROUP_BY",
  "NO_UNSIGNED_SUBTRACTION",
  "NO_DIR_IN_CREATE",
  "POSTGRESQL",
  "ORACLE",
  "MSSQL",
  "DB2",
  "MAXDB",
  "NO_KEY_OPTIONS",
  "NO_TABLE_OPTIONS",
  "NO_FIELD_OPTIONS",
  "MYSQL323",
  "MYSQL40",
  "ANSI",
  "NO_AUTO_VALUE_ON_ZERO",
  "NO_BACKSLASH_ESCAPES",
  "STRICT_TRANS_TABLES",
  "STRICT_ALL_TABLES",
  "NO_ZERO_IN_DATE",
  "NO_ZERO_DATE",
  "ALLOW_INVALID_DATES",
  "ERROR_FOR_DIVISION_BY_ZERO",
  "TRADITIONAL",
  "NO_AUTO_CREATE_USER",
  "HIGH_NOT_PRECEDENCE",
  "NO_ENGINE_SUBSTITUTION",
  "PAD_CHAR_TO_FULL_LENGTH",
] as const;

/** MySQL 8.0 dropped them: all but NO_AUTO_CREATE_USER only changed what SHOW CREATE prints, and that one only refused some GRANTs. */
const GONE_WITH_MYSQL_8 = new Set<string>([
  "POSTGRESQL",
  "ORACLE",
  "MSSQL",
  "DB2",
  "MAXDB",
  "NO_KEY_OPTIONS",
  "NO_TABLE_OPTIONS",
  "NO_FIELD_OPTIONS",
  "MYSQL323",
  "MYSQL40",
  "NO_AUTO_CREATE_USER",
]);

/** Since MySQL 5.7 a part of ANSI, which names its parts besides: as a name it would bring in what the source did not mean. */
const ONLY_FULL_GROUP_BY = 1n << 5n;

const MYSQL_TIME_TRUNCATE_FRACTIONAL = 1n << 32n;
const MARIADB_EMPTY_STRING_IS_NULL = 1n << 32n;
const MARIADB_SIMULTANEOUS_ASSIGNMENT = 1n << 33n;
const MARIADB_TIME_ROUND_FRACTIONAL = 1n << 34n;
const MARIADB_ORACLE = 1n << 9n;

export interface TranslatedMode {
  /** For `SET sql_mode='…'`. */
  names: string;
  /** Modes that change what a statement does and that the target does not have. */
  missing: string[];
}

/** The target's names for the source's sql_mode. Modes without effect on what a statement does are dropped where the target has none. */
export function sqlModeOnTarget(bits: bigint, source: ServerKind, target: ServerKind): TranslatedMode {
  const names: string[] = [];
  const missing: string[] = [];
  for (const [bit, name] of MODES.entries()) {
    if (name === "" || (bits & (1n << BigInt(bit))) === 0n) continue;
    if (name === "ANSI" && (bits & ONLY_FULL_GROUP_BY) === 0n) continue;
    if (!(isMysql(target, 8) && GONE_WITH_MYSQL_8.has(name))) names.push(name);
  }
  // MariaDB 10.3 and later read another language under ORACLE.
  if (isMariadb(source, 10, 3) && (bits & MARIADB_ORACLE) !== 0n && target.flavour === "mysql") missing.push("ORACLE");
  if (source.flavour === "mariadb") {
    const own = [
      [MARIADB_EMPTY_STRING_IS_NULL, "EMPTY_STRING_IS_NULL"],
      [MARIADB_SIMULTANEOUS_ASSIGNMENT, "SIMULTANEOUS_ASSIGNMENT"],
    ] as const;
    for (const [bit, name] of own) {
      if ((bits & bit) !== 0n) (isMariadb(target, 10, 3, 3) ? names : missing).push(name);
    }
  }
  names.push(...fractionalMode(bits, source, target));
  return { names: names.join(","), missing };
}

/** Too many digits of a second are rounded by MySQL and cut by MariaDB, unless a mode says otherwise. */
function fractionalMode(bits: bigint, source: ServerKind, target: ServerKind): string[] {
  const rounds =
    source.flavour === "mysql"
      ? (bits & MYSQL_TIME_TRUNCATE_FRACTIONAL) === 0n
      : (bits & MARIADB_TIME_ROUND_FRACTIONAL) !== 0n;
  if (rounds) return isMariadb(target, 10, 4, 1) ? ["TIME_ROUND_FRACTIONAL"] : [];
  return isMysql(target, 8) ? ["TIME_TRUNCATE_FRACTIONAL"] : [];
}
