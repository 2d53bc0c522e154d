/** Which tables take part: names or patterns with `*` and `?`. Empty lists take everything. */
export interface TableFilter {
  /** `shop`, `shop_*` */
  schemas?: readonly string[];
  /** `shop.orders`, `*.orders` */
  tables?: readonly string[];
}

export function tableFilter(filter: TableFilter): (table: { schema: string; name: string }) => boolean {
  const schemas = (filter.schemas ?? []).map(pattern);
  const tables = (filter.tables ?? []).map(pattern);
  return ({ schema, name }) =>
    (schemas.length === 0 || schemas.some((expression) => expression.test(schema))) &&
    (tables.length === 0 || tables.some((expression) => expression.test(`${schema}.${name}`)));
}

function pattern(text: string): RegExp {
  const source = text
    .replaceAll(/[.+^${}()|[\]\\]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".");
  return new RegExp(`^${source}$`, "su");
}
