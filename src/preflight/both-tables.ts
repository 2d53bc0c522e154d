import type { Column, Table } from "../schema/catalog.ts";
import { readTables } from "../schema/catalog.ts";
import { plainType } from "../schema/definition.ts";
import { describeTable, NOT_SYSTEM_SCHEMA, quoteName } from "../schema/names.ts";
import { SqlError } from "../wire/sql-error.ts";
import { counted, type Findings, listed } from "./findings.ts";
import type { PreflightOptions } from "./report.ts";
import { type CheckedServer, isOn, variable } from "./server.ts";
import { definerPrivilege, maySetDefiner } from "./target-grants.ts";

/** The source's tables and objects against what the target knows and has. */
export async function checkBothTables(
  source: CheckedServer,
  target: CheckedServer,
  tables: readonly Table[],
  options: PreflightOptions,
  findings: Findings,
): Promise<void> {
  await checkCollations(source, target, tables, findings);
  checkTypes(source, target, tables, findings);
  checkNames(source, target, tables, findings);
  await findings.look("tables-definers", source.session, () => checkDefiners(source, target, findings));
  await findings.look("target-events", target.session, () => checkEvents(target, findings));
  await checkExisting(target, tables, options, findings);
}

async function checkCollations(
  source: CheckedServer,
  target: CheckedServer,
  tables: readonly Table[],
  findings: Findings,
): Promise<void> {
  const known = new Set<string>();
  for (const row of await target.session.query(
    "SELECT * FROM information_schema.COLLATION_CHARACTER_SET_APPLICABILITY",
  )) {
    for (const name of [row["COLLATION_NAME"], row["FULL_COLLATION_NAME"]])
      known.add((name ?? "").replace(/^utf8_/, "utf8mb3_"));
  }
  const unknown = new Map<string, string[]>();
  for (const table of tables) {
    for (const { collation } of table.columns) {
      if (collation === undefined || known.has(collation)) continue;
      const names = unknown.get(collation) ?? [];
      if (names.at(-1) !== describeTable(table)) names.push(describeTable(table));
      unknown.set(collation, names);
    }
  }
  const ofServer = (variable(source, "collation_server") ?? "").replace(/^utf8_/, "utf8mb3_");
  if (!known.has(ofServer)) {
    findings.warning(
      "tables-collations",
      `the source's default collation ${ofServer} is not known to the target`,
      "SET GLOBAL collation_server to one that both know, or name collations in CREATE TABLE",
    );
  }
  for (const [collation, names] of unknown) {
    findings.warning(
      "tables-collations",
      `the target has no collation ${collation}: the nearest one is used, which may sort and compare some strings differently`,
      `ALTER TABLE ${names[0]} CONVERT TO CHARACTER SET ${/^[a-z0-9]+/.exec(collation)?.[0]} COLLATE one that both know`,
      listed(names),
    );
  }
  if (unknown.size === 0)
    findings.ok("tables-collations", "the target knows all character sets and collations of the tables");
}

const ONLY_MARIADB = new Set(["uuid", "inet4", "inet6", "vector"]);
const ONLY_MYSQL = new Set(["json", "vector"]);

const isCompressed = (column: Column): boolean => /\bCOMPRESSED\b/.test(column.columnType);

function foreignType(column: Column): string {
  return isCompressed(column) ? `${column.dataType} COMPRESSED` : column.dataType;
}

/** Types whose rows the other flavour cannot take in. */
function checkTypes(source: CheckedServer, target: CheckedServer, tables: readonly Table[], findings: Findings): void {
  const from = source.session.serverVersion.flavour;
  if (from === target.session.serverVersion.flavour) return;
  const foreign = (column: Column): boolean =>
    (from === "mysql" ? ONLY_MYSQL : ONLY_MARIADB).has(column.dataType) || isCompressed(column);
  const columns = tables.flatMap((table) => table.columns.filter(foreign).map((column) => ({ table, column })));
  const versioned = tables.filter((table) => table.kind === "system-versioned");
  if (columns.length > 0) {
    const types = [...new Set(columns.map(({ column }) => foreignType(column)))].join(", ");
    findings.error(
      "tables-types",
      `rows with columns of type ${types} cannot be applied across flavours`,
      "leave these tables on the source, or change the columns to a type that both know (LONGTEXT, CHAR, BINARY)",
      listed(columns.map(({ table, column }) => `${describeTable(table)}.${column.name}`)),
    );
  }
  if (versioned.length > 0) {
    findings.error(
      "tables-types",
      "MySQL has no system-versioned tables",
      "ALTER TABLE … DROP SYSTEM VERSIONING on the source",
      listed(versioned.map(describeTable)),
    );
  }
  if (columns.length + versioned.length === 0) findings.ok("tables-types", "both flavours know all column types");
}

function checkNames(source: CheckedServer, target: CheckedServer, tables: readonly Table[], findings: Findings): void {
  const [ours, theirs] = [source, target].map((server) => variable(server, "lower_case_table_names") ?? "0") as [
    string,
    string,
  ];
  if (ours === theirs) return;
  const upper = tables.map(describeTable).filter((name) => name !== name.toLowerCase());
  const what = `lower_case_table_names is ${ours} on the source, ${theirs} on the target`;
  const remedy = "set up a target with the source's value: it can only be chosen when a server is initialised";
  if (upper.length === 0) findings.warning("target-names", `${what}: names with capitals would not fit`, remedy);
  else findings.error("target-names", `${what}, and there are names with capitals`, remedy, listed(upper));
}

/** Triggers, views and routines run as their DEFINER: on the target too. */
async function checkDefiners(source: CheckedServer, target: CheckedServer, findings: Findings): Promise<void> {
  const rows = await source.session.query(
    `SELECT DISTINCT DEFINER AS d FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA ${NOT_SYSTEM_SCHEMA} UNION ` +
      `SELECT DISTINCT DEFINER FROM information_schema.VIEWS WHERE TABLE_SCHEMA ${NOT_SYSTEM_SCHEMA} UNION ` +
      `SELECT DISTINCT DEFINER FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA ${NOT_SYSTEM_SCHEMA} UNION ` +
      `SELECT DISTINCT DEFINER FROM information_schema.EVENTS WHERE EVENT_SCHEMA ${NOT_SYSTEM_SCHEMA}`,
  );
  const definers = rows.map((row) => row["d"] ?? "");
  if (definers.length === 0) return;
  let users: Set<string>;
  try {
    const accounts = await target.session.query("SELECT User, Host FROM mysql.user");
    users = new Set(accounts.map((row) => `${row["User"]}@${row["Host"]}`));
  } catch (error) {
    if (!(error instanceof SqlError)) throw error;
    findings.warning(
      "tables-definers",
      `whether the target has ${listed(definers)} (DEFINERs of triggers, views, routines) could not be seen`,
      "GRANT SELECT ON mysql.user to the target's user",
    );
    return;
  }
  const missing = definers.filter((definer) => !users.has(definer));
  const [first] = missing;
  if (first !== undefined) {
    const at = first.lastIndexOf("@");
    const account = `'${first.slice(0, at)}'@'${first.slice(at + 1)}'`;
    findings.warning(
      "tables-definers",
      `the target has no user ${listed(missing)}, DEFINER of triggers, views, routines or events: they cannot run there`,
      `CREATE USER ${account} … (with what it needs) on the target`,
    );
  }
  const self = await target.session.queryValue("SELECT CURRENT_USER()");
  if (!maySetDefiner(target) && definers.some((definer) => definer !== self)) {
    findings.error(
      "target-grant-definer",
      "the user may not make objects that belong to other users",
      `GRANT ${definerPrivilege(target)} ON *.* to the target's user`,
    );
  } else if (first === undefined)
    findings.ok("tables-definers", "the target has the DEFINERs of all triggers, views, routines and events");
}

/** On the source and on the target an event would do its work twice. */
async function checkEvents(target: CheckedServer, findings: Findings): Promise<void> {
  if (!isOn(target, "event_scheduler")) return;
  const rows = await target.session.query(
    `SELECT EVENT_SCHEMA AS s, EVENT_NAME AS n FROM information_schema.EVENTS WHERE STATUS='ENABLED' AND EVENT_SCHEMA ${NOT_SYSTEM_SCHEMA}`,
  );
  const [first] = rows;
  if (first === undefined) return;
  const remedy = `ALTER EVENT ${quoteName(first["s"] ?? "")}.${quoteName(first["n"] ?? "")} DISABLE${rows.length > 1 ? " (and so the others)" : ""}`;
  findings.warning(
    "target-events",
    "events run on the target besides the source: what they change comes twice",
    remedy,
    listed(rows.map((row) => `${row["s"]}.${row["n"]}`)),
  );
}

/** With an initial copy nothing may be there; without one everything must be. */
async function checkExisting(
  target: CheckedServer,
  tables: readonly Table[],
  options: PreflightOptions,
  findings: Findings,
): Promise<void> {
  const existing = new Map(
    (await readTables(target.session)).map((table) => [describeTable(table).toLowerCase(), table]),
  );
  const begun = await target.session.query(
    "SELECT TABLE_NAME AS t FROM information_schema.TABLES WHERE TABLE_SCHEMA='abreast' AND TABLE_NAME IN ('checkpoint','copy_state')",
  );
  if (options.init === true) {
    if (begun.length > 0)
      findings.ok("target-empty", "a copy or a replication was begun before: it goes on from there");
    else if (existing.size === 0) findings.ok("target-empty", "the target has no tables");
    else
      findings.error(
        "target-empty",
        "an initial copy needs an empty target",
        "DROP DATABASE what is not needed there, or replicate without --init",
        listed([...existing.values()].map(describeTable)),
      );
    return;
  }
  const isBehind = options.behind === true || begun.length > 0;
  const missing: string[] = [];
  for (const table of tables) {
    const other = existing.get(describeTable(table).toLowerCase());
    if (other === undefined) missing.push(describeTable(table));
    else compareColumns(table, other, isBehind, findings);
  }
  if (missing.length > 0) {
    findings.warning(
      "target-tables",
      `missing on the target: ${counted(missing.length, "table")} of the source, whose rows would stop the replication unless the CREATE TABLE is still to come`,
      "replicate with --init into an empty target, or load a dump first",
      listed(missing),
    );
  } else if (tables.length > 0) findings.ok("target-tables", "the target has all tables of the source");
}

/**
 * Row events name columns by their place alone, and a value of another character set is refused. A target that is behind has yet to get the DDL that makes its
 * tables like the source's of today.
 */
function compareColumns(table: Table, other: Table, isBehind: boolean, findings: Findings): void {
  const theirs = new Map(other.columns.map((column, index) => [column.name.toLowerCase(), { column, index }]));
  const problem = (what: string): void => {
    const remedy = "make the table as it is on the source (SHOW CREATE TABLE)";
    if (!isBehind) findings.error("target-columns", what, remedy, describeTable(table));
    else {
      const unless = "unless a DDL that the target has yet to get explains it, rows will go wrong";
      findings.warning("target-columns", `${what}; ${unless}`, remedy, describeTable(table));
    }
  };
  const missing: string[] = [];
  const moved: string[] = [];
  const charsets: string[] = [];
  const types: string[] = [];
  for (const [index, column] of table.columns.entries()) {
    const found = theirs.get(column.name.toLowerCase());
    if (found === undefined) {
      missing.push(column.name);
      continue;
    }
    const there = found.column;
    if (found.index !== index) moved.push(column.name);
    if (column.charset !== there.charset && column.charset !== undefined && there.charset !== undefined) {
      charsets.push(`${column.name} is ${column.charset} on the source, ${there.charset} on the target`);
    } else if (plainType(column) !== plainType(there)) {
      types.push(`${column.name} is ${plainType(column)} on the source, ${plainType(there)} on the target`);
    }
  }
  if (missing.length > 0) problem(`columns are missing on the target: ${missing.join(", ")}`);
  else if (moved.length > 0) problem(`columns stand in another order: ${moved.join(", ")}`);
  if (charsets.length > 0) problem(`character sets differ: ${listed(charsets)}`);
  if (types.length > 0) {
    findings.warning(
      "target-columns",
      listed(types),
      "make the columns alike: ALTER TABLE … MODIFY",
      describeTable(table),
    );
  }
}
