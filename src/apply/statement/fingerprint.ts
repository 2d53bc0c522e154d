import { createHash } from "node:crypto";
import type { RowsSession } from "./target.ts";

/**
 * What definitions are made of, one entry per information_schema table: its name, the column with the schema, the other columns. What changes by itself (statistics,
 * sizes, times, the next AUTO_INCREMENT) is left out. A column or table that came with a version has it in front: `80016:` of MySQL, `M100600:` of MariaDB;
 * the query says so in executable comments, so that one text fits every server.
 */
const PARTS: readonly string[] = [
  "SCHEMATA SCHEMA_NAME DEFAULT_CHARACTER_SET_NAME DEFAULT_COLLATION_NAME 80016:DEFAULT_ENCRYPTION M100500:SCHEMA_COMMENT",
  "TABLES TABLE_SCHEMA TABLE_NAME TABLE_TYPE ENGINE ROW_FORMAT TABLE_COLLATION CREATE_OPTIONS TABLE_COMMENT",
  "COLUMNS TABLE_SCHEMA TABLE_NAME COLUMN_NAME ORDINAL_POSITION COLUMN_DEFAULT IS_NULLABLE COLLATION_NAME COLUMN_TYPE COLUMN_KEY EXTRA COLUMN_COMMENT " +
    "50700:GENERATION_EXPRESSION M100205:GENERATION_EXPRESSION 80003:SRS_ID",
  "STATISTICS TABLE_SCHEMA TABLE_NAME NON_UNIQUE INDEX_NAME SEQ_IN_INDEX COLUMN_NAME COLLATION SUB_PART INDEX_TYPE INDEX_COMMENT 80000:IS_VISIBLE " +
    "80013:EXPRESSION M100600:IGNORED",
  "KEY_COLUMN_USAGE TABLE_SCHEMA CONSTRAINT_NAME TABLE_NAME COLUMN_NAME ORDINAL_POSITION REFERENCED_TABLE_SCHEMA REFERENCED_TABLE_NAME " +
    "REFERENCED_COLUMN_NAME",
  "REFERENTIAL_CONSTRAINTS CONSTRAINT_SCHEMA CONSTRAINT_NAME TABLE_NAME UNIQUE_CONSTRAINT_NAME UPDATE_RULE DELETE_RULE",
  "TABLE_CONSTRAINTS TABLE_SCHEMA TABLE_NAME CONSTRAINT_NAME CONSTRAINT_TYPE 80016:ENFORCED",
  "80016:CHECK_CONSTRAINTS CONSTRAINT_SCHEMA CONSTRAINT_NAME CHECK_CLAUSE",
  "M100222:CHECK_CONSTRAINTS CONSTRAINT_SCHEMA TABLE_NAME CONSTRAINT_NAME CHECK_CLAUSE",
  "PARTITIONS TABLE_SCHEMA TABLE_NAME PARTITION_NAME SUBPARTITION_NAME PARTITION_ORDINAL_POSITION PARTITION_METHOD SUBPARTITION_METHOD " +
    "PARTITION_EXPRESSION SUBPARTITION_EXPRESSION PARTITION_DESCRIPTION PARTITION_COMMENT",
  "TRIGGERS TRIGGER_SCHEMA TRIGGER_NAME EVENT_MANIPULATION EVENT_OBJECT_TABLE ACTION_ORDER ACTION_STATEMENT ACTION_TIMING CREATED SQL_MODE DEFINER " +
    "CHARACTER_SET_CLIENT COLLATION_CONNECTION",
  "ROUTINES ROUTINE_SCHEMA ROUTINE_NAME ROUTINE_TYPE DTD_IDENTIFIER ROUTINE_DEFINITION IS_DETERMINISTIC SQL_DATA_ACCESS SECURITY_TYPE CREATED LAST_ALTERED " +
    "SQL_MODE ROUTINE_COMMENT DEFINER",
  "PARAMETERS SPECIFIC_SCHEMA SPECIFIC_NAME ORDINAL_POSITION PARAMETER_MODE PARAMETER_NAME DTD_IDENTIFIER",
  "VIEWS TABLE_SCHEMA TABLE_NAME VIEW_DEFINITION CHECK_OPTION DEFINER SECURITY_TYPE CHARACTER_SET_CLIENT COLLATION_CONNECTION",
  "EVENTS EVENT_SCHEMA EVENT_NAME DEFINER TIME_ZONE EVENT_DEFINITION EVENT_TYPE EXECUTE_AT INTERVAL_VALUE INTERVAL_FIELD SQL_MODE STARTS ENDS STATUS " +
    "ON_COMPLETION CREATED LAST_ALTERED EVENT_COMMENT",
];

/** Users, roles, grants, and what else lies outside of schemas. A table that a server does not have has no checksum. */
const SERVER_TABLES =
  "user global_priv db tables_priv columns_priv procs_priv proxies_priv roles_mapping role_edges default_roles global_grants func servers".split(
    " ",
  );

/**
 * A hash over the definitions of everything in `schemas` (tables, columns, keys, constraints, partitions, triggers, routines, views, events, the schemas
 * themselves) and, with `accounts`, over users, grants, loadable functions and servers. Equal before and after: a DDL between did nothing yet. Hex, 32 digits.
 * One query (two with `accounts`); the server hashes, so the answer is small whatever the number of tables.
 * @throws SqlError
 */
export async function schemaFingerprint(
  session: RowsSession,
  schemas: readonly string[],
  options: { accounts: boolean },
): Promise<string> {
  const hash = createHash("sha256");
  if (schemas.length > 0) hash.update(JSON.stringify(await session.rows(fingerprintSql(schemas))));
  if (options.accounts) {
    const tables = SERVER_TABLES.map((table) => `mysql.${table}`).join(",");
    hash.update(JSON.stringify(await session.rows(`CHECKSUM TABLE ${tables}`)));
  }
  return hash.digest("hex").slice(0, 32);
}

/** One SELECT per schema and part: only `schema = constant` is looked up; any other condition would make old servers open every table that they have. */
function fingerprintSql(schemas: readonly string[]): string {
  const selects = schemas.toSorted().flatMap((schema) => PARTS.map((part) => versioned(part, schema)));
  return `SELECT '' part,0 n,0 low,0 high${selects.join("")}`;
}

function versioned(part: string, schema: string): string {
  const [table = "", schemaColumn = "", ...columns] = part.split(" ");
  const [, version, name = ""] = /^(?:(\w+):)?(\w+)$/.exec(table) ?? [];
  const values = columns.map((column) => {
    const [, since, columnName] = /^(?:(\w+):)?(\w+)$/.exec(column) ?? [];
    const value = `,IFNULL(${columnName},0x01)`;
    return since === undefined ? value : executable(since, value);
  });
  // Rows are added up, so that their order does not matter; two pieces of 15 digits of a digest are numbers that BIT_XOR takes and a UNION
  // of MySQL 5.6 does not cut. MySQL 9.6 has no MD5.
  const digest = `SHA2(CONCAT_WS(0x00,'${name}'${values.join("")}),256)`;
  const half = (from: number): string => `BIT_XOR(CAST(CONV(SUBSTRING(${digest},${from},15),16,10) AS UNSIGNED))`;
  const select =
    ` UNION ALL SELECT '${name}',COUNT(*),${half(1)},${half(16)} FROM information_schema.${name} ` +
    `WHERE ${schemaColumn}=CONVERT(X'${Buffer.from(schema).toString("hex")}' USING utf8)`;
  return version === undefined ? select : nestedExecutable(version, select);
}

const executable = (version: string, sql: string): string =>
  version.startsWith("M") ? `/*M!${version.slice(1)} ${sql} */` : `/*!${version} ${sql} */`;

/** Comments do not nest: within an executable one all is of its version. */
const nestedExecutable = (version: string, sql: string): string =>
  executable(version, sql.replaceAll(/\/\*.*?\*\//g, ""));

/**
 * What a statement that is run again after an intent answers when its object is already as it wants it: there (CREATE, ADD, RENAME's new name), or gone (DROP).
 * Numbers are the same in both servers (share/messages_to_clients.txt, MySQL 8.0; sql/share/errmsg-utf8.txt, MariaDB 10.11).
 */
const ALREADY_DONE = new Set([
  1007, // can't create database: exists
  1008, // can't drop database: doesn't exist
  1050, // table exists
  1051, // unknown table
  1060, // duplicate column name
  1061, // duplicate key name
  1068, // multiple primary key
  1091, // can't DROP: check that it exists
  1125, // function exists
  1128, // function is not defined
  1141, // no such grant for user
  1146, // table doesn't exist: renamed
  1147, // no such grant on table
  1304, // procedure or function exists
  1305, // procedure or function does not exist
  1359, // trigger exists
  1360, // trigger does not exist
  1396, // CREATE, DROP, RENAME USER failed for some
  1403, // no such grant on routine
  1476, // foreign server exists
  1477, // foreign server doesn't exist
  1507, // no such partition
  1517, // duplicate partition name
  1537, // event exists
  1539, // unknown event
  1826, // duplicate foreign key name
  3523, // unknown authorization id (role)
  3821, // check constraint not found
  3822, // duplicate check constraint name
  3940, // constraint does not exist
  4092, // MariaDB: unknown view
  4091, // MariaDB: unknown sequence
]);

/** Whether this error number, met when a statement that had been begun before is run again, says that its work is done. */
export function alreadyDone(sqlCode: number): boolean {
  return ALREADY_DONE.has(sqlCode);
}
