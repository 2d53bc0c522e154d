import type { Prng } from "../../base/prng.ts";
import type { Workload } from "../workload/workload.ts";

export type KeyKind = "unique index" | "plain index" | "composite primary key";

export interface DeleteInsertOptions {
  key: KeyKind;
  /** `update`: the rows of one c1 are updated instead of deleted and inserted again. */
  change: "delete-insert" | "update";
  /** Of each session. */
  rounds: number;
}

export const SESSIONS = 8;
/**
 * Values of c1 that each session writes. Few, so that what is at work lies side by side in the index: the fewer, the more often it happens, and with 200 for each
 * session it does not happen at all.
 */
const VALUES_PER_SESSION = 2;
const ROWS_PER_VALUE = 50;

const TABLES: Readonly<Record<KeyKind, string>> = {
  "unique index":
    "id BIGINT AUTO_INCREMENT PRIMARY KEY, c1 INT NOT NULL, c2 INT NOT NULL, v INT NOT NULL, UNIQUE (c1,c2)",
  "plain index":
    "id BIGINT AUTO_INCREMENT PRIMARY KEY, c1 INT NOT NULL, c2 INT NOT NULL, v INT NOT NULL, INDEX (c1,c2)",
  "composite primary key": "c1 INT NOT NULL, c2 INT NOT NULL, v INT NOT NULL, PRIMARY KEY (c1,c2)",
};

/**
 * Members of lists that are saved anew as a whole: session i of 8 picks one of its own values of c1 (i or i + 8), deletes its 50 rows and inserts them again, each
 * in a transaction of its own. No two sessions ever touch the same row, so a replica may run theirs together; but rows of different c1 are neighbours
 * in the index, and there the locks of one session's deleted rows reach into the other's. A worker whose turn it is to commit then waits for one whose turn comes later.
 * MySQL notices, rolls the later one back and tries it again, after a second (sql/rpl_rli_pdb.cc, Slave_worker::retry_transaction): all behind it wait as long.
 */
export function deleteInsertWorkload({ key, change, rounds }: DeleteInsertOptions): Workload {
  return {
    name: change === "update" ? "update" : `delete-insert-${key.replaceAll(" ", "-")}`,
    *preparation() {
      yield `CREATE TABLE m (${TABLES[key]}) ENGINE=InnoDB`;
      for (let c1 = 0; c1 < SESSIONS * VALUES_PER_SESSION; c1++) yield insert(c1, 0);
    },
    thread(prng, thread) {
      const rounding = change === "update" ? updates : deletesAndInserts;
      const statements = rounding(prng, thread, rounds);
      return () => statements.next().value;
    },
  };
}

function* deletesAndInserts(prng: Prng, thread: number, rounds: number): Generator<string[], undefined> {
  for (let round = 1; round <= rounds; round++) {
    const c1 = pick(prng, thread);
    yield [`DELETE FROM m WHERE c1=${c1}`];
    yield [insert(c1, round)];
  }
}

function* updates(prng: Prng, thread: number, rounds: number): Generator<string[], undefined> {
  for (let round = 1; round <= rounds; round++) yield [`UPDATE m SET v=${round} WHERE c1=${pick(prng, thread)}`];
}

const pick = (prng: Prng, thread: number): number => thread + SESSIONS * prng.integer(0, VALUES_PER_SESSION - 1);

function insert(c1: number, v: number): string {
  const rows = Array.from({ length: ROWS_PER_VALUE }, (_, c2) => `(${c1},${c2},${v})`);
  return `INSERT IGNORE INTO m (c1,c2,v) VALUES ${rows.join(",")}`;
}
