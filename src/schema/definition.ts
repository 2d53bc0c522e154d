import type { Column, Key, Table } from "./catalog.ts";

/** How two tables of one name differ in their definition. */
export interface DefinitionComparison {
  /** Columns that only one side has. A generated invisible primary key (MySQL 8.0.30) is in `warnings` instead. */
  onlyOnSource: string[];
  onlyOnTarget: string[];
  /** Everything else, one sentence each. */
  warnings: string[];
}

/** As much of a server's version as matters to the text of its definitions. */
export interface ServerSeries {
  flavour: "mysql" | "mariadb";
  major: number;
  minor: number;
}

/** What is known of a side's table. `create`: the text of SHOW CREATE TABLE. */
export interface DefinedTable {
  table: Table;
  create: string;
  version: ServerSeries;
}

const WARNED_LINES_MAX = 6;

export function compareDefinitions(source: DefinedTable, target: DefinedTable): DefinitionComparison {
  const result: DefinitionComparison = { onlyOnSource: [], onlyOnTarget: [], warnings: [] };
  const ours = byName(source.table.columns);
  const theirs = byName(target.table.columns);
  const missing = (from: Map<string, Column>, other: Map<string, Column>, side: string, list: string[]): void => {
    for (const [name, column] of from) {
      if (other.has(name)) continue;
      if (isGeneratedKey(column))
        result.warnings.push(`only the ${side} has the generated invisible key ${column.name}`);
      else list.push(column.name);
    }
  };
  missing(ours, theirs, "source", result.onlyOnSource);
  missing(theirs, ours, "target", result.onlyOnTarget);
  if (sameSeries(source.version, target.version)) compareText(source.create, target.create, result.warnings);
  else compareParts(source, target, ours, theirs, result.warnings);
  return result;
}

const byName = (columns: readonly Column[]): Map<string, Column> =>
  new Map(columns.map((column) => [column.name.toLowerCase(), column]));

/** `my_row_id`: what sql_generate_invisible_primary_key adds to a table without a key. */
function isGeneratedKey(column: Column): boolean {
  return column.name.toLowerCase() === "my_row_id" && column.invisible && column.autoIncrement;
}

/** One release series writes one definition in one way. */
function sameSeries(a: ServerSeries, b: ServerSeries): boolean {
  return a.flavour === b.flavour && a.major === b.major && a.minor === b.minor;
}

/** SHOW CREATE TABLE without what differs between equal tables: the next AUTO_INCREMENT value. */
export function normalizeCreate(create: string): string {
  return create.replace(/ AUTO_INCREMENT=\d+(?= |$)/m, "");
}

function compareText(source: string, target: string, warnings: string[]): void {
  const [ours, theirs] = [definitionLines(source), definitionLines(target)];
  const differing = [
    ...ours.filter((line) => !theirs.includes(line)).map((line) => `only on the source: ${line}`),
    ...theirs.filter((line) => !ours.includes(line)).map((line) => `only on the target: ${line}`),
  ];
  if (differing.length === 0 && ours.join("\n") !== theirs.join("\n")) {
    differing.push("columns or keys stand in another order");
  }
  warnings.push(...differing.slice(0, WARNED_LINES_MAX));
  if (differing.length > WARNED_LINES_MAX) warnings.push(`and ${differing.length - WARNED_LINES_MAX} more lines`);
}

function definitionLines(create: string): string[] {
  return normalizeCreate(create)
    .split("\n")
    .map((line) => line.trim().replace(/,$/, ""));
}

function compareParts(
  source: DefinedTable,
  target: DefinedTable,
  ours: Map<string, Column>,
  theirs: Map<string, Column>,
  warnings: string[],
): void {
  for (const [name, column] of ours) {
    const other = theirs.get(name);
    if (other === undefined) continue;
    const differs = (what: string, here: string, there: string): void => {
      if (here !== there)
        warnings.push(`column ${column.name}: ${what} is ${here} on the source, ${there} on the target`);
    };
    differs("the type", plainType(column), plainType(other));
    differs("NULL", column.nullable ? "allowed" : "not allowed", other.nullable ? "allowed" : "not allowed");
    if (column.charset !== undefined && other.charset !== undefined) {
      differs("the character set", column.charset, other.charset);
    }
    differs("its generation", column.generated, other.generated);
  }
  const [keysHere, keysThere] = [keySet(source.table.keys), keySet(target.table.keys)];
  for (const key of keysHere) if (!keysThere.has(key)) warnings.push(`only on the source: ${key}`);
  for (const key of keysThere) if (!keysHere.has(key)) warnings.push(`only on the target: ${key}`);
}

const INTEGER_WIDTH = /\b(tinyint|smallint|mediumint|int|bigint|year)\(\d+\)/;

/** The type in words that all versions share: no display width, and JSON, which MariaDB keeps as LONGTEXT, as LONGTEXT. */
export function plainType(column: Column): string {
  const type = column.columnType.toLowerCase().replace(INTEGER_WIDTH, "$1");
  if (type === "json") return "longtext";
  return type === "geomcollection" ? "geometrycollection" : type;
}

/** `unique key (a, b(10))`: names of keys are no difference. */
function keySet(keys: readonly Key[]): Set<string> {
  return new Set(
    keys.map((key) => {
      const columns = key.columns.map(
        ({ name, prefix }) => (name ?? "expression") + (prefix === undefined ? "" : `(${prefix})`),
      );
      const kind = key.name === "PRIMARY" ? "primary key" : key.unique ? "unique key" : "key";
      return `${kind} (${columns.join(", ")})`;
    }),
  );
}
