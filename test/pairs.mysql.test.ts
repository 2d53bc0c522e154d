import { describe, it } from "vitest";
import { replicatePair } from "./helpers/pair.ts";

/** A machine that is busy with other tests takes its time. */
const TIMEOUT_MS = 180_000;

describe("a mixed load with DDL, compared row by row", () => {
  it("replicates from MySQL 9.7 to MySQL 9.7", () => replicatePair("mysql-9.7", "mysql-9.7", 1), TIMEOUT_MS);
  it("replicates from MySQL 5.6 to MySQL 9.7", () => replicatePair("mysql-5.6", "mysql-9.7", 2), TIMEOUT_MS);
  it("replicates from MySQL 9.7 to MariaDB 10.11", () => replicatePair("mysql-9.7", "mariadb-10.11", 3), TIMEOUT_MS);
});
