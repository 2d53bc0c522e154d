import { describe, it } from "vitest";
import { replicatePair } from "./helpers/pair.ts";

describe("a mixed load with DDL, compared row by row", () => {
  it("replicates from MariaDB 10.11 to MariaDB 10.11", () => replicatePair("mariadb-10.11", "mariadb-10.11", 4));
  it("replicates from MariaDB 10.11 to MySQL 9.7", () => replicatePair("mariadb-10.11", "mysql-9.7", 5));
});
