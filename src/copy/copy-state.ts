import { quoteText } from "../schema/names.ts";
import type { Session } from "../wire/session.ts";
import type { CopyPosition } from "./position.ts";

/** `todo`: not begun; `copying`: begun, its rows are of no use if we are cut off; `done`. */
export type CopyTableState = "todo" | "copying" | "done";

export interface CopiedTable {
  schema: string;
  table: string;
  state: CopyTableState;
  /** Of the snapshot that its rows are from; undefined in `todo`. */
  position: CopyPosition | undefined;
  rows: number;
  definition: string;
}

/** How far the copy of a channel is. `summary` is the row of the whole, without names: its definition is that of everything but tables. */
export interface CopyState {
  summary: CopiedTable;
  /** Which server the copy began from. */
  server: string;
  /** The copy's own schemas: the target had nothing in them before. */
  schemas: string[];
  tables: CopiedTable[];
}

/**
 * Where the copy is lives in the target, one row per table, and changes in the transaction that brings a table's rows: so after any end of the process a table is
 * known to be whole or not. Rows of a table that is `copying` are worthless: the snapshot they are from is gone with the session.
 */
export const COPY_STATE_DDL = [
  "CREATE DATABASE IF NOT EXISTS abreast DEFAULT CHARACTER SET utf8",
  `CREATE TABLE IF NOT EXISTS abreast.copy_state (
  channel VARCHAR(64) CHARACTER SET utf8 COLLATE utf8_bin NOT NULL,
  schema_name VARCHAR(64) CHARACTER SET utf8 COLLATE utf8_bin NOT NULL,
  table_name VARCHAR(64) CHARACTER SET utf8 COLLATE utf8_bin NOT NULL COMMENT 'empty: a schema, or the copy as a whole',
  state VARCHAR(10) CHARACTER SET ascii NOT NULL COMMENT 'todo, copying, done',
  copied_file VARCHAR(512) CHARACTER SET utf8 COLLATE utf8_bin NOT NULL DEFAULT '' COMMENT 'binlog of the source at the snapshot that the rows are from',
  copied_position BIGINT UNSIGNED NOT NULL DEFAULT 0,
  copied_gtids LONGTEXT CHARACTER SET ascii NULL,
  copied_rows BIGINT UNSIGNED NOT NULL DEFAULT 0,
  definition CHAR(64) CHARACTER SET ascii NOT NULL COMMENT 'SHA-256 of what was defined at the first snapshot',
  server VARCHAR(64) CHARACTER SET utf8 NOT NULL DEFAULT '' COMMENT 'the source',
  PRIMARY KEY (channel, schema_name, table_name)
) ENGINE=InnoDB COMMENT='Abreast: the initial copy, table by table'`,
] as const;

export async function readCopyState(session: Session, channel: string): Promise<CopyState | undefined> {
  const rows = await session.query(
    "SELECT schema_name, table_name, state, copied_file, copied_position, copied_gtids, copied_rows, definition, server FROM abreast.copy_state " +
      `WHERE channel=${quoteText(channel)} ORDER BY schema_name, table_name`,
  );
  const tables = rows.map((row): CopiedTable => {
    const file = row["copied_file"] ?? "";
    const position = { file, position: Number(row["copied_position"]), gtids: row["copied_gtids"] ?? "" };
    return {
      schema: row["schema_name"] ?? "",
      table: row["table_name"] ?? "",
      state: (row["state"] ?? "todo") as CopyTableState,
      position: file === "" ? undefined : position,
      rows: Number(row["copied_rows"]),
      definition: row["definition"] ?? "",
    };
  });
  const summary = tables.find(({ schema }) => schema === "");
  if (summary === undefined) return undefined;
  return {
    summary,
    server: rows[0]?.["server"] ?? "",
    schemas: tables.filter(({ schema, table }) => schema !== "" && table === "").map(({ schema }) => schema),
    tables: tables.filter(({ table }) => table !== ""),
  };
}

/** Writes the plan of a new copy, in one transaction. */
export async function beginCopyState(
  session: Session,
  channel: string,
  server: string,
  plan: {
    hash: string;
    schemas: readonly { name: string }[];
    tables: readonly { schema: string; name: string; hash: string }[];
  },
): Promise<void> {
  const row = (schema: string, table: string, hash: string): string =>
    `(${[channel, schema, table, "todo", hash, server].map(quoteText).join(",")})`;
  await session.execute("BEGIN");
  await session.execute(`DELETE FROM abreast.copy_state WHERE channel=${quoteText(channel)}`);
  const values = [
    row("", "", plan.hash),
    ...plan.schemas.map(({ name }) => row(name, "", "")),
    ...plan.tables.map(({ schema, name, hash }) => row(schema, name, hash)),
  ];
  for (let at = 0; at < values.length; at += ROWS_PER_INSERT) {
    await session.execute(
      "INSERT INTO abreast.copy_state (channel, schema_name, table_name, state, definition, server) VALUES " +
        values.slice(at, at + ROWS_PER_INSERT).join(","),
    );
  }
  await session.execute("COMMIT");
}

const ROWS_PER_INSERT = 1000;

/** `UPDATE` of one table's row (of the summary with empty names), alone or in the transaction of its rows. */
export function copyStateUpdate(
  key: { channel: string; schema: string; table: string },
  state: CopyTableState,
  position: CopyPosition,
  rows: number,
): string {
  return (
    `UPDATE abreast.copy_state SET state=${quoteText(state)},copied_file=${quoteText(position.file)},copied_position=${position.position},` +
    `copied_gtids=${quoteText(position.gtids)},copied_rows=${rows} ${whereTable(key)}`
  );
}

/** How many rows of a table are committed; waits for a session that still holds the row. */
export async function committedRows(
  session: Session,
  key: { channel: string; schema: string; table: string },
): Promise<number> {
  await session.execute("BEGIN");
  const rows = await session.queryValue(`SELECT copied_rows FROM abreast.copy_state ${whereTable(key)} FOR UPDATE`);
  await session.execute("ROLLBACK");
  return Number(rows);
}

function whereTable(key: { channel: string; schema: string; table: string }): string {
  return `WHERE channel=${quoteText(key.channel)} AND schema_name=${quoteText(key.schema)} AND table_name=${quoteText(key.table)}`;
}
