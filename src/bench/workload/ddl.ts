import { LARGE_TABLE, type LargeTableOptions, largeTablePreparation } from "./large-transaction.ts";
import type { Workload } from "./workload.ts";

/**
 * One session rebuilds a large table: an ALTER TABLE that takes as long on a replica as on the source, on every server, and can be repeated. (MySQL 8.0 and MariaDB 10.3 add columns
 * in no time, so ADD COLUMN would show nothing.)
 */
export function ddl({ rows, repeat }: LargeTableOptions): Workload {
  return {
    name: "ddl",
    preparation: (seed) => largeTablePreparation(rows, seed),
    thread(_prng, thread) {
      let left = thread === 0 ? repeat : 0;
      return () => (left-- > 0 ? [`ALTER TABLE ${LARGE_TABLE} FORCE`] : undefined);
    },
  };
}
