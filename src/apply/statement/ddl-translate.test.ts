import { expect, test } from "vitest";
import { factsOf } from "../../../test/helpers/target-facts.ts";
import { ReplicationError } from "../../base/error.ts";
import {
  mentionsCollation,
  showStatement,
  translateDdl,
  translateDml,
  type TranslateContext,
} from "./ddl-translate.ts";
import { lex, type LexContext } from "./lexer.ts";
import type { TargetFacts } from "./target.ts";

const MYSQL_97 = factsOf("9.7.4");
const MYSQL_56 = factsOf("5.6.24");
const MARIADB_1011 = factsOf("10.11.18-MariaDB");

function context(source: TargetFacts, target: TargetFacts, more: Partial<TranslateContext> = {}): TranslateContext {
  const lexContext: LexContext = {
    ansiQuotes: false,
    noBackslashEscapes: false,
    characterSet: "utf8mb4",
    server: target,
  };
  return { source, target, lex: lexContext, invoker: undefined, utf8mb4Collation: undefined, shown: "…", ...more };
}

function translated(sql: string, about: TranslateContext): string[] {
  const bytes = Buffer.from(sql);
  return translateDdl(bytes, [...lex(bytes, about.lex)], about).map(String);
}

function refusal(sql: string, about: TranslateContext): string {
  try {
    translated(sql, { ...about, shown: sql });
  } catch (error) {
    if (error instanceof ReplicationError && error.code === "UNSUPPORTED") return `${error.message} | ${error.hint}`;
    throw error;
  }
  throw new Error(`not refused: ${sql}`);
}

test("between servers of one kind a statement stays as it is, byte for byte", () => {
  const statements = [
    "CREATE TABLE t(a INT) /* CURRENT_USER */ COLLATE utf8mb4_0900_ai_ci",
    "CREATE TABLE `t` (\n  `id` int\n) START TRANSACTION",
    "ALTER TABLE t ADD COLUMN c VARCHAR(10) CHARACTER SET utf8mb4",
  ];
  for (const sql of statements) expect(translated(sql, context(MYSQL_97, MYSQL_97))).toEqual([sql]);
});

test("CURRENT_USER is the account of the event where it stands for one", () => {
  const about = context(MYSQL_97, MYSQL_97, { invoker: { user: "o'neil", host: "10.%" } });
  const account = "'o''neil'@'10.%'";
  expect(translated("GRANT SELECT ON *.* TO CURRENT_USER()", about)).toEqual([`GRANT SELECT ON *.* TO ${account}`]);
  expect(translated("ALTER USER current_user IDENTIFIED BY 'CURRENT_USER'", about)).toEqual([
    `ALTER USER ${account} IDENTIFIED BY 'CURRENT_USER'`,
  ]);
  expect(translated("CREATE DEFINER=CURRENT_USER PROCEDURE p() SELECT CURRENT_USER()", about)).toEqual([
    `CREATE DEFINER=${account} PROCEDURE p() SELECT CURRENT_USER()`,
  ]);
  expect(translated("ALTER EVENT e COMMENT 'x'", about)).toEqual([`ALTER DEFINER=${account} EVENT e COMMENT 'x'`]);
  expect(translated("DROP USER `current_user`, x", about)).toEqual(["DROP USER `current_user`, x"]);
});

test("collations are written in the target's names, outside of strings and comments", () => {
  const toMariadb = context(MYSQL_97, MARIADB_1011);
  expect(
    translated(
      "CREATE TABLE t(a TEXT COLLATE utf8mb4_0900_as_cs COMMENT 'COLLATE utf8mb4_0900_ai_ci') COLLATE='utf8mb4_0900_ai_ci'",
      toMariadb,
    ),
  ).toEqual([
    "CREATE TABLE t(a TEXT COLLATE utf8mb4_uca1400_nopad_as_cs COMMENT 'COLLATE utf8mb4_0900_ai_ci') COLLATE=utf8mb4_uca1400_nopad_ai_ci",
  ]);
  expect(translated("ALTER DATABASE d COLLATE = utf8mb4_uca1400_nopad_ai_ci", context(MARIADB_1011, MYSQL_97))).toEqual(
    ["ALTER DATABASE d COLLATE = utf8mb4_0900_ai_ci"],
  );
  expect(translated("CREATE TABLE t(a TEXT) COLLATE utf8_bin", context(MYSQL_56, MYSQL_97))).toEqual([
    "CREATE TABLE t(a TEXT) COLLATE utf8mb3_bin",
  ]);
  const dml = Buffer.from("UPDATE t SET a=1 WHERE b COLLATE utf8mb4_0900_ai_ci='x'");
  expect(mentionsCollation(dml)).toBe(true);
  expect(String(translateDml(dml, lex(dml, toMariadb.lex), toMariadb))).toBe(
    "UPDATE t SET a=1 WHERE b COLLATE utf8mb4_uca1400_nopad_ai_ci='x'",
  );
});

test("a collation or character set without an equal is refused with its name, the statement and a way out", () => {
  expect(refusal("CREATE TABLE t(a TEXT COLLATE utf8mb4_0900_ai_ci)", context(MYSQL_97, MYSQL_56))).toBe(
    "MySQL 5.6.24 has no collation equal to utf8mb4_0900_ai_ci: CREATE TABLE t(a TEXT COLLATE utf8mb4_0900_ai_ci) | " +
      "use character sets and collations that both servers know, or make this change on the target by hand and start behind it",
  );
  expect(refusal("CREATE TABLE t(a TEXT) CHARSET gb18030", context(MYSQL_97, MARIADB_1011))).toContain(
    "MariaDB 10.11.18 has no character set gb18030",
  );
});

test("bare utf8mb4 is given the collation that it meant on the source", () => {
  const about = context(MYSQL_97, MARIADB_1011, { utf8mb4Collation: "utf8mb4_0900_ai_ci" });
  const collate = "COLLATE utf8mb4_uca1400_nopad_ai_ci";
  expect(
    translated("CREATE TABLE t(a VARCHAR(9) CHARACTER SET utf8mb4, b INT) DEFAULT CHARSET=utf8mb4", about),
  ).toEqual([
    `CREATE TABLE t(a VARCHAR(9) CHARACTER SET utf8mb4 ${collate}, b INT) DEFAULT CHARSET=utf8mb4 ${collate}`,
  ]);
  const said = [
    "CREATE TABLE t(a VARCHAR(9) CHARACTER SET utf8mb4 NOT NULL COLLATE utf8mb4_bin) CHARSET=utf8mb4 ENGINE=InnoDB COLLATE utf8mb4_bin",
    "CREATE TABLE t(a VARCHAR(9) CHARACTER SET latin1) CHARSET=utf8mb4, COLLATE utf8mb4_bin",
    "CREATE TABLE t(a VARCHAR(9) AS (CAST(b AS CHAR CHARACTER SET utf8mb4)))",
    "CREATE VIEW v AS SELECT CONVERT(1, CHAR CHARACTER SET utf8mb4)",
  ];
  for (const sql of said) expect(translated(sql, about)).toEqual([sql]);
  expect(translated("ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4, ADD b TEXT COLLATE utf8mb4_bin", about)).toEqual([
    `ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4 ${collate}, ADD b TEXT COLLATE utf8mb4_bin`,
  ]);
  expect(translated("CREATE DATABASE d CHARACTER SET utf8mb4", about)).toEqual([
    `CREATE DATABASE d CHARACTER SET utf8mb4 ${collate}`,
  ]);
  const old = context(MYSQL_97, MYSQL_56, { utf8mb4Collation: "utf8mb4_0900_ai_ci" });
  expect(refusal("CREATE DATABASE d CHARACTER SET utf8mb4", old)).toContain(
    "utf8mb4 means utf8mb4_0900_ai_ci on the source",
  );
});

test("the mark of an atomic CREATE TABLE … SELECT goes where the target does not know it", () => {
  expect(translated("CREATE TABLE `t` (\n  `id` int\n) START TRANSACTION", context(MYSQL_97, MARIADB_1011))).toEqual([
    "CREATE TABLE `t` (\n  `id` int\n) ",
  ]);
});

test("MariaDB's conditional clauses are refused on MySQL before anything runs", () => {
  const about = context(MARIADB_1011, MYSQL_97);
  const conditional = [
    "ALTER TABLE d MODIFY COLUMN IF EXISTS p VARCHAR(20) DEFAULT ''",
    "ALTER TABLE d ADD PRIMARY KEY IF NOT EXISTS(id)",
    "ALTER TABLE d DROP COLUMN IF EXISTS nope, ADD COLUMN IF NOT EXISTS x INT DEFAULT 5",
    "ALTER ONLINE TABLE IF EXISTS d ADD x INT",
    "CREATE INDEX IF NOT EXISTS i ON d(a)",
    "DROP INDEX IF EXISTS i ON d",
  ];
  for (const sql of conditional) expect(refusal(sql, about)).toContain(sql);
  const harmless = [
    "DROP TABLE IF EXISTS d",
    "CREATE TABLE IF NOT EXISTS d(a INT)",
    "ALTER TABLE d ADD x INT DEFAULT (IF(1,2,3))",
  ];
  for (const sql of harmless) expect(translated(sql, about)).toEqual([sql]);
  expect(translated(conditional[0] as string, context(MARIADB_1011, MARIADB_1011))).toEqual([conditional[0]]);
});

test("OR REPLACE becomes DROP and CREATE, Aria's options go", () => {
  const about = context(MARIADB_1011, MYSQL_97);
  expect(
    translated("CREATE OR REPLACE TABLE `d`.`t`(a INT) ENGINE=InnoDB, PAGE_CHECKSUM=1 TRANSACTIONAL = 0", about),
  ).toEqual(["DROP TABLE IF EXISTS `d`.`t`", "CREATE  TABLE `d`.`t`(a INT) ENGINE=InnoDB "]);
  expect(translated("CREATE OR REPLACE DEFINER=`a`@`b` PROCEDURE p() SELECT 1", about)).toEqual([
    "DROP PROCEDURE IF EXISTS p",
    "CREATE  DEFINER=`a`@`b` PROCEDURE p() SELECT 1",
  ]);
  expect(translated("CREATE OR REPLACE VIEW v AS SELECT 1", about)).toEqual(["CREATE OR REPLACE VIEW v AS SELECT 1"]);
  expect(translated("ALTER TABLE t PAGE_CHECKSUM=1, ADD c INT", about)).toEqual(["ALTER TABLE t  ADD c INT"]);
  expect(refusal("CREATE OR REPLACE USER u", about)).toContain("CREATE OR REPLACE USER");
});

test("a list of tables that the source dropped in part is dropped as far as it is there", () => {
  for (const source of [MARIADB_1011, MYSQL_56]) {
    const about = context(source, MYSQL_97);
    expect(translated("DROP TABLE `a`,`b` /* generated by server */", about)).toEqual([
      "DROP TABLE IF EXISTS `a`,`b` /* generated by server */",
    ]);
    expect(translated("DROP TEMPORARY TABLE a", about)).toEqual(["DROP TEMPORARY TABLE IF EXISTS a"]);
    expect(translated("DROP TABLE IF EXISTS a", about)).toEqual(["DROP TABLE IF EXISTS a"]);
  }
  expect(translated("DROP TABLE a", context(MYSQL_97, MYSQL_97))).toEqual(["DROP TABLE a"]);
});

test("an engine that only the source has is refused", () => {
  expect(refusal("CREATE TABLE t(a INT) ENGINE = Aria", context(MARIADB_1011, MYSQL_97))).toContain(
    "MySQL 9.7.4 has no storage engine Aria",
  );
  expect(refusal("ALTER TABLE t ENGINE ndbcluster", context(MYSQL_97, MARIADB_1011))).toContain("ndbcluster");
  expect(translated("CREATE TABLE t(engine INT) ENGINE=InnoDB", context(MARIADB_1011, MYSQL_97))).toHaveLength(1);
});

test("no encryption is no encryption on MariaDB too, encryption is refused", () => {
  const about = context(MYSQL_97, MARIADB_1011);
  expect(translated("CREATE TABLE t(a INT) ENCRYPTION='N' COMMENT='ENCRYPTION'", about)).toEqual([
    "CREATE TABLE t(a INT)  COMMENT='ENCRYPTION'",
  ]);
  expect(refusal("ALTER DATABASE d DEFAULT ENCRYPTION = 'Y'", about)).toContain("ENCRYPTION='Y'");
});

test("a statement is shown on one line, cut, and without passwords", () => {
  const shown = (sql: string): string => {
    const bytes = Buffer.from(sql);
    return showStatement(bytes, [...lex(bytes, context(MYSQL_97, MYSQL_97).lex)]);
  };
  expect(shown("CREATE USER u\n IDENTIFIED WITH 'plugin' AS 'secret'")).toBe(
    "CREATE USER u IDENTIFIED WITH 'plugin' AS '***'",
  );
  expect(shown("ALTER USER u IDENTIFIED BY PASSWORD '*23'")).not.toContain("23");
  expect(shown("SET PASSWORD FOR u=PASSWORD('x1')")).not.toContain("x1");
  expect(shown("SET PASSWORD FOR u='x1'")).not.toContain("x1");
  expect(shown("CREATE SERVER s FOREIGN DATA WRAPPER w OPTIONS (PASSWORD 'x1')")).not.toContain("x1");
  expect(shown(`CREATE TABLE t(a INT COMMENT '${"x".repeat(900)}')`)).toHaveLength(501);
});
