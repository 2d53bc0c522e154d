import { type Column, type Table, walkingKey } from "../schema/catalog.ts";
import { compareDefinitions } from "../schema/definition.ts";
import { quoteName, quoteTable } from "../schema/names.ts";
import type { Session } from "../wire/session.ts";
import { type CompareOptions, type Comparison, KeyedComparison } from "./compare-keyed.ts";
import { compareKeyless } from "./compare-keyless.ts";
import { type KeyWalk, keyWalk, walksAlike } from "./key-range.ts";
import type { TableReport } from "./report.ts";
import { compareColumns } from "./row-hash.ts";
import { Side } from "./side.ts";

/** Compares one table; a side that is missing is a difference by itself. */
export async function compareTable(
  source: Session,
  target: Session,
  pair: { source: Table | undefined; target: Table | undefined },
  options: CompareOptions,
): Promise<TableReport> {
  if (pair.source === undefined || pair.target === undefined) return missingTable(source, target, pair);
  const report: TableReport = {
    schema: pair.source.schema,
    table: pair.source.name,
    rows: 0,
    chunks: 0,
    identical: true,
    differences: [],
    warnings: [],
  };
  const definitions = compareDefinitions(await defined(source, pair.source), await defined(target, pair.target));
  report.warnings = definitions.warnings;
  const { onlyOnSource, onlyOnTarget } = definitions;
  if (onlyOnSource.length > 0 || onlyOnTarget.length > 0) {
    report.identical = false;
    report.columnsOnlyOn = { source: onlyOnSource, target: onlyOnTarget };
    return report;
  }
  if (pair.source.kind === "system-versioned" || pair.target.kind === "system-versioned") {
    report.warnings.push("system-versioned: only current rows are compared");
  }
  const comparison = await compareRows(source, target, pair.source, pair.target, options);
  Object.assign(report, comparison);
  report.identical = comparison.differences.length === 0;
  return report;
}

function compareRows(
  sourceSession: Session,
  targetSession: Session,
  sourceTable: Table,
  targetTable: Table,
  options: CompareOptions,
): Promise<Comparison> {
  const compared = comparedColumns(sourceTable, targetTable).map(([ours, theirs]) => compareColumns(ours, theirs));
  const walk = commonWalk(sourceTable, targetTable);
  const side = (session: Session, table: Table, which: "source" | "target"): Side =>
    new Side(
      session,
      quoteTable(table),
      compared.map((column) => column[which]),
      compared.map((column) => quoteName(column.name)),
      walk === undefined ? undefined : indexOf(table, walk),
    );
  const [source, target] = [side(sourceSession, sourceTable, "source"), side(targetSession, targetTable, "target")];
  return walk === undefined
    ? compareKeyless(source, target, options)
    : new KeyedComparison(source, target, walk, options).run();
}

/** All but virtual columns (they are made of others) and what only one side has (an invisible generated key). */
function comparedColumns(source: Table, target: Table): [Column, Column][] {
  const theirs = new Map(target.columns.map((column) => [column.name.toLowerCase(), column]));
  return source.columns.flatMap((column) => {
    const other = theirs.get(column.name.toLowerCase());
    const isVirtual = column.generated === "virtual" || other?.generated === "virtual";
    return other === undefined || isVirtual ? [] : [[column, other] satisfies [Column, Column]];
  });
}

/** undefined without a key in common: chunk by chunk, the side without an index would be scanned once per chunk. */
function commonWalk(source: Table, target: Table): KeyWalk | undefined {
  const key = walkingKey(source);
  const walk = key === undefined || !walksAlike(source, target, key) ? undefined : keyWalk(source, key);
  return walk === undefined || indexOf(target, walk) === undefined ? undefined : walk;
}

/** The side's own index on the walk's columns. */
function indexOf(table: Table, walk: KeyWalk): string | undefined {
  const wanted = walk.columns.map((column) => column.name.toLowerCase());
  const key = table.keys.find(
    ({ columns, hidden }) =>
      !hidden &&
      wanted.every(
        (name, index) => columns[index]?.name?.toLowerCase() === name && columns[index]?.prefix === undefined,
      ),
  );
  return key === undefined ? undefined : quoteName(key.name);
}

async function defined(session: Session, table: Table) {
  const [row] = await session.query(`SHOW CREATE TABLE ${quoteTable(table)}`);
  return { table, create: row?.["Create Table"] ?? "", version: session.serverVersion };
}

async function missingTable(
  source: Session,
  target: Session,
  pair: { source: Table | undefined; target: Table | undefined },
): Promise<TableReport> {
  const table = (pair.source ?? pair.target) as Table;
  const session = pair.source === undefined ? target : source;
  const rows = Number(await session.queryValue(`SELECT COUNT(*) FROM ${quoteTable(table)}`));
  return {
    schema: table.schema,
    table: table.name,
    rows,
    chunks: 0,
    identical: false,
    differences: [],
    onlyOn: pair.source === undefined ? "target" : "source",
    warnings: [],
  };
}
