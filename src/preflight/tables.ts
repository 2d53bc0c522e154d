import { readTables, type Table, walkingKey } from "../schema/catalog.ts";
import { describeTable, NOT_SYSTEM_SCHEMA, quoteTable } from "../schema/names.ts";
import { checkBothTables } from "./both-tables.ts";
import { counted, type Findings, listed } from "./findings.ts";
import type { PreflightOptions } from "./report.ts";
import type { CheckedServer } from "./server.ts";

const TRANSACTIONAL = new Set(["innodb", "rocksdb", "ndbcluster", "tokudb"]);

/** Tables by their own nature, and against what the target knows and has. `target` is undefined when it could not be reached. */
export async function checkTables(
  source: CheckedServer,
  target: CheckedServer | undefined,
  options: PreflightOptions,
  findings: Findings,
): Promise<void> {
  const tables = await readTables(source.session);
  checkEngines(tables, findings);
  checkKeys(tables, findings);
  const partitioned = tables.filter((table) => table.partitioned);
  if (partitioned.length > 0) findings.ok("tables-partitioned", `partitioned: ${counted(partitioned.length, "table")}`);
  await findings.look("tables-cascades", source.session, () => checkCascades(source, target, findings));
  if (target === undefined) return;
  await checkBothTables(source, target, tables, options, findings);
}

function checkEngines(tables: readonly Table[], findings: Findings): void {
  const unsafe = tables.filter((table) => !TRANSACTIONAL.has(table.engine.toLowerCase()));
  const [first] = unsafe;
  if (first === undefined) {
    findings.ok("tables-engines", "all tables are transactional");
    return;
  }
  const engines = [...new Set(unsafe.map((table) => table.engine))].join(", ");
  findings.warning(
    "tables-engines",
    `${counted(unsafe.length, "table")} without transactions (${engines}): after a crash a change to one of them may be applied twice`,
    `ALTER TABLE ${quoteTable(first)} ENGINE=InnoDB${andOthers(unsafe)}`,
    listed(unsafe.map(describeTable)),
  );
}

function checkKeys(tables: readonly Table[], findings: Findings): void {
  const keyless = tables.filter((table) => walkingKey(table) === undefined);
  const [first] = keyless;
  if (first === undefined) {
    findings.ok("tables-keys", "all tables have a primary or a unique key");
    return;
  }
  findings.warning(
    "tables-keys",
    `${counted(keyless.length, "table")} without a primary or a unique NOT NULL key: every changed row is looked for with a scan, and one transaction waits for the other`,
    `ALTER TABLE ${quoteTable(first)} ADD COLUMN row_id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY${andOthers(keyless)}`,
    listed(keyless.map(describeTable)),
  );
}

function andOthers(tables: readonly unknown[]): string {
  return tables.length > 1 ? " (and so the others)" : "";
}

/** From 9.6 on MySQL writes the rows that a cascade changed into the binlog; older servers and MariaDB leave them to the replica's own cascade. */
async function checkCascades(
  source: CheckedServer,
  target: CheckedServer | undefined,
  findings: Findings,
): Promise<void> {
  const rows = await source.session.query(
    "SELECT DISTINCT CONSTRAINT_SCHEMA AS s, TABLE_NAME AS t FROM information_schema.REFERENTIAL_CONSTRAINTS " +
      `WHERE CONSTRAINT_SCHEMA ${NOT_SYSTEM_SCHEMA} AND (DELETE_RULE IN ('CASCADE','SET NULL') OR UPDATE_RULE IN ('CASCADE','SET NULL'))`,
  );
  if (rows.length === 0) return;
  const logsCascades = ({ session: { serverVersion } }: CheckedServer): boolean =>
    serverVersion.flavour === "mysql" && serverVersion.atLeast(9, 6);
  const names = rows.map((row) => `${row["s"]}.${row["t"]}`);
  if (target === undefined || logsCascades(source) === logsCascades(target)) {
    findings.ok("tables-cascades", `foreign keys cascade in ${counted(names.length, "table")}`);
    return;
  }
  const what = logsCascades(source)
    ? "the source logs the rows that its foreign keys cascade to, and the target cascades by itself too"
    : "the source leaves cascading to the replica, and the target expects cascaded rows in the log";
  findings.warning(
    "tables-cascades",
    what,
    "compare these tables with abreast verify after a DELETE or UPDATE that cascades",
    listed(names),
  );
}
