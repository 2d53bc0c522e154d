import { describe, expect, test } from "vitest";
import { contents, openSession, replay, rowsOf, runAll } from "../../../test/helpers/replay.ts";
import { useServer } from "../../../test/helpers/servers.ts";
import type { SandboxServer } from "../../sandbox/start.ts";

const FAST = ["--sync-binlog=0", "--innodb-flush-log-at-trx-commit=2"];

async function ask(server: SandboxServer, sql: string): Promise<(string | null)[][]> {
  const session = await openSession(server);
  try {
    return await rowsOf(session).rows(sql);
  } finally {
    await session.close();
  }
}

const collations = (server: SandboxServer, table: string): Promise<(string | null)[][]> =>
  ask(
    server,
    `SELECT COLUMN_NAME,COLLATION_NAME FROM information_schema.COLUMNS WHERE TABLE_NAME='${table}' AND COLLATION_NAME IS NOT NULL ORDER BY 1`,
  );

describe("from MariaDB 10.11 to MySQL 9.7", () => {
  const from = useServer("mariadb-10.11", { options: FAST });
  const to = useServer("mysql-9.7", { options: FAST });
  let done = 0;

  async function replayed(statements: readonly string[]): Promise<void> {
    await runAll(from(), statements);
    done = await replay(from(), to(), done);
  }

  /** Replays statements of which the last one cannot be; its error, and what the target had and has. */
  async function refused(statements: readonly string[]): Promise<string> {
    await runAll(from(), ["USE w", ...statements]);
    const before = await contents(to(), "w");
    const error = await replay(from(), to(), done).then(
      () => "not refused",
      (reason: unknown) => String(reason),
    );
    done++;
    expect(await contents(to(), "w")).toEqual(before);
    return error;
  }

  test("what MySQL has in other words is said in them", async () => {
    await replayed([
      "CREATE DATABASE w CHARACTER SET utf8mb4",
      "USE w",
      "CREATE TABLE r(id INT PRIMARY KEY)",
      "INSERT INTO r VALUES(1)",
      "CREATE OR REPLACE TABLE r(id INT PRIMARY KEY, v VARCHAR(9)) ENGINE=InnoDB PAGE_CHECKSUM=1 TRANSACTIONAL=0",
      "INSERT INTO r VALUES(2,'b')",
      "CREATE OR REPLACE TABLE copied AS SELECT * FROM r",
      "CREATE OR REPLACE PROCEDURE p() SELECT 1",
      "CREATE OR REPLACE PROCEDURE p() SELECT 2",
      "CREATE TABLE c(id INT PRIMARY KEY, v VARCHAR(9) COLLATE utf8mb4_uca1400_nopad_as_cs, u VARCHAR(9) CHARACTER SET utf8mb4)",
      "INSERT INTO c VALUES(1,'a','b')",
    ]);
    expect(await contents(to(), "w")).toEqual(await contents(from(), "w"));
    expect(await collations(to(), "c")).toEqual([
      ["u", "utf8mb4_general_ci"],
      ["v", "utf8mb4_0900_as_cs"],
    ]);
    expect(
      await ask(to(), "SELECT ROUTINE_DEFINITION FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA='w'"),
    ).toEqual([["SELECT 2"]]);
  });

  test("IF [NOT] EXISTS inside ALTER TABLE stops with the statement, before anything runs", async () => {
    const sql = "ALTER TABLE r DROP COLUMN IF EXISTS nope, ADD COLUMN IF NOT EXISTS x INT DEFAULT 5";
    expect(await refused([sql])).toContain(
      `MySQL 9.7.4 knows no IF [NOT] EXISTS in ALTER TABLE or on an index: ${sql}`,
    );
    expect(await refused(["CREATE INDEX IF NOT EXISTS i ON r(v)"])).toContain("CREATE INDEX IF NOT EXISTS i ON r(v)");
  });

  test("an engine or a collation that MySQL does not have stops before anything runs", async () => {
    expect(await refused(["CREATE TABLE ar(id INT PRIMARY KEY) ENGINE=Aria"])).toContain("no storage engine Aria");
    expect(await refused(["CREATE TABLE uc(v VARCHAR(9) COLLATE utf8mb4_uca1400_ai_ci)"])).toContain(
      "no collation equal to utf8mb4_uca1400_ai_ci",
    );
  });
});

describe("from MySQL 9.7", () => {
  const from = useServer("mysql-9.7", { options: FAST });
  const mariadb = useServer("mariadb-10.11", { options: FAST });
  const old = useServer("mysql-5.6", { options: FAST });

  test("sessions and tables in MySQL's default collation arrive on MariaDB, and stop before a MySQL 5.6 where it matters", async () => {
    await runAll(from(), [
      "SET NAMES utf8mb4 COLLATE utf8mb4_0900_ai_ci",
      "CREATE DATABASE w",
      "USE w",
      "CREATE TABLE t(id INT PRIMARY KEY, c VARCHAR(20))",
      "CREATE TABLE u(id INT PRIMARY KEY, c VARCHAR(20) CHARACTER SET utf8mb4, d VARCHAR(20) COLLATE utf8mb4_0900_bin) CHARSET=utf8mb4 ENCRYPTION='N'",
      "INSERT INTO t VALUES(1,'é'),(2,'a ')",
      "INSERT INTO u VALUES(1,'é','x')",
      "CREATE TABLE s AS SELECT * FROM t",
    ]);
    await replay(from(), mariadb());
    expect(await contents(mariadb(), "w")).toEqual(await contents(from(), "w"));
    expect(await collations(mariadb(), "t")).toEqual([["c", "utf8mb4_uca1400_nopad_ai_ci"]]);
    expect(await collations(mariadb(), "u")).toEqual([
      ["c", "utf8mb4_uca1400_nopad_ai_ci"],
      ["d", "utf8mb4_nopad_bin"],
    ]);
    await expect(replay(from(), old())).rejects.toThrow(
      "the target has no collation equal to utf8mb4_0900_ai_ci, in which the source ran: CREATE DATABASE w",
    );
    expect(await ask(old(), "SHOW DATABASES LIKE 'w'")).toEqual([]);
  });

  test("on MySQL 5.6 a session's collation does not stop what does not depend on it", async () => {
    await runAll(old(), ["CREATE DATABASE w CHARACTER SET utf8mb4"]);
    await replay(from(), old(), 1).catch((error: unknown) => {
      // The second table names the collation itself.
      expect(String(error)).toContain("utf8mb4_0900_bin");
    });
    expect(await ask(old(), "SHOW TABLES FROM w")).toEqual([["t"]]);
  });
});
