import { describe, it } from "vitest";
import { replicatePair } from "./helpers/pair.ts";

/** A machine that is busy with other tests takes its time. */
const TIMEOUT_MS = 180_000;

describe("a mixed load with DDL, compared row by row", () => {
  it(
    "replicates from MariaDB 10.11 to MariaDB 10.11",
    () => replicatePair("mariadb-10.11", "mariadb-10.11", 4),
    TIMEOUT_MS,
  );
  it("replicates from MariaDB 10.11 to MySQL 9.7", () => replicatePair("mariadb-10.11", "mysql-9.7", 5), TIMEOUT_MS);
});
