import { BEGIN, COMMIT, prepared } from "./statement.ts";
import type { Workload } from "./workload.ts";

export interface HotRowsOptions {
  /** Rows that all threads want. */
  hotRows: number;
}

/**
 * Sales of a few articles: each transaction inserts a sale and takes one piece from the stock of its article. On the source the sales of one article wait for each other's commit, so
 * a replica cannot run them together either; sales of different articles it can.
 */
export function hotRows({ hotRows }: HotRowsOptions): Workload {
  return {
    name: "hot-rows",
    *preparation() {
      yield "CREATE TABLE stock (article INT NOT NULL PRIMARY KEY, pieces BIGINT NOT NULL) ENGINE = InnoDB";
      yield "CREATE TABLE sale (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, article INT NOT NULL, price INT NOT NULL) ENGINE = InnoDB";
      for (let article = 1; article <= hotRows; article++) yield `INSERT INTO stock VALUES (${article}, 0)`;
    },
    thread: (prng) => () => {
      const article = prng.integer(1, hotRows);
      return [
        BEGIN,
        prepared("INSERT INTO sale (article, price) VALUES (?, ?)", article, prng.integer(1, 10_000)),
        prepared("UPDATE stock SET pieces=pieces-1 WHERE article=?", article),
        COMMIT,
      ];
    },
  };
}
