import { createPrng } from "../../base/prng.ts";
import { cValue } from "./sbtest.ts";
import { BEGIN, COMMIT } from "./statement.ts";
import type { Workload } from "./workload.ts";

export interface LargeTableOptions {
  /** Of the table; each large transaction changes all of them. */
  rows: number;
  /** How often it is done, one after the other. */
  repeat: number;
}

/** The table of `large-transaction` and `ddl`. */
export const LARGE_TABLE = "large";
const ROWS_PER_INSERT = 1000;

export function* largeTablePreparation(rows: number, seed: number): Iterable<string> {
  yield (
    `CREATE TABLE ${LARGE_TABLE} (id INT NOT NULL PRIMARY KEY, changes INT NOT NULL, c CHAR(120) NOT NULL, ` +
    `INDEX (changes)) ENGINE = InnoDB`
  );
  const prng = createPrng(seed);
  for (let first = 1; first <= rows; first += ROWS_PER_INSERT) {
    const values: string[] = [];
    for (let id = first; id < first + ROWS_PER_INSERT && id <= rows; id++) values.push(`(${id},0,'${cValue(prng)}')`);
    yield `INSERT INTO ${LARGE_TABLE} VALUES ${values.join(",")}`;
  }
}

/** One session changes every row of a table in one transaction; all other threads have nothing to do. */
export function largeTransaction({ rows, repeat }: LargeTableOptions): Workload {
  return {
    name: "large-transaction",
    preparation: (seed) => largeTablePreparation(rows, seed),
    thread(_prng, thread) {
      let left = thread === 0 ? repeat : 0;
      return () => (left-- > 0 ? [BEGIN, `UPDATE ${LARGE_TABLE} SET changes=changes+1`, COMMIT] : undefined);
    },
  };
}
