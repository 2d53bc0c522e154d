import { type CatalogSession, readTables, type Table } from "./catalog.ts";
import { NOT_SYSTEM_SCHEMA, quoteTable, quoteText } from "./names.ts";

export type ReferentialAction = "RESTRICT" | "NO ACTION" | "CASCADE" | "SET NULL" | "SET DEFAULT";

export interface ForeignKey {
  name: string;
  /** The child. */
  schema: string;
  table: string;
  columns: readonly string[];
  parentSchema: string;
  parentTable: string;
  /** As many as `columns`, in their order. */
  parentColumns: readonly string[];
  onUpdate: ReferentialAction;
  onDelete: ReferentialAction;
}

/** All foreign keys between the user's tables. MySQL before 8.0 and MariaDB open every table for it: once per change of the schema is enough. */
export async function readForeignKeys(session: CatalogSession): Promise<ForeignKey[]> {
  const rules = await session.query(
    "SELECT CONSTRAINT_SCHEMA AS s, TABLE_NAME AS t, CONSTRAINT_NAME AS name, UPDATE_RULE AS on_update, DELETE_RULE AS on_delete " +
      `FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA ${NOT_SYSTEM_SCHEMA}`,
  );
  if (rules.length === 0) return [];
  const columns = await session.query(
    "SELECT TABLE_SCHEMA AS s, TABLE_NAME AS t, CONSTRAINT_NAME AS name, COLUMN_NAME AS child_column, REFERENCED_TABLE_SCHEMA AS parent_schema, " +
      "REFERENCED_TABLE_NAME AS parent_table, REFERENCED_COLUMN_NAME AS parent_column FROM information_schema.KEY_COLUMN_USAGE " +
      `WHERE REFERENCED_TABLE_NAME IS NOT NULL AND TABLE_SCHEMA ${NOT_SYSTEM_SCHEMA} ` +
      "ORDER BY TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION",
  );
  const columnsOf = new Map<string, typeof columns>();
  for (const column of columns) {
    const name = constraintOf(column);
    const parts = columnsOf.get(name);
    if (parts === undefined) columnsOf.set(name, [column]);
    else parts.push(column);
  }
  return rules.flatMap((rule) => {
    const parts = columnsOf.get(constraintOf(rule)) ?? [];
    const first = parts[0];
    if (first === undefined) return [];
    return [
      {
        name: rule["name"] ?? "",
        schema: rule["s"] ?? "",
        table: rule["t"] ?? "",
        columns: parts.map((part) => part["child_column"] ?? ""),
        parentSchema: first["parent_schema"] ?? "",
        parentTable: first["parent_table"] ?? "",
        parentColumns: parts.map((part) => part["parent_column"] ?? ""),
        onUpdate: (rule["on_update"] ?? "CASCADE") as ReferentialAction,
        onDelete: (rule["on_delete"] ?? "CASCADE") as ReferentialAction,
      },
    ];
  });
}

const constraintOf = (row: Record<string, string | null>): string => `${row["s"]}\0${row["t"]}\0${row["name"]}`;

/**
 * One table as the server has it, by its name or, where the server does not tell apart upper and lower case, by one that differs in that. A key that compares
 * periods instead of values (MariaDB's WITHOUT OVERLAPS) has an expression among its columns.
 */
export async function readTable(
  session: CatalogSession,
  schema: string,
  name: string,
  flavour: "mysql" | "mariadb",
): Promise<Table | undefined> {
  const tables = await readTables(session, `TABLE_SCHEMA=${quoteText(schema)} AND TABLE_NAME=${quoteText(name)}`);
  const table = tables.find((candidate) => candidate.schema === schema && candidate.name === name) ?? tables[0];
  if (table !== undefined && flavour === "mariadb") await markPeriods(session, table);
  return table;
}

async function markPeriods(session: CatalogSession, table: Table): Promise<void> {
  const rows = await session.query(`SHOW CREATE TABLE ${quoteTable(table)}`);
  for (const line of (rows[0]?.["Create Table"] ?? "").split("\n")) {
    if (!/WITHOUT OVERLAPS\s*\)/.test(line)) continue;
    const names = Array.from(line.matchAll(/`((?:[^`]|``)*)`/g), ([, name = ""]) => name.replaceAll("``", "`"));
    const keyName = /^\s*PRIMARY KEY/.test(line) ? "PRIMARY" : names.shift();
    const key = table.keys.find(({ name }) => name === keyName);
    if (key === undefined) continue;
    // The period is the last; its two columns are the key's last.
    const values = key.columns.filter(({ name }) => name !== undefined && names.slice(0, -1).includes(name));
    key.columns = [...values, { name: undefined, prefix: undefined, nullable: false, descending: false }];
  }
}
