import { type OltpStatements, oltpStatements } from "./oltp-statements.ts";
import { type SbtestOptions, sbtestPreparation } from "./sbtest.ts";
import type { Workload } from "./workload.ts";

/** sysbench's workloads of one statement that commits itself (src/lua/oltp_insert.lua, oltp_update_index.lua, oltp_update_non_index.lua, 1.0.20). */
export const oltpInsert = (options: SbtestOptions): Workload => autocommitted("oltp_insert", "insert", options);
export const oltpUpdateIndex = (options: SbtestOptions): Workload =>
  autocommitted("oltp_update_index", "indexUpdate", options);
export const oltpUpdateNonIndex = (options: SbtestOptions): Workload =>
  autocommitted("oltp_update_non_index", "nonIndexUpdate", options);

function autocommitted(
  name: string,
  kind: "insert" | "indexUpdate" | "nonIndexUpdate",
  options: SbtestOptions,
): Workload {
  const statements: OltpStatements = oltpStatements(options);
  return {
    name,
    preparation: (seed) => sbtestPreparation(options, seed),
    thread: (prng) => () => [statements[kind](prng)],
  };
}
