import type { Schema } from "../schema/dump.ts";
import type { CostModel, RowCosts } from "./cost-model.ts";

/**
 * Costs of the rows of each table of a schema: the more indexes, the more is changed with a row. What the model says of a table by name stays.
 */
export function withSchema(costs: CostModel, schema: Schema | undefined): CostModel {
  if (schema === undefined) return costs;
  const tables: Record<string, Partial<RowCosts>> = {};
  for (const { schema: name, name: table, keys } of schema.tables) {
    const indexes = keys.filter((key) => key.name !== "PRIMARY").length;
    const { insertUs, updateUs, deleteUs, indexUs } = costs.target;
    const ofTable = (us: number): number => Math.max(0, us + (indexes - 1) * indexUs);
    tables[`${name}.${table}`] = {
      insertUs: ofTable(insertUs),
      updateUs: ofTable(updateUs),
      deleteUs: ofTable(deleteUs),
      ...costs.tables[`${name}.${table}`],
    };
  }
  return { ...costs, tables: { ...costs.tables, ...tables } };
}
