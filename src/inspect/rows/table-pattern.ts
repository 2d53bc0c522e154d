import { ReplicationError } from "../../base/error.ts";

/** `shop.orders`, `shop.*`, `*.orders`; upper and lower case are told apart, as in the log. @throws ReplicationError CONFIG */
export function parseTablePattern(text: string): string {
  if (/^(?:\*|[^.*]+)\.(?:\*|[^.*]+)$/.test(text)) return text;
  throw new ReplicationError("CONFIG", `"${text}" names no table`, {
    hint: "write schema.table, schema.* for all of a schema, or *.table; a * stands for a whole name",
  });
}

/** Whether a statement has the pattern's names in it: the table's, else the schema's. */
export function mentions(text: string, pattern: string): boolean {
  const [schema = "", table = ""] = pattern.split(".");
  const name = table === "*" ? schema : table;
  return name === "*" || text.toLowerCase().includes(name.toLowerCase());
}
