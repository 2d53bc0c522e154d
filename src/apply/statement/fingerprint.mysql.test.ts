import { expect, test } from "vitest";
import { openSession, rowsOf } from "../../../test/helpers/replay.ts";
import { useServer } from "../../../test/helpers/servers.ts";
import { SqlError } from "../../wire/sql-error.ts";
import { alreadyDone, schemaFingerprint } from "./fingerprint.ts";

const FLAVOURS = ["mysql-9.7", "mysql-5.6", "mariadb-10.11", "mariadb-11.8"] as const;

/** Each changes one definition, in an order in which all can run. */
const CHANGES = [
  "CREATE TABLE t(id INT PRIMARY KEY, a VARCHAR(9), b INT)",
  "ALTER TABLE t ADD COLUMN c DECIMAL(9,2)",
  "ALTER TABLE t MODIFY c DECIMAL(9,3)",
  "ALTER TABLE t ALTER a SET DEFAULT 'x'",
  "ALTER TABLE t ALTER a SET DEFAULT 'X'",
  "ALTER TABLE t ADD INDEX(a)",
  "ALTER TABLE t ADD INDEX(a)",
  "ALTER TABLE t DROP INDEX a",
  "ALTER TABLE t COMMENT 'changed'",
  "ALTER TABLE t CONVERT TO CHARACTER SET cp1250",
  "CREATE TABLE u(id INT PRIMARY KEY, t INT, CONSTRAINT fk FOREIGN KEY(t) REFERENCES t(id))",
  "RENAME TABLE t TO x, u TO t, x TO u",
  "ALTER TABLE t DROP FOREIGN KEY fk",
  "CREATE TABLE p(id INT) PARTITION BY RANGE(id) (PARTITION p0 VALUES LESS THAN (10))",
  "ALTER TABLE p ADD PARTITION (PARTITION p1 VALUES LESS THAN (20))",
  "CREATE VIEW v AS SELECT 1",
  "ALTER VIEW v AS SELECT 2",
  "CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW SET @a=1",
  "CREATE PROCEDURE f(x INT) SELECT 1",
  "ALTER PROCEDURE f COMMENT 'changed'",
  "CREATE EVENT e ON SCHEDULE EVERY 1 DAY STARTS '2037-01-01' DO SELECT 1",
  "ALTER DATABASE `fp é` CHARACTER SET cp1250",
  "DROP TABLE t",
  "DROP DATABASE `fp é`",
];

for (const flavour of FLAVOURS) {
  const server = useServer(flavour, { options: ["--sync-binlog=0", "--innodb-flush-log-at-trx-commit=2"] });

  test(`${flavour}: every change of a definition changes the fingerprint, and nothing else does`, async () => {
    const session = await openSession(server());
    const print = (accounts = false): Promise<string> => schemaFingerprint(rowsOf(session), ["fp é"], { accounts });
    await session.execute("CREATE DATABASE `fp é` CHARACTER SET utf8; USE `fp é`");
    const seen = [await print()];
    for (const sql of CHANGES) {
      await session.execute(sql);
      const now = await print();
      expect([sql, now]).not.toEqual([sql, seen.at(-1)]);
      seen.push(now);
    }
    await session.execute("CREATE DATABASE `fp é` CHARACTER SET utf8; USE `fp é`");
    await session.execute("CREATE TABLE t(id INT AUTO_INCREMENT PRIMARY KEY, v INT)");
    const before = await print();
    for (const sql of [
      "INSERT INTO t(v) VALUES(1),(2)",
      "ANALYZE TABLE t",
      "TRUNCATE t",
      "CREATE DATABASE other",
      "CREATE TABLE other.t(id INT)",
      "FLUSH TABLES",
      "SET sql_mode='ANSI'",
      "SET NAMES sjis",
    ]) {
      await session.execute(sql);
      expect([sql, await print()]).toEqual([sql, before]);
    }
    await session.close();
  });

  test(`${flavour}: accounts and grants are seen when asked for`, async () => {
    const session = await openSession(server());
    const print = (): Promise<string> => schemaFingerprint(rowsOf(session), [], { accounts: true });
    let last = await print();
    for (const sql of [
      "CREATE USER u@localhost IDENTIFIED BY 'a'",
      "SET PASSWORD FOR u@localhost=" + (flavour === "mysql-9.7" ? "'b'" : "PASSWORD('b')"),
      "GRANT SELECT ON *.* TO u@localhost",
      "GRANT INSERT ON mysql.* TO u@localhost",
      "RENAME USER u@localhost TO w@localhost",
      "DROP USER w@localhost",
    ]) {
      await session.execute(sql);
      const now = await print();
      expect([sql, now]).not.toEqual([sql, last]);
      last = now;
    }
    await session.close();
  });

  test(`${flavour}: a statement that is run a second time says that it was done`, async () => {
    const session = await openSession(server());
    await session.execute("CREATE DATABASE twice; USE twice; CREATE TABLE t(a INT, b INT); CREATE TABLE r(a INT)");
    for (const sql of [
      "CREATE DATABASE again",
      "DROP DATABASE again",
      "CREATE TABLE x(a INT)",
      "DROP TABLE x",
      "ALTER TABLE t ADD COLUMN c INT",
      "ALTER TABLE t DROP COLUMN c",
      "ALTER TABLE t ADD PRIMARY KEY(a)",
      "CREATE INDEX i ON t(b)",
      "DROP INDEX i ON t",
      "RENAME TABLE r TO s",
      "CREATE PROCEDURE p() SELECT 1",
      "DROP PROCEDURE p",
      // 5.6 says of a second one that it cannot have two; whether it was made, the fingerprint tells.
      ...(flavour === "mysql-5.6"
        ? []
        : ["CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET @a=1", "DROP TRIGGER g"]),
      "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO SELECT 1",
      "DROP EVENT e",
      "CREATE VIEW v AS SELECT 1",
      "DROP VIEW v",
      "CREATE USER u@localhost",
      "DROP USER u@localhost",
    ]) {
      await session.execute(sql);
      const error: unknown = await session.execute(sql).catch((reason: unknown) => reason);
      expect([sql, error instanceof SqlError ? alreadyDone(error.sqlCode) : "no error"]).toEqual([sql, true]);
    }
    const unrelated: unknown = await session
      .execute("ALTER TABLE t ADD UNIQUE(nope)")
      .catch((reason: unknown) => reason);
    expect(unrelated instanceof SqlError && alreadyDone(unrelated.sqlCode)).toBe(false);
    await session.close();
  });
}
