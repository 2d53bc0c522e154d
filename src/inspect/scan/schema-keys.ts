import type { Key, Table } from "../../schema/catalog.ts";
import type { Schema } from "../../schema/dump.ts";
import type { SchemaKeys } from "./scan-table.ts";

/** The keys of a schema's tables that tell rows apart, by `schema.table`. Prefixes count as the whole column: a row that has the same prefix only is not taken for the same. */
export function schemaKeys(schema: Schema): Map<string, SchemaKeys> {
  return new Map(schema.tables.map((table) => [`${table.schema}.${table.name}`, keysOf(table)]));
}

function keysOf(table: Table): SchemaKeys {
  const position = new Map(table.columns.map(({ name }, i) => [name.toLowerCase(), i]));
  const columnsOf = (key: Key): number[] =>
    key.columns.map(({ name }) => position.get(name?.toLowerCase() ?? "") ?? -1);
  const unique = table.keys
    .filter((key) => key.unique)
    .map((key) => ({ key, columns: columnsOf(key) }))
    .filter(({ columns }) => !columns.includes(-1));
  const isRowKey = ({ key }: { key: Key }): boolean => key.columns.every(({ nullable }) => !nullable);
  const rank = ({ key }: { key: Key }): number => (key.name === "PRIMARY" ? 0 : 1);
  const ordered = unique.toSorted((a, b) => rank(a) - rank(b));
  const first = ordered.find(isRowKey);
  const keys = first === undefined ? [] : [first, ...ordered.filter((one) => one !== first)];
  return { columns: table.columns.map(({ name }) => name), keys: keys.map(({ columns }) => columns) };
}
