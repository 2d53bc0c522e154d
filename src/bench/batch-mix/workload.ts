import type { Prng } from "../../base/prng.ts";
import type { StatementList, Workload } from "../workload/workload.ts";

export interface BatchMixOptions {
  /** Batch transactions of all sessions together; small ones run as long as batches do. */
  batches: number;
  batchRowsMin: number;
  batchRowsMax: number;
}

export const BATCH_SESSIONS = 4;
export const SMALL_SESSIONS = 12;
const ACCOUNTS = 200_000;
const ROWS_PER_INSERT = 5_000;
/** Nine movements of ten are of the newest accounts, which lie at the end of each session's range. */
const NEWEST = 0.05;
const NEWEST_SHARE = 0.9;
/** The common rows: each small transaction changes one of them. */
const BRANCHES = 8;
/** A job that is good to its neighbours pauses between two batches. */
const BATCH_PAUSE_SECONDS = 0.02;

/**
 * A bank at night. Jobs in 4 sessions each walk through their own quarter of the accounts and change 1,000 to 10,000 neighbouring rows in one transaction, while 12
 * sessions post single movements as TPC-B does: one account, the total of its branch, and an entry. So a small transaction depends on the last one of its branch, and now and then on a batch
 * that has changed its account; it needs nothing of the batch that is being applied just now.
 */
export function batchMixWorkload({ batches, batchRowsMin, batchRowsMax }: BatchMixOptions): Workload {
  let left = batches;
  return {
    name: "batch-mix",
    *preparation() {
      yield "CREATE TABLE account (id INT PRIMARY KEY, balance BIGINT NOT NULL, changes INT NOT NULL, INDEX (balance), INDEX (changes)) ENGINE=InnoDB";
      yield "CREATE TABLE branch (id INT PRIMARY KEY, total BIGINT NOT NULL) ENGINE=InnoDB";
      yield `INSERT INTO branch VALUES ${Array.from({ length: BRANCHES }, (_, index) => `(${index + 1},0)`).join(",")}`;
      yield "CREATE TABLE entry (id BIGINT AUTO_INCREMENT PRIMARY KEY, account INT NOT NULL, amount INT NOT NULL) ENGINE=InnoDB";
      for (let first = 1; first <= ACCOUNTS; first += ROWS_PER_INSERT) {
        const rows = Array.from({ length: ROWS_PER_INSERT }, (_, index) => `(${first + index},1000,0)`);
        yield `INSERT INTO account VALUES ${rows.join(",")}`;
      }
    },
    thread(prng, thread) {
      if (thread >= BATCH_SESSIONS) return () => (left > 0 ? movement(prng) : undefined);
      const range = ACCOUNTS / BATCH_SESSIONS;
      let done = 0;
      return () => {
        if (left <= 0) return undefined;
        left--;
        const first = thread * range + done + 1;
        const last = Math.min(first + prng.integer(batchRowsMin, batchRowsMax) - 1, (thread + 1) * range);
        done = (last - thread * range) % range;
        return [
          `DO SLEEP(${BATCH_PAUSE_SECONDS})`,
          `UPDATE account SET balance=balance+1, changes=changes+1 WHERE id BETWEEN ${first} AND ${last}`,
        ];
      };
    },
  };
}

function movement(prng: Prng): StatementList {
  const account = accountOf(prng);
  const branch = prng.integer(1, BRANCHES);
  const amount = prng.integer(-100, 100);
  return [
    "BEGIN",
    `UPDATE account SET balance=balance+(${amount}), changes=changes+1 WHERE id=${account}`,
    `UPDATE branch SET total=total+(${amount}) WHERE id=${branch}`,
    `INSERT INTO entry (account, amount) VALUES (${account}, ${amount})`,
    "COMMIT",
  ];
}

function accountOf(prng: Prng): number {
  if (prng.next() >= NEWEST_SHARE) return prng.integer(1, ACCOUNTS);
  const range = ACCOUNTS / BATCH_SESSIONS;
  return prng.integer(1, BATCH_SESSIONS) * range - prng.integer(0, range * NEWEST - 1);
}
