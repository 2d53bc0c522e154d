import { expect, test } from "vitest";
import { classify, type StatementClass, withoutSettings } from "./classify.ts";
import { lex } from "./lexer.ts";

const of = (sql: string): StatementClass =>
  classify(
    withoutSettings(
      lex(Buffer.from(sql), {
        ansiQuotes: false,
        noBackslashEscapes: false,
        characterSet: "utf8mb4",
        server: { flavour: "mysql", version: { major: 9, minor: 7, patch: 0 } },
      }),
    ),
  );

test.each([
  "INSERT INTO t VALUES(1)",
  "/* c */ update t set a=1",
  "(SELECT 1)",
  "WITH x AS (SELECT 1) DELETE FROM t",
  "SAVEPOINT a",
  "ROLLBACK TO a",
  "SET @a=1",
  "CREATE TEMPORARY TABLE t(a INT)",
  "CREATE OR REPLACE TEMPORARY TABLE t(a INT)",
  "DROP /*!40005 TEMPORARY */ TABLE IF EXISTS `t`",
  "CALL p()",
  "REPLACE t VALUES(1)",
])("%s stays in its transaction", (sql) => {
  expect(of(sql).commits).toBe(false);
});

test.each([
  "TRUNCATE t",
  "ANALYZE TABLE t",
  "OPTIMIZE TABLE t",
  "CREATE OR REPLACE VIEW v AS SELECT 1",
  "CREATE TABLE IF NOT EXISTS t(a INT)",
  "CREATE DATABASE IF NOT EXISTS d",
  "CREATE DEFINER=`a`@`b` PROCEDURE IF NOT EXISTS p() SELECT 1",
  "DROP TABLE IF EXISTS a, b",
  "GRANT SELECT ON *.* TO u",
  "ALTER USER u IDENTIFIED BY 'x'",
  "SET PASSWORD FOR u = 'x'",
  "ALTER TABLE t ENGINE=InnoDB",
  "ALTER TABLE d.t FORCE, ALGORITHM=INPLACE, LOCK=NONE",
  "ALTER DATABASE d CHARACTER SET latin1",
  "ALTER VIEW v AS SELECT 1",
])("%s can be run again", (sql) => {
  expect(of(sql)).toMatchObject({ commits: true, resume: "repeat" });
});

test.each([
  "DROP TABLE a, b",
  "DROP DATABASE d",
  "DROP VIEW v",
  "DROP TRIGGER t",
  "DROP USER u",
  "CREATE USER u IDENTIFIED BY 'x'",
  "REVOKE SELECT ON *.* FROM u",
  "CREATE FUNCTION f RETURNS STRING SONAME 'f.so'",
])("%s may be half done: run again, errors of what is done are fine", (sql) => {
  expect(of(sql)).toMatchObject({ commits: true, resume: "tolerate" });
});

test.each([
  "CREATE TABLE t(a INT)",
  "ALTER TABLE t ADD INDEX(a)",
  "ALTER TABLE t ENGINE=InnoDB, ADD COLUMN b INT",
  "ALTER TABLE `t` DROP COLUMN engine",
  "RENAME TABLE a TO b, b TO a",
  "CREATE INDEX i ON t(a)",
  "DROP INDEX i ON t",
  "ALTER EVENT e RENAME TO f",
  "CREATE PROCEDURE p() IF EXISTS(SELECT 1) THEN SELECT 1; END IF",
])("%s must not be run twice", (sql) => {
  expect(of(sql)).toMatchObject({ commits: true, resume: "compare" });
});

test("accounts are told, whatever the words around", () => {
  for (const sql of ["CREATE USER a", "DROP ROLE r", "GRANT r TO u", "SET DEFAULT ROLE r TO u", "RENAME USER a TO b"]) {
    expect(of(sql).accounts).toBe(true);
  }
  expect(of("CREATE TABLE user(a INT)").accounts).toBe(false);
});

test("schemas are found before dots and in statements about them", () => {
  expect(of("RENAME TABLE `a b`.t TO Other.t").schemas).toEqual(["a b", "Other"]);
  expect(of("DROP DATABASE IF EXISTS `Gone`").schemas).toEqual(["Gone"]);
  expect(of("CREATE SCHEMA S").schemas).toEqual(["S"]);
  expect(of("ALTER TABLE t ADD database_id INT").schemas).toEqual([]);
});

test("an atomic CREATE TABLE … SELECT opens a transaction", () => {
  expect(of("CREATE TABLE `t` (\n `a` int\n) START TRANSACTION").opensTransaction).toBe(true);
  expect(of("CREATE TABLE start(transaction INT)").opensTransaction).toBe(false);
});

test("MariaDB's SET STATEMENT is what it is for", () => {
  expect(of("SET STATEMENT max_statement_time=10 FOR INSERT INTO t VALUES(1)").commits).toBe(false);
  expect(of("set statement sql_mode='', a=(1) for DROP TABLE d.a")).toMatchObject({
    resume: "tolerate",
    schemas: ["d"],
  });
  expect(of("SET @a=1").commits).toBe(false);
  expect(of("SET").commits).toBe(false);
});
