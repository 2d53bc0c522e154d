import type { TableFilter } from "../transaction/body.ts";
import type { SourcePosition } from "../transaction/transaction.ts";
import { comparePositions } from "./progress.ts";

/** Our own tables on the source are the business of the engine that applies to it. */
const OWN_SCHEMA = "abreast";

/** A table that the initial copy read from a later snapshot than the first: transactions that start before `position` are in it already. */
export interface CopiedTable {
  schema: string;
  table: string;
  position: SourcePosition;
}

export function tableFilter(copied: readonly CopiedTable[]): TableFilter {
  const from = new Map(copied.map(({ schema, table, position }) => [`${schema}.${table}`, position]));
  if (from.size === 0) return (schema) => schema !== OWN_SCHEMA;
  return (schema, table, at) => {
    if (schema === OWN_SCHEMA) return false;
    const position = from.get(`${schema}.${table}`);
    return position === undefined || comparePositions(at, position) >= 0;
  };
}
