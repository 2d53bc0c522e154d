import { oltpStatements } from "./oltp-statements.ts";
import { type SbtestOptions, sbtestPreparation } from "./sbtest.ts";
import { BEGIN, COMMIT } from "./statement.ts";
import type { Workload } from "./workload.ts";

/** sysbench's oltp_read_write (src/lua/oltp_read_write.lua, 1.0.20): fourteen reads, then what oltp_write_only does, in one transaction. */
export function oltpReadWrite(options: SbtestOptions): Workload {
  const statements = oltpStatements(options);
  return {
    name: "oltp_read_write",
    preparation: (seed) => sbtestPreparation(options, seed),
    thread: (prng) => () => [
      BEGIN,
      ...statements.selects(prng),
      statements.indexUpdate(prng),
      statements.nonIndexUpdate(prng),
      ...statements.deleteInsert(prng),
      COMMIT,
    ],
  };
}
