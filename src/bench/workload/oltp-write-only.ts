import { DISTRIBUTIONS } from "./distribution.ts";
import { cValue, padValue, type SbtestOptions, sbtestPreparation } from "./sbtest.ts";
import type { Workload } from "./workload.ts";

/**
 * sysbench's oltp_write_only (src/lua/oltp_write_only.lua and oltp_common.lua, 1.0.20): one update of an indexed column, one of a column without index, one
 * row deleted and inserted again under the same id. Each of the three picks its own table, uniformly; ids come from the distribution.
 */
export function oltpWriteOnly(options: SbtestOptions): Workload {
  const distribution = DISTRIBUTIONS[options.distribution];
  return {
    name: "oltp_write_only",
    preparation: (seed) => sbtestPreparation(options, seed),
    thread(prng) {
      const table = (): string => `sbtest${prng.integer(1, options.tables)}`;
      const id = (): number => distribution(prng, 1, options.tableSize);
      return () => {
        const changed = table();
        const changedId = id();
        return [
          "BEGIN",
          `UPDATE ${table()} SET k=k+1 WHERE id=${id()}`,
          `UPDATE ${table()} SET c='${cValue(prng)}' WHERE id=${id()}`,
          `DELETE FROM ${changed} WHERE id=${changedId}`,
          `INSERT INTO ${changed} (id, k, c, pad) VALUES (${changedId}, ${id()}, '${cValue(prng)}', '${padValue(prng)}')`,
          "COMMIT",
        ];
      };
    },
  };
}
