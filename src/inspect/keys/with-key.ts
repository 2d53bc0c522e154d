import { ReplicationError } from "../../base/error.ts";

/** As if a table had this unique key. */
export interface WithKey {
  /** `schema.table` */
  table: string;
  /** Names, or `@1` for the first column where the log tells no names and there is no schema. */
  columns: readonly string[];
}

/** @param text `shop.orders(id, line)` @throws ReplicationError CONFIG */
export function parseWithKey(text: string): WithKey {
  const [, table = "", list = ""] = /^\s*([^.(]+\.[^(]+?)\s*\(([^)]*)\)\s*$/.exec(text) ?? [];
  const columns = list.split(",").map((column) => column.trim());
  if (table === "" || columns.includes("")) {
    throw new ReplicationError("CONFIG", `${text} is no key`, { hint: "write it as shop.orders(customer,number)" });
  }
  return { table, columns };
}
