import { createPrng, type Prng } from "../../base/prng.ts";
import { type DistributionName, DISTRIBUTIONS } from "./distribution.ts";

/** sysbench's tables `sbtest1` … `sbtestN` and the values in them (src/lua/oltp_common.lua, 1.0.20). */

export interface SbtestOptions {
  tables: number;
  /** Rows in each table at the start. */
  tableSize: number;
  /** Which rows are changed, and what `k` holds at the start. */
  distribution: DistributionName;
}

const ROWS_PER_INSERT = 1000;
const GROUP_DIGITS = 11;

/** `groups` times 11 random digits, with dashes between. */
function digitGroups(prng: Prng, groups: number): string {
  let text = "";
  for (let group = 0; group < groups; group++) {
    const digits = String(Math.floor(prng.next() * 10 ** GROUP_DIGITS)).padStart(GROUP_DIGITS, "0");
    text += group === 0 ? digits : `-${digits}`;
  }
  return text;
}

/** 119 characters for column `c`. */
export const cValue = (prng: Prng): string => digitGroups(prng, 10);

/** 59 characters for column `pad`. */
export const padValue = (prng: Prng): string => digitGroups(prng, 5);

/** Like sysbench, the secondary index is made after the rows. */
export function* sbtestPreparation(options: SbtestOptions, seed: number): Iterable<string> {
  const distribution = DISTRIBUTIONS[options.distribution];
  for (let table = 1; table <= options.tables; table++) {
    yield (
      `CREATE TABLE sbtest${table} (id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, ` +
      `c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)) ENGINE = InnoDB`
    );
    const prng = createPrng(seed, -table);
    for (let first = 1; first <= options.tableSize; first += ROWS_PER_INSERT) {
      const rows: string[] = [];
      for (let id = first; id < first + ROWS_PER_INSERT && id <= options.tableSize; id++) {
        rows.push(`(${distribution(prng, 1, options.tableSize)},'${cValue(prng)}','${padValue(prng)}')`);
      }
      yield `INSERT INTO sbtest${table} (k, c, pad) VALUES ${rows.join(",")}`;
    }
    yield `CREATE INDEX k_${table} ON sbtest${table} (k)`;
  }
}
