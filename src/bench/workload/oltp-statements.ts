import type { Prng } from "../../base/prng.ts";
import { DISTRIBUTIONS } from "./distribution.ts";
import { cValue, padValue, type SbtestOptions } from "./sbtest.ts";
import { prepared, type Statement } from "./statement.ts";

/** Each group of statements picks its own table, uniformly; ids come from the distribution (src/lua/oltp_common.lua, 1.0.20). */
export interface OltpStatements {
  indexUpdate(prng: Prng): Statement;
  nonIndexUpdate(prng: Prng): Statement;
  /** One row deleted and inserted again under the same id. */
  deleteInsert(prng: Prng): Statement[];
  /** Ten point selects in one table, and the four kinds of range selects, each in a table of its own. */
  selects(prng: Prng): Statement[];
  /** Autocommitted and not prepared, as sysbench's; the id is the server's (auto-increment). */
  insert(prng: Prng): Statement;
}

const POINT_SELECTS = 10;
const RANGE_SIZE = 100;

/** Texts are made once for each table: a session looks its prepared statements up by them. */
export function oltpStatements(options: SbtestOptions): OltpStatements {
  const { tables, tableSize } = options;
  const distribution = DISTRIBUTIONS[options.distribution];
  const byTable = Array.from({ length: tables }, (_, index) => textsOf(`sbtest${index + 1}`));
  const table = (prng: Prng): Texts => byTable[prng.integer(0, tables - 1)] as Texts;
  const id = (prng: Prng): number => distribution(prng, 1, tableSize);
  const range = (prng: Prng, text: string): Statement => {
    const first = id(prng);
    return prepared(text, first, first + RANGE_SIZE - 1);
  };
  return {
    indexUpdate: (prng) => prepared(table(prng).indexUpdate, id(prng)),
    nonIndexUpdate: (prng) => prepared(table(prng).nonIndexUpdate, cValue(prng), id(prng)),
    deleteInsert(prng) {
      const { remove, insert } = table(prng);
      const changed = id(prng);
      return [prepared(remove, changed), prepared(insert, changed, id(prng), cValue(prng), padValue(prng))];
    },
    selects(prng) {
      const { pointSelect } = table(prng);
      const points = Array.from({ length: POINT_SELECTS }, () => prepared(pointSelect, id(prng)));
      return [
        ...points,
        range(prng, table(prng).simpleRange),
        range(prng, table(prng).sumRange),
        range(prng, table(prng).orderRange),
        range(prng, table(prng).distinctRange),
      ];
    },
    insert: (prng) =>
      `INSERT INTO ${table(prng).name} (id, k, c, pad) VALUES (0, ${id(prng)}, '${cValue(prng)}', '${padValue(prng)}')`,
  };
}

type Texts = ReturnType<typeof textsOf>;

function textsOf(name: string) {
  return {
    name,
    pointSelect: `SELECT c FROM ${name} WHERE id=?`,
    simpleRange: `SELECT c FROM ${name} WHERE id BETWEEN ? AND ?`,
    sumRange: `SELECT SUM(k) FROM ${name} WHERE id BETWEEN ? AND ?`,
    orderRange: `SELECT c FROM ${name} WHERE id BETWEEN ? AND ? ORDER BY c`,
    distinctRange: `SELECT DISTINCT c FROM ${name} WHERE id BETWEEN ? AND ? ORDER BY c`,
    indexUpdate: `UPDATE ${name} SET k=k+1 WHERE id=?`,
    nonIndexUpdate: `UPDATE ${name} SET c=? WHERE id=?`,
    remove: `DELETE FROM ${name} WHERE id=?`,
    insert: `INSERT INTO ${name} (id, k, c, pad) VALUES (?, ?, ?, ?)`,
  };
}
