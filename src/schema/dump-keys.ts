import type { Key, KeyColumn, Table } from "./catalog.ts";
import { type DumpToken, nameAt, skipGroup, splitAtCommas, wordAt } from "./dump-tokens.ts";
import type { ForeignKey, ReferentialAction } from "./key-catalog.ts";

const CONSTRAINTS = new Set([
  "PRIMARY",
  "UNIQUE",
  "KEY",
  "INDEX",
  "FULLTEXT",
  "SPATIAL",
  "CONSTRAINT",
  "FOREIGN",
  "CHECK",
]);

/** Whether a definition between the parentheses of CREATE TABLE is of a key or another constraint, not of a column. */
export function isConstraint(tokens: readonly DumpToken[]): boolean {
  const word = wordAt(tokens, 0);
  return word !== undefined && (CONSTRAINTS.has(word) || (word === "PERIOD" && wordAt(tokens, 1) === "FOR"));
}

/** Adds what a definition of a key or constraint says. Its columns must be known. */
export function addConstraint(tokens: readonly DumpToken[], table: Table, foreignKeys: ForeignKey[]): void {
  let at = 0;
  let name: string | undefined;
  if (wordAt(tokens, at) === "CONSTRAINT") {
    at++;
    const next = wordAt(tokens, at);
    if (next === undefined || !CONSTRAINTS.has(next)) name = nameAt(tokens, at++);
  }
  const word = wordAt(tokens, at++);
  if (word === "CHECK" || word === "PERIOD") return;
  while (["KEY", "INDEX"].includes(wordAt(tokens, at) ?? "")) at++;
  if (word === "FOREIGN") return addForeignKey(tokens, at, { name, table, foreignKeys });
  const next = tokens[at];
  if (next !== undefined && next.text !== "(" && wordAt(tokens, at) !== "USING") name = nameAt(tokens, at);
  const from = tokens.findIndex(({ kind, text }, index) => index >= at && kind === "symbol" && text === "(");
  if (from === -1) return;
  const end = skipGroup(tokens, from);
  addKey(table, {
    name: word === "PRIMARY" ? "PRIMARY" : name,
    unique: word === "PRIMARY" || word === "UNIQUE",
    parts: tokens.slice(from + 1, end - 1),
    options: tokens.slice(end),
  });
}

/** `name` undefined: as the server names it, by its first column. */
export function addKey(
  table: Table,
  key: { name: string | undefined; unique: boolean; parts: readonly DumpToken[]; options: readonly DumpToken[] },
): void {
  const parts = splitAtCommas(key.parts);
  const columns = parts.map((part) => keyColumnOf(part, table, key.name === "PRIMARY"));
  const last = parts.at(-1) ?? [];
  const period = wordAt(last, 1) === "WITHOUT" && wordAt(last, 2) === "OVERLAPS";
  // Values are compared by all columns but the last, which is a period: what readTable says of such a key, too.
  if (period) columns.splice(-1, 1, { name: undefined, prefix: undefined, nullable: false, descending: false });
  table.keys.push({
    name: key.name ?? freeName(table, columns[0]?.name ?? "functional_index"),
    unique: key.unique,
    columns,
    hidden: key.options.some((_, at) => ["INVISIBLE", "IGNORED"].includes(wordAt(key.options, at) ?? "")),
  });
}

function keyColumnOf(part: readonly DumpToken[], table: Table, isPrimary: boolean): KeyColumn {
  const descending = wordAt(part, part.length - 1) === "DESC";
  const [first] = part;
  // An expression may be NULL; the server says so of every one.
  if (first === undefined || (first.kind === "symbol" && first.text === "(")) {
    return { name: undefined, prefix: undefined, nullable: true, descending };
  }
  const written = nameAt(part, 0);
  const column = table.columns.find(({ name }) => name.toLowerCase() === written.toLowerCase());
  if (column !== undefined && isPrimary) column.nullable = false;
  return {
    name: column?.name ?? written,
    prefix: part[1]?.text === "(" ? Number(part[2]?.text) : undefined,
    nullable: column?.nullable ?? false,
    descending,
  };
}

function freeName({ keys }: { keys: readonly Key[] }, base: string): string {
  const taken = new Set(keys.map(({ name }) => name.toLowerCase()));
  let name = base;
  for (let number = 2; taken.has(name.toLowerCase()); number++) name = `${base}_${number}`;
  return name;
}

/** `at`: behind FOREIGN KEY. */
function addForeignKey(
  tokens: readonly DumpToken[],
  at: number,
  { name, table, foreignKeys }: { name: string | undefined; table: Table; foreignKeys: ForeignKey[] },
): void {
  const own = groupFrom(tokens, at);
  let parent = own.end + 1;
  let parentSchema = table.schema;
  let parentTable = nameAt(tokens, parent++);
  if (tokens[parent]?.text === ".") {
    parentSchema = parentTable;
    parentTable = nameAt(tokens, parent + 1);
    parent += 2;
  }
  const theirs = groupFrom(tokens, parent);
  const before = foreignKeys.filter((key) => key.schema === table.schema && key.table === table.name).length;
  foreignKeys.push({
    name: name ?? `${table.name}_ibfk_${before + 1}`,
    schema: table.schema,
    table: table.name,
    columns: own.names,
    parentSchema,
    parentTable,
    parentColumns: theirs.names,
    onUpdate: actionOf(tokens, theirs.end, "UPDATE"),
    onDelete: actionOf(tokens, theirs.end, "DELETE"),
  });
}

/** The names in the next parentheses. */
function groupFrom(tokens: readonly DumpToken[], at: number): { names: string[]; end: number } {
  const from = tokens.findIndex(({ kind, text }, index) => index >= at && kind === "symbol" && text === "(");
  if (from === -1) return { names: [], end: tokens.length };
  const end = skipGroup(tokens, from);
  return { names: splitAtCommas(tokens.slice(from + 1, end - 1)).map((part) => nameAt(part, 0)), end };
}

/** What is not told is NO ACTION, which InnoDB does not tell from RESTRICT. */
function actionOf(tokens: readonly DumpToken[], from: number, event: "UPDATE" | "DELETE"): ReferentialAction {
  for (let at = from; at < tokens.length; at++) {
    if (wordAt(tokens, at) !== "ON" || wordAt(tokens, at + 1) !== event) continue;
    const word = wordAt(tokens, at + 2);
    if (word === "RESTRICT" || word === "CASCADE") return word;
    if (word === "SET") return wordAt(tokens, at + 3) === "NULL" ? "SET NULL" : "SET DEFAULT";
  }
  return "NO ACTION";
}
