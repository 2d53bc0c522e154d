/** Text, or text with a `?` for each value: the latter is prepared once in a session and executed with its values from then on, as sysbench does. */
export type Statement = string | PreparedStatement;

export interface PreparedStatement {
  readonly sql: string;
  /** Whole numbers become BIGINT, text VARCHAR. */
  readonly values: readonly (number | string)[];
}

/** sysbench sends BEGIN as text, because no server prepares it, and COMMIT prepared. */
export const BEGIN: Statement = "BEGIN";
export const COMMIT: Statement = { sql: "COMMIT", values: [] };

/** Makes the prepared statement of one text. */
export function prepared(sql: string, ...values: (number | string)[]): PreparedStatement {
  return { sql, values };
}

/** The statement as text, its values in their places. */
export function statementText(statement: Statement): string {
  if (typeof statement === "string") return statement;
  let value = 0;
  return statement.sql.replaceAll("?", () => literal(statement.values[value++] ?? ""));
}

const literal = (value: number | string): string =>
  typeof value === "number" ? String(value) : `'${value.replaceAll("'", "''")}'`;
