import { NOT_SYSTEM_SCHEMA } from "./names.ts";

/** The least that reading a server's catalog needs of a session: rows by column name, values as the server's text. */
export interface CatalogSession {
  query(sql: string): Promise<Record<string, string | null>[]>;
}

/** A column as information_schema has it. */
export interface Column {
  name: string;
  /** Lower case, without length and attributes: `int`, `varchar`, `enum`, `geometrycollection`. */
  dataType: string;
  /** The server's full text: `int(10) unsigned`, `enum('a','b')`. */
  columnType: string;
  nullable: boolean;
  /** utf8 is told as utf8mb3, whatever the server calls it; undefined: no character type. */
  charset: string | undefined;
  collation: string | undefined;
  /** Bytes at most, of string types; may be above 2^32 - 1 only in theory. */
  octetLength: number | undefined;
  generated: "no" | "virtual" | "stored";
  invisible: boolean;
  autoIncrement: boolean;
}

export interface Key {
  /** `PRIMARY`, or the index's name. */
  name: string;
  unique: boolean;
  columns: KeyColumn[];
  /** The optimizer may not use it (invisible, ignored). */
  hidden: boolean;
}

export interface KeyColumn {
  /** undefined: an expression. */
  name: string | undefined;
  /** Characters (bytes of binary types) of a prefix; undefined: the whole column. */
  prefix: number | undefined;
  nullable: boolean;
  descending: boolean;
}

export interface Table {
  schema: string;
  name: string;
  /** `system-versioned`: MariaDB keeps its former rows too. */
  kind: "table" | "system-versioned";
  engine: string;
  collation: string | undefined;
  /** Guesses of the server, for progress only. */
  rowsEstimate: number;
  bytesEstimate: number;
  partitioned: boolean;
  columns: Column[];
  keys: Key[];
}

/**
 * All base tables of the user's schemas, with columns and keys, in three queries. Tables that the user may not see are not there.
 * Sequences (MariaDB) and views are not tables. `condition` on TABLE_SCHEMA and TABLE_NAME: only these.
 */
export async function readTables(
  session: CatalogSession,
  condition = `TABLE_SCHEMA ${NOT_SYSTEM_SCHEMA}`,
): Promise<Table[]> {
  const tables = await session.query(
    "SELECT TABLE_SCHEMA AS s, TABLE_NAME AS t, TABLE_TYPE AS table_kind, ENGINE AS engine_name, TABLE_COLLATION AS collation_name, TABLE_ROWS AS estimate, " +
      "DATA_LENGTH AS bytes, CREATE_OPTIONS AS options FROM information_schema.TABLES " +
      `WHERE TABLE_TYPE IN ('BASE TABLE','SYSTEM VERSIONED') AND ${condition} ORDER BY TABLE_SCHEMA, TABLE_NAME`,
  );
  const byName = new Map<string, Table>();
  for (const row of tables) {
    const table = tableOf(row);
    byName.set(nameKey(table.schema, table.name), table);
  }
  const columns = await session.query(
    "SELECT TABLE_SCHEMA AS s, TABLE_NAME AS t, COLUMN_NAME AS name, DATA_TYPE AS data_type, COLUMN_TYPE AS column_type, IS_NULLABLE AS is_nullable, " +
      "CHARACTER_SET_NAME AS charset_name, COLLATION_NAME AS collation_name, CHARACTER_OCTET_LENGTH AS octets, EXTRA AS extra " +
      `FROM information_schema.COLUMNS WHERE ${condition} ORDER BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION`,
  );
  for (const row of columns) byName.get(nameKey(row["s"], row["t"]))?.columns.push(columnOf(row));
  await readKeys(session, condition, byName);
  return [...byName.values()];
}

async function readKeys(session: CatalogSession, condition: string, byName: ReadonlyMap<string, Table>): Promise<void> {
  // Every column: which of them there are (IS_VISIBLE, IGNORED, EXPRESSION) depends on flavour and version.
  const rows = await session.query(
    `SELECT * FROM information_schema.STATISTICS WHERE ${condition} ` +
      "ORDER BY TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX",
  );
  for (const row of rows) {
    const table = byName.get(nameKey(row["TABLE_SCHEMA"], row["TABLE_NAME"]));
    if (table === undefined) continue;
    const name = row["INDEX_NAME"] ?? "";
    let key = table.keys.at(-1);
    if (key === undefined || key.name !== name) {
      key = {
        name,
        unique: row["NON_UNIQUE"] === "0",
        columns: [],
        hidden: row["IS_VISIBLE"] === "NO" || row["IGNORED"] === "YES",
      };
      table.keys.push(key);
    }
    key.columns.push({
      name: row["COLUMN_NAME"] ?? undefined,
      prefix: row["SUB_PART"] === null || row["SUB_PART"] === undefined ? undefined : Number(row["SUB_PART"]),
      nullable: row["NULLABLE"] === "YES",
      descending: row["COLLATION"] === "D",
    });
  }
}

function tableOf(row: Record<string, string | null>): Table {
  return {
    schema: row["s"] ?? "",
    name: row["t"] ?? "",
    kind: row["table_kind"] === "SYSTEM VERSIONED" ? "system-versioned" : "table",
    engine: row["engine_name"] ?? "",
    collation: row["collation_name"] ?? undefined,
    rowsEstimate: Number(row["estimate"] ?? 0),
    bytesEstimate: Number(row["bytes"] ?? 0),
    partitioned: /\bpartitioned\b/i.test(row["options"] ?? ""),
    columns: [],
    keys: [],
  };
}

function columnOf(row: Record<string, string | null>): Column {
  const extra = (row["extra"] ?? "").toUpperCase();
  return {
    name: row["name"] ?? "",
    dataType: (row["data_type"] ?? "").toLowerCase(),
    columnType: row["column_type"] ?? "",
    nullable: row["is_nullable"] === "YES",
    charset: row["charset_name"] === null ? undefined : charsetName(row["charset_name"] ?? ""),
    collation: row["collation_name"] === null ? undefined : collationName(row["collation_name"] ?? ""),
    octetLength: row["octets"] === null ? undefined : Number(row["octets"]),
    generated: generationOf(extra),
    invisible: extra.includes("INVISIBLE"),
    autoIncrement: extra.includes("AUTO_INCREMENT"),
  };
}

/** `VIRTUAL GENERATED`, `STORED GENERATED`; MariaDB before 10.2: `VIRTUAL`, `PERSISTENT`. MySQL's `DEFAULT_GENERATED` is only an expression as default. */
function generationOf(extra: string): Column["generated"] {
  if (/\bSTORED\b|\bPERSISTENT\b/.test(extra)) return "stored";
  return /\bVIRTUAL\b/.test(extra) ? "virtual" : "no";
}

/** utf8 was the name of utf8mb3 up to MySQL 8.0.29 and MariaDB 10.6. */
export function charsetName(charset: string): string {
  return charset === "utf8" ? "utf8mb3" : charset;
}

export function collationName(collation: string): string {
  return collation.replace(/^utf8_/, "utf8mb3_");
}

function nameKey(schema: string | null | undefined, name: string | null | undefined): string {
  return `${schema}\0${name}`;
}

/**
 * The key by which rows are best found and walked in order: the primary key, else the unique key with the fewest columns whose columns are all NOT NULL,
 * whole and usable. undefined: rows of this table have no names.
 */
export function walkingKey(table: Table): (Key & { columns: { name: string }[] }) | undefined {
  const usable = table.keys.filter(
    (key) =>
      key.unique &&
      !key.hidden &&
      key.columns.every((column) => column.name !== undefined && column.prefix === undefined && !column.nullable),
  ) as (Key & { columns: { name: string }[] })[];
  return (
    usable.find((key) => key.name === "PRIMARY") ?? usable.toSorted((a, b) => a.columns.length - b.columns.length)[0]
  );
}
