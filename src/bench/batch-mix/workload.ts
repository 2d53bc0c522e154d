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
/** Accounts that many transfers touch, spread over the ranges of all batches. */
const HOT_ACCOUNTS = 100;
const HOT_SHARE = 0.1;
/** A job that is good to its neighbours pauses between two batches. */
const BATCH_PAUSE_SECONDS = 0.25;

/**
 * A bank at night. Jobs in 4 sessions each walk through their own quarter of the accounts and change 1,000 to 10,000 neighbouring rows in one transaction, while 12
 * sessions make transfers between accounts, two rows and an entry each: one in ten touches a hot account, the others any. So a small transaction now and then needs a row
 * that a batch has just changed, and now and then one of another small one, but most need nothing of what is being applied.
 */
export function batchMixWorkload({ batches, batchRowsMin, batchRowsMax }: BatchMixOptions): Workload {
  let left = batches;
  return {
    name: "batch-mix",
    *preparation() {
      yield "CREATE TABLE account (id INT PRIMARY KEY, balance BIGINT NOT NULL, changes INT NOT NULL, INDEX (balance), INDEX (changes)) ENGINE=InnoDB";
      yield "CREATE TABLE entry (id BIGINT AUTO_INCREMENT PRIMARY KEY, debit INT NOT NULL, credit INT NOT NULL) ENGINE=InnoDB";
      for (let first = 1; first <= ACCOUNTS; first += ROWS_PER_INSERT) {
        const rows = Array.from({ length: ROWS_PER_INSERT }, (_, index) => `(${first + index},1000,0)`);
        yield `INSERT INTO account VALUES ${rows.join(",")}`;
      }
    },
    thread(prng, thread) {
      if (thread >= BATCH_SESSIONS) return () => (left > 0 ? transfer(prng) : undefined);
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

/** The lower id first, as a careful application does: two transfers never wait for each other in a circle. */
function transfer(prng: Prng): StatementList {
  const from = account(prng);
  const to = account(prng);
  const amount = prng.integer(1, 100);
  const changes = [
    { id: from, by: -amount },
    { id: to, by: amount },
  ].sort((a, b) => a.id - b.id);
  return [
    "BEGIN",
    ...changes.map(({ id, by }) => `UPDATE account SET balance=balance+(${by}), changes=changes+1 WHERE id=${id}`),
    `INSERT INTO entry (debit, credit) VALUES (${from}, ${to})`,
    "COMMIT",
  ];
}

function account(prng: Prng): number {
  if (prng.next() >= HOT_SHARE / 2) return prng.integer(1, ACCOUNTS);
  return 1 + prng.integer(0, HOT_ACCOUNTS - 1) * (ACCOUNTS / HOT_ACCOUNTS);
}
