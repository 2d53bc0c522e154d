/** `` `a``b` ``: a name as the server takes it anywhere. */
export function quoteName(name: string): string {
  return `\`${name.replaceAll("`", "``")}\``;
}

/** `` `shop`.`orders` `` */
export function quoteTable(table: { schema: string; name: string }): string {
  return `${quoteName(table.schema)}.${quoteName(table.name)}`;
}

/** `shop.orders`, for people. */
export function describeTable(table: { schema: string; name: string }): string {
  return `${table.schema}.${table.name}`;
}

/** A string literal that is right under every sql_mode with backslash escapes, and free of them where it can. */
export function quoteText(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
}

/** Schemas that every server keeps for itself, and ours. */
const SYSTEM_SCHEMAS = new Set(["mysql", "information_schema", "performance_schema", "sys", "ndbinfo", "abreast"]);

/** For `WHERE schema_column …`: the condition that leaves only the user's schemas. */
export const NOT_SYSTEM_SCHEMA = `NOT IN (${[...SYSTEM_SCHEMAS].map(quoteText).join(",")})`;
