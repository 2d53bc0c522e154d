import { oltpStatements } from "./oltp-statements.ts";
import { type SbtestOptions, sbtestPreparation } from "./sbtest.ts";
import { BEGIN, COMMIT } from "./statement.ts";
import type { Workload } from "./workload.ts";

/** sysbench's oltp_write_only (src/lua/oltp_write_only.lua, 1.0.20): one update of an indexed column, one of a column without index, one row deleted and inserted again. */
export function oltpWriteOnly(options: SbtestOptions): Workload {
  const statements = oltpStatements(options);
  return {
    name: "oltp_write_only",
    preparation: (seed) => sbtestPreparation(options, seed),
    thread: (prng) => () => [
      BEGIN,
      statements.indexUpdate(prng),
      statements.nonIndexUpdate(prng),
      ...statements.deleteInsert(prng),
      COMMIT,
    ],
  };
}
