import { beforeAll, describe, expect, test } from "vitest";
import { rows, run, withSession } from "./helpers/channel.ts";
import { type Field, Link, RELAXED, useFields } from "./helpers/field-cases.ts";
import { useServer } from "./helpers/servers.ts";

// Definitions that broke somebody's tool. MySQL 9.7 has two targets more: one on which its transactions keep their GTIDs, and one that is older.
const keeps = useServer("mysql-9.7", { options: RELAXED });
const older = useServer("mysql-5.6", { options: RELAXED });
const fields = useFields({
  "mysql-9.7": ["mysql-9.7", "mariadb-10.11"],
  "mysql-5.6": ["mysql-9.7"],
  "mariadb-10.11": ["mariadb-10.11", "mysql-9.7"],
});
const field = (flavour: Field["flavour"]): Field => fields.find((one) => one.flavour === flavour) as Field;
const mysql = field("mysql-9.7");
const mariadb = field("mariadb-10.11");
const toOlder = new Link("MySQL 9.7 to MySQL 5.6", mysql.source, older);

mysql.links.push(
  new Link("MySQL 9.7 to MySQL 9.7, GTIDs kept", mysql.source, keeps, { gtid: "preserve", startFrom: undefined }),
);

/** Links whose target understands all that the source does. */
const alike = (from: Field): Link[] =>
  from.links.filter((link) => link.source().flavour === link.target().flavour || from.flavour === "mysql-5.6");

async function settle(from: Field): Promise<void> {
  for (const link of from.links) await link.settle();
}

beforeAll(async () => {
  for (const from of fields) {
    const { source, schema } = from;
    await run(source(), `CREATE TABLE ${schema}.t(id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(300), n INT)`);
    await run(source(), `INSERT INTO ${schema}.t(v,n) VALUES('a',1),('b',2),('c',3),('d',4),('e',5),('f',6)`);
    await settle(from);
  }
});

describe.each(fields)("from $name", (from) => {
  test("rows before and after a column's new name are the same rows, without a pause", async () => {
    const insert = (a: string, first: number): string[] =>
      Array.from({ length: 40 }, (_, i) => `INSERT INTO renamed(id,${a}) VALUES(${first + i},${first + i})`);
    await from.replicate(
      "CREATE TABLE renamed(id INT PRIMARY KEY, a INT, c VARCHAR(10) DEFAULT 'x')",
      ...insert("a", 1),
      "UPDATE renamed SET a=a+100 WHERE id<=20",
      "ALTER TABLE renamed CHANGE a b INT",
      ...insert("b", 41),
      "UPDATE renamed SET b=b+100 WHERE id BETWEEN 21 AND 60",
      "ALTER TABLE renamed ADD COLUMN first INT NOT NULL DEFAULT 7 FIRST, DROP COLUMN c",
      "UPDATE renamed SET first=8 WHERE id=80",
    );
    await from.expectRows("SELECT COUNT(*), SUM(b IS NULL), SUM(b=id+100), SUM(first) FROM renamed", [
      ["80", "0", "60", "561"],
    ]);
  });

  test("tables swap their names, and whole schemas come and go", async () => {
    await from.replicate(
      "CREATE TABLE one(id INT PRIMARY KEY)",
      "CREATE TABLE two(id INT PRIMARY KEY)",
      "INSERT INTO one VALUES(1)",
      "INSERT INTO two VALUES(2)",
      "RENAME TABLE one TO swap, two TO one, swap TO two",
      "INSERT INTO one VALUES(11)",
      "ALTER TABLE two RENAME TO three",
      `CREATE DATABASE ${from.schema}_b CHARACTER SET latin1 COLLATE latin1_german1_ci`,
      `RENAME TABLE three TO ${from.schema}_b.moved`,
      `CREATE TABLE ${from.schema}_b.c(v VARCHAR(10) PRIMARY KEY)`,
      `INSERT INTO ${from.schema}_b.c VALUES('ü')`,
      `ALTER DATABASE ${from.schema}_b CHARACTER SET utf8 COLLATE utf8_bin`,
      `CREATE TABLE ${from.schema}_b.d(v VARCHAR(10) PRIMARY KEY)`,
      `CREATE DATABASE ${from.schema}_gone`,
      `CREATE TABLE ${from.schema}_gone.x(id INT)`,
      `USE ${from.schema}_gone`,
      "INSERT INTO x VALUES(1)",
      `DROP DATABASE ${from.schema}_gone`,
      `CREATE DATABASE ${from.schema}_gone`,
      `CREATE TABLE ${from.schema}_gone.y(id INT)`,
      `DROP DATABASE IF EXISTS ${from.schema}_never`,
      `CREATE DATABASE IF NOT EXISTS ${from.schema}_gone`,
    );
    await from.expectRows("SELECT * FROM one ORDER BY id", [["2"], ["11"]]);
    await from.expectRows(`SELECT id FROM ${from.schema}_b.moved`, [["1"]]);
    for (const link of from.links) await link.expectIdentical(`${from.schema}_b`);
    await from.expectSame(
      `SELECT TABLE_NAME, CHARACTER_SET_NAME, COLLATION_NAME='latin1_german1_ci' FROM information_schema.COLUMNS WHERE TABLE_SCHEMA='${from.schema}_b' AND TABLE_NAME='c'`,
    );
    await from.expectSame(`SHOW TABLES FROM ${from.schema}_gone`);
  });

  test("TRUNCATE begins the numbers anew, and AUTO_INCREMENT goes on where the source's does", async () => {
    await from.replicate(
      "CREATE TABLE counted(id INT AUTO_INCREMENT PRIMARY KEY, v INT)",
      "INSERT INTO counted(v) VALUES(1),(2),(3)",
      "TRUNCATE TABLE counted",
      "INSERT INTO counted(v) VALUES(4)",
      "ALTER TABLE counted AUTO_INCREMENT=100",
      "INSERT INTO counted(v) VALUES(5)",
      "DELETE FROM counted WHERE id=100",
      "INSERT INTO counted(v) VALUES(6)",
      "SET SESSION binlog_format=STATEMENT",
      "INSERT INTO counted(v) VALUES(7)",
    );
    await from.expectRows("SELECT * FROM counted ORDER BY id", [
      ["1", "4"],
      ["101", "6"],
      ["102", "7"],
    ]);
  });

  test("partitions are added, dropped, exchanged, truncated and reorganised", async () => {
    await from.replicate(
      "CREATE TABLE parts(id INT, y INT, PRIMARY KEY(id,y)) PARTITION BY RANGE(y) (PARTITION p1 VALUES LESS THAN (10), PARTITION p2 VALUES LESS THAN (20))",
      "CREATE TABLE part(id INT, y INT, PRIMARY KEY(id,y))",
      "INSERT INTO parts VALUES(1,1),(2,11)",
      "INSERT INTO part VALUES(3,3)",
      "ALTER TABLE parts ADD PARTITION (PARTITION p3 VALUES LESS THAN (30))",
      "INSERT INTO parts VALUES(4,21)",
      "UPDATE parts SET y=22 WHERE id=2",
      "ALTER TABLE parts EXCHANGE PARTITION p1 WITH TABLE part",
      "ALTER TABLE parts REORGANIZE PARTITION p3 INTO (PARTITION p3a VALUES LESS THAN (22), PARTITION p3b VALUES LESS THAN MAXVALUE)",
      "INSERT INTO parts VALUES(5,15),(6,99)",
      "ALTER TABLE parts TRUNCATE PARTITION p2",
      "ALTER TABLE parts DROP PARTITION p3a",
      "ALTER TABLE part PARTITION BY HASH(id) PARTITIONS 4",
      "INSERT INTO part VALUES(7,7)",
      "ALTER TABLE part REMOVE PARTITIONING",
    );
    await from.expectRows("SELECT id FROM parts ORDER BY id", [["2"], ["3"], ["6"]]);
    await from.expectRows("SELECT id FROM part ORDER BY id", [["1"], ["7"]]);
    await from.expectSame(
      "SELECT PARTITION_NAME, PARTITION_METHOD, PARTITION_DESCRIPTION FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME IN ('parts','part') ORDER BY TABLE_NAME, PARTITION_ORDINAL_POSITION",
    );
  });

  test("routines, views, triggers and events keep their definer, their mode and their body; events do not run on the target", async () => {
    await from.replicate(
      "CREATE TABLE made(id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(100))",
      "CREATE PROCEDURE p1(IN a INT, OUT b VARCHAR(10)) MODIFIES SQL DATA COMMENT 'it''s' BEGIN /* ; */ DECLARE x INT DEFAULT a; SET b='ü'; INSERT INTO made(v) VALUES(CONCAT('p', x, \"dq\")); END",
      "SET sql_mode='ANSI_QUOTES,PIPES_AS_CONCAT'",
      'CREATE DEFINER="no body"@"%" FUNCTION f1(a INT) RETURNS VARCHAR(20) DETERMINISTIC SQL SECURITY INVOKER RETURN \'f\' || a',
      "SET sql_mode=DEFAULT",
      "CREATE DEFINER=CURRENT_USER TRIGGER tr1 BEFORE UPDATE ON made FOR EACH ROW SET NEW.v=CONCAT(NEW.v,'!')",
      "CREATE ALGORITHM=MERGE DEFINER='x'@'10.0.0.1' SQL SECURITY INVOKER VIEW v1 AS SELECT id, v FROM made WHERE v LIKE 'p%' WITH CHECK OPTION",
      "CREATE OR REPLACE VIEW v1 AS SELECT id, v AS w FROM made",
      "CREATE EVENT e1 ON SCHEDULE EVERY 1 YEAR STARTS '2037-01-01 00:00:00' ON COMPLETION PRESERVE COMMENT 'DO' DO INSERT INTO made(v) VALUES('event')",
      "ALTER EVENT e1 DISABLE",
      "CREATE EVENT e2 ON SCHEDULE EVERY 1 YEAR STARTS '2037-01-01 00:00:00' DO SET @x=1",
      "DROP EVENT e2",
      "CALL p1(5, @out)",
      "UPDATE made SET v='changed' WHERE id=1",
      "ALTER PROCEDURE p1 SQL SECURITY INVOKER COMMENT 'altered'",
      "CREATE VIEW v2 AS SELECT f1(id) AS f FROM v1",
      "DROP VIEW v2",
      "CREATE TABLE v2(f INT)",
    );
    await from.expectRows("SELECT w FROM v1", [["changed!"]]);
    await from.expectSame(
      "SELECT ROUTINE_NAME, ROUTINE_TYPE, DEFINER, SECURITY_TYPE, ROUTINE_COMMENT, SQL_DATA_ACCESS, IS_DETERMINISTIC, DTD_IDENTIFIER, ROUTINE_DEFINITION FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA=DATABASE() ORDER BY 1",
    );
    await from.expectSame(
      "SELECT TRIGGER_NAME, DEFINER, ACTION_STATEMENT, EVENT_MANIPULATION, ACTION_TIMING FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA=DATABASE() ORDER BY 1",
    );
    await from.expectSame(
      "SELECT TABLE_NAME, DEFINER, SECURITY_TYPE, CHECK_OPTION FROM information_schema.VIEWS WHERE TABLE_SCHEMA=DATABASE() ORDER BY 1",
    );
    await from.expectSame(
      "SELECT EVENT_NAME, DEFINER, EVENT_DEFINITION, INTERVAL_VALUE, ON_COMPLETION, EVENT_COMMENT FROM information_schema.EVENTS WHERE EVENT_SCHEMA=DATABASE() ORDER BY 1",
    );
    for (const link of from.links) {
      expect(
        await rows(link.target(), `SELECT STATUS FROM information_schema.EVENTS WHERE EVENT_SCHEMA='${from.schema}'`),
      ).toEqual([[expect.stringMatching(/^(SLAVESIDE|REPLICA_SIDE)_DISABLED$/)]]);
    }
  });

  test("text in the client's own character set arrives as it was meant: latin1, sjis, gbk, in DDL and in statements", async () => {
    const text = (before: string, bytes: number[], after: string): Buffer =>
      Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)]);
    // sjis 表 is 95 5C and gbk 誠 is D5 5C: their second byte looks like a backslash.
    await from.replicate(
      "SET NAMES latin1",
      text(
        "CREATE TABLE tl1(id INT PRIMARY KEY, c VARCHAR(20) CHARACTER SET utf8 DEFAULT '",
        [0xe9, 0xfc],
        "' COMMENT 'x') CHARACTER SET utf8",
      ),
      "INSERT INTO tl1(id) VALUES(1)",
      text("ALTER TABLE tl1 COMMENT='", [0xe4, 0xf6], "', ADD COLUMN `n` INT COMMENT 'y'"),
      "SET NAMES sjis",
      text("ALTER TABLE tl1 ADD COLUMN d VARCHAR(20) CHARACTER SET utf8 DEFAULT '", [0x95, 0x5c], "' COMMENT 'z'"),
      "SET NAMES gbk",
      text("ALTER TABLE tl1 ADD COLUMN e VARCHAR(20) CHARACTER SET utf8 DEFAULT '", [0xd5, 0x5c], "'"),
      "SET NAMES utf8",
      "SET SESSION binlog_format=STATEMENT",
      "SET NAMES latin1",
      text("INSERT INTO tl1(id,c) VALUES(2,'", [0xe9], "')"),
      "SET NAMES sjis",
      text("INSERT INTO tl1(id,c) VALUES(3,'", [0x95, 0x5c], "')"),
      "SET NAMES gbk",
      text("INSERT INTO tl1(id,c) VALUES(4,'", [0xd5, 0x5c], "')"),
      "SET NAMES utf8mb4",
      "INSERT INTO tl1(id,c) VALUES(5,'é表')",
      "SET NAMES binary",
      "UPDATE tl1 SET n=LENGTH('é') WHERE id=1",
      "SET NAMES latin1",
      "UPDATE tl1 SET n=LENGTH('é') WHERE id=2",
    );
    await from.expectRows("SELECT id, HEX(c), HEX(d), HEX(e), n FROM tl1 ORDER BY id", [
      ["1", "C3A9C3BC", "E8A1A8", "E8AAA0", "2"],
      ["2", "C3A9", "E8A1A8", "E8AAA0", "2"],
      ["3", "E8A1A8", "E8A1A8", "E8AAA0", null],
      ["4", "E8AAA0", "E8A1A8", "E8AAA0", null],
      ["5", "C3A9E8A1A8", "E8A1A8", "E8AAA0", null],
    ]);
    await from.expectRows(
      "SELECT HEX(CONVERT(TABLE_COMMENT USING utf8)) FROM information_schema.TABLES WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME='tl1'",
      [["C3A4C3B6"]],
    );
  });

  test("a schema and tables that say nothing of character sets take what the source's session had", async () => {
    await from.run([
      `CREATE DATABASE ${from.schema}_plain`,
      `CREATE TABLE ${from.schema}_plain.a(v VARCHAR(10) PRIMARY KEY)`,
      `CREATE TABLE ${from.schema}_plain.b(v VARCHAR(10) PRIMARY KEY) CHARACTER SET utf8mb4`,
      `ALTER TABLE ${from.schema}_plain.a CONVERT TO CHARACTER SET utf8mb4`,
      `INSERT INTO ${from.schema}_plain.a VALUES('é'),('a'),('🙂')`,
      `INSERT INTO ${from.schema}_plain.b VALUES('é'),('ß')`,
      `ALTER TABLE ${from.schema}_plain.b ADD COLUMN w VARCHAR(10) CHARACTER SET utf8mb4 DEFAULT 'ü', ADD COLUMN l CHAR(3) CHARACTER SET latin1 DEFAULT 'ä'`,
    ]);
    await settle(from);
    const columns = `SELECT TABLE_NAME, COLUMN_NAME, CHARACTER_SET_NAME, COLLATION_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA='${from.schema}_plain' ORDER BY 1, 2`;
    for (const link of from.links) {
      await link.expectIdentical(`${from.schema}_plain`);
      const ofMysql = await rows(from.source(), columns);
      const equal = ofMysql.map((row) =>
        row.map((value) =>
          link.target().flavour.startsWith("mariadb") && value === "utf8mb4_0900_ai_ci"
            ? "utf8mb4_uca1400_nopad_ai_ci"
            : value,
        ),
      );
      expect(await rows(link.target(), columns), link.name).toEqual(equal);
    }
  });

  test("maintenance of tables is done on the target too, and hurts nothing", async () => {
    await from.replicate(
      "CREATE TABLE kept_up(id INT PRIMARY KEY, v INT, KEY(v))",
      "CREATE TABLE kept_up_my(id INT PRIMARY KEY, v INT) ENGINE=MyISAM",
      "INSERT INTO kept_up VALUES(1,1)",
      "ANALYZE TABLE kept_up",
      "OPTIMIZE TABLE kept_up, kept_up_my",
      "REPAIR TABLE kept_up_my",
      "CHECK TABLE kept_up",
      "FLUSH TABLES",
      "FLUSH PRIVILEGES",
      "ALTER TABLE kept_up ENGINE=InnoDB",
      "ALTER TABLE kept_up FORCE",
      "CREATE UNIQUE INDEX u ON kept_up(v)",
      "DROP INDEX u ON kept_up",
      "ALTER TABLE kept_up DISABLE KEYS",
      "INSERT INTO kept_up VALUES(2,2)",
      ...(from.flavour === "mysql-9.7" ? ["ANALYZE TABLE kept_up UPDATE HISTOGRAM ON v"] : []),
      ...(from.flavour === "mariadb-10.11" ? ["ANALYZE TABLE kept_up PERSISTENT FOR ALL"] : []),
      "INSERT INTO kept_up VALUES(3,3)",
    );
  });

  test("modes of the session decide what a definition means", async () => {
    await from.replicate(
      "SET sql_mode='ANSI,NO_BACKSLASH_ESCAPES'",
      `CREATE TABLE "mode""s" ("select" INT PRIMARY KEY, v VARCHAR(20) DEFAULT 'a\\b')`,
      `INSERT INTO "mode""s"("select") VALUES(1)`,
      "SET sql_mode=''",
      "CREATE TABLE zero(d DATE NOT NULL DEFAULT '0000-00-00', ts TIMESTAMP NOT NULL DEFAULT 0, id INT PRIMARY KEY)",
      "INSERT INTO zero(id) VALUES(1)",
      "SET sql_mode='NO_AUTO_VALUE_ON_ZERO'",
      "CREATE TABLE auto0(id INT AUTO_INCREMENT PRIMARY KEY)",
      "INSERT INTO auto0 VALUES(0)",
      "SET SESSION binlog_format=STATEMENT",
      "INSERT INTO auto0 VALUES(NULL)",
      "SET sql_mode='', time_zone='-03:00'",
      "CREATE TABLE tz(id INT PRIMARY KEY, ts TIMESTAMP NOT NULL DEFAULT '2026-01-01 00:00:00')",
      "INSERT INTO tz(id) VALUES(1)",
      "ALTER TABLE tz ADD COLUMN u TIMESTAMP NOT NULL DEFAULT '2026-06-01 12:00:00'",
      "SET SESSION foreign_key_checks=0",
      "CREATE TABLE child(id INT PRIMARY KEY, p INT, FOREIGN KEY fk(p) REFERENCES parent(id) ON DELETE CASCADE) ENGINE=InnoDB",
      "INSERT INTO child VALUES(1,1)",
      "CREATE TABLE parent(id INT PRIMARY KEY) ENGINE=InnoDB",
      "INSERT INTO parent VALUES(1)",
    );
    await from.expectRows("SELECT UNIX_TIMESTAMP(ts), UNIX_TIMESTAMP(u) FROM tz", [["1767236400", "1780326000"]]);
    await from.expectRows("SELECT id FROM auto0 ORDER BY id", [["0"], ["1"]]);
    await from.expectRows('SELECT HEX(v) FROM `mode"s`', [["615C62"]]);
  });
});

describe("CREATE TABLE … SELECT", () => {
  test("arrives with its rows, also under ANSI and compressed (MySQL 9.7)", async () => {
    await mysql.replicate(
      "CREATE TABLE ctas1 AS SELECT * FROM t LIMIT 5",
      "SET sql_mode='ANSI'",
      'CREATE TABLE "ctas2" (PRIMARY KEY("id")) AS SELECT "id", "v" FROM "t" LIMIT 5',
      "SET sql_mode=DEFAULT",
      "SET binlog_transaction_compression=ON",
      "CREATE TABLE ctas3 AS SELECT * FROM t",
      "CREATE TABLE ctas4 AS SELECT * FROM t WHERE 1=0",
      "SET binlog_transaction_compression=OFF",
      "CREATE TABLE ctas5 LIKE ctas2",
      "INSERT INTO ctas5 SELECT * FROM ctas2",
    );
    for (const table of ["ctas1", "ctas2", "ctas5"]) await mysql.expectRows(`SELECT COUNT(*) FROM ${table}`, [["5"]]);
  });

  test.each(["ROW", "STATEMENT", "MIXED"])("arrives with its rows, logged as %s (MariaDB)", async (format) => {
    await mariadb.replicate(
      `SET SESSION binlog_format=${format}`,
      `CREATE TABLE ctas_${format} AS SELECT * FROM t ORDER BY id LIMIT 5`,
      `CREATE OR REPLACE TABLE ctas_${format} (PRIMARY KEY(id)) AS SELECT id, v FROM t ORDER BY id LIMIT 4`,
    );
    await mariadb.expectRows(`SELECT COUNT(*) FROM ctas_${format}`, [["4"]]);
  });

  test("of a table without transactions arrives with its rows; as a statement it stops a MySQL target that enforces GTID consistency", async () => {
    await mariadb.replicate("CREATE TABLE ctas_my ENGINE=MyISAM AS SELECT * FROM t ORDER BY id LIMIT 3");
    await mariadb.expectRows("SELECT COUNT(*) FROM ctas_my", [["3"]]);
    const sql = "CREATE TABLE ctas_my_stmt ENGINE=MyISAM AS SELECT * FROM t ORDER BY id LIMIT 3";
    await mariadb.run(["SET SESSION binlog_format=STATEMENT", sql]);
    const error = await mariadb.link("mysql-9.7").stopped();
    expect(error.message).toContain(sql);
    expect(error.message).toContain("GTID consistency");
    await mariadb.link("mariadb-10.11").settle();
    await mariadb.link("mariadb-10.11").expectIdentical(mariadb.schema);
    await mariadb.run(["DROP TABLE IF EXISTS ctas_my_stmt"]);
  });
});

test("a session collation that the target does not have is translated, or stops before any data (MySQL 9.7 to MariaDB and 5.6)", async () => {
  const other = mysql.link("mariadb-10.11");
  await toOlder.ensure();
  await mysql.run([
    "CREATE DATABASE coll CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
    "USE coll",
    "SET NAMES utf8mb4 COLLATE utf8mb4_0900_ai_ci",
    "CREATE TABLE session255(id INT PRIMARY KEY, c VARCHAR(20))",
    "INSERT INTO session255 VALUES(1,'ß')",
    "SET SESSION binlog_format=STATEMENT",
    "UPDATE session255 SET c='é' WHERE id=1",
  ]);
  // The statement compares with the session's collation: 5.6 has none like it.
  expect((await toOlder.stopped()).message).toMatch(/no collation equal to utf8mb4_0900_ai_ci.*UPDATE session255 SET/);
  expect(await rows(older(), "SELECT HEX(c) FROM coll.session255")).toEqual([["C39F"]]);
  await other.settle();
  await other.expectIdentical("coll");

  // What is stored is another matter.
  await toOlder.ensure();
  await mysql.run([
    "USE coll",
    "SET NAMES utf8mb4 COLLATE utf8mb4_0900_ai_ci",
    "CREATE TABLE stored255(id INT PRIMARY KEY, c VARCHAR(20) COLLATE utf8mb4_0900_ai_ci)",
    "INSERT INTO stored255 VALUES(1,'ß')",
  ]);
  expect((await toOlder.stopped()).message).toMatch(
    /MySQL 5\.6\.\d+ has no collation equal to utf8mb4_0900_ai_ci: CREATE TABLE stored255/,
  );
  expect(await rows(older(), "SHOW TABLES FROM coll LIKE 'stored255'")).toEqual([]);
  await settle(mysql);
  const collation =
    "SELECT COLLATION_NAME FROM information_schema.COLUMNS WHERE TABLE_NAME='stored255' AND COLUMN_NAME='c'";
  expect(await rows(other.target(), collation)).toEqual([["utf8mb4_uca1400_nopad_ai_ci"]]);
  for (const link of mysql.links) await link.expectIdentical("coll");
});

describe("MariaDB's IF [NOT] EXISTS", () => {
  const CONDITIONAL = [
    "ALTER TABLE d MODIFY COLUMN IF EXISTS p VARCHAR(20) DEFAULT ''",
    "ALTER TABLE d ADD PRIMARY KEY IF NOT EXISTS(id)",
    "ALTER TABLE d DROP COLUMN IF EXISTS nope, ADD COLUMN IF NOT EXISTS x INT DEFAULT 5",
    "CREATE INDEX IF NOT EXISTS xi ON d(x)",
    "DROP INDEX IF EXISTS nope ON d",
  ];

  test("means the same on MariaDB", async () => {
    await mariadb.run(["CREATE TABLE d(id INT, p VARCHAR(10))", "INSERT INTO d VALUES(1,'p')", ...CONDITIONAL]);
    const same = mariadb.link("mariadb-10.11");
    await same.settle();
    await same.expectIdentical(mariadb.schema);
    await mariadb.expectSame("SHOW CREATE TABLE d", [same]);
    await mariadb.run(["DROP TABLE d"]);
  });

  test.each(CONDITIONAL)("stops on MySQL with the statement shown, and nothing done: %s", async (sql) => {
    const other = mariadb.link("mysql-9.7");
    await other.stop();
    await run(other.target(), `DROP TABLE IF EXISTS ${mariadb.schema}.d`);
    await mariadb.run(["DROP TABLE IF EXISTS d", "CREATE TABLE d(id INT, p VARCHAR(10), x INT)"]);
    await settle(mariadb);
    await mariadb.run([sql]);
    const error = await other.stopped();
    expect(error.message).toContain(sql);
    expect(error.hint).toBeDefined();
    expect(
      await rows(
        other.target(),
        `SELECT COLUMN_NAME, COLUMN_TYPE, COLUMN_KEY FROM information_schema.COLUMNS WHERE TABLE_SCHEMA='${mariadb.schema}' AND TABLE_NAME='d'`,
      ),
    ).toEqual([
      ["id", "int", ""],
      ["p", "varchar(10)", ""],
      ["x", "int", ""],
    ]);
    await mariadb.run(["DROP TABLE d"]);
    await mariadb.link("mariadb-10.11").settle();
  });
});

describe("accounts", () => {
  test("users, roles, grants and passwords arrive (MySQL 9.7 to MySQL 9.7)", async () => {
    const same = alike(mysql);
    await mysql.run([
      "CREATE USER 'app'@'%' IDENTIFIED BY 'first', 'other'@'localhost' IDENTIFIED BY 'o' ACCOUNT LOCK",
      `GRANT SELECT, INSERT ON ${mysql.schema}.* TO 'app'@'%' WITH GRANT OPTION`,
      "CREATE ROLE 'reader'",
      `GRANT SELECT ON ${mysql.schema}.t TO 'reader'`,
      "GRANT 'reader' TO 'app'@'%'",
      "SET DEFAULT ROLE 'reader' TO 'app'@'%'",
      "ALTER USER 'app'@'%' IDENTIFIED BY 'second' PASSWORD EXPIRE NEVER",
      "SET PASSWORD FOR 'app'@'%' = 'third'",
      `REVOKE INSERT ON ${mysql.schema}.* FROM 'app'@'%'`,
      "RENAME USER 'other'@'localhost' TO 'another'@'localhost'",
      "CREATE USER 'gone'@'%'",
      "DROP USER 'gone'@'%'",
    ]);
    for (const link of same) await link.settle();
    await mysql.expectSame("SHOW GRANTS FOR 'app'@'%'", same);
    await mysql.expectSame(
      "SELECT User, Host, authentication_string, account_locked FROM mysql.user WHERE User IN ('app','another','gone','other','reader') ORDER BY 1",
      same,
    );
    // MariaDB has other ways to keep passwords: it stops, and tells nobody's.
    const error = await mysql.link("mariadb-10.11").stopped();
    expect(error.message).toContain("CREATE USER 'app'@'%'");
    expect(error.message).not.toMatch(/\$A\$|first/);
    await mysql.run(["DROP USER 'app'@'%', 'another'@'localhost'", "DROP ROLE 'reader'"]);
    for (const link of same) await link.settle();
  });

  test("users, roles, grants and passwords arrive (MariaDB to MariaDB)", async () => {
    const same = mariadb.link("mariadb-10.11");
    await mariadb.run([
      "CREATE USER mapp@'%' IDENTIFIED BY 'first'",
      `GRANT SELECT ON ${mariadb.schema}.* TO mapp@'%'`,
      `GRANT INSERT ON ${mariadb.schema}.* TO madd@localhost IDENTIFIED BY 'implicit'`,
      "CREATE ROLE mreader",
      "GRANT mreader TO mapp@'%'",
      "SET PASSWORD FOR mapp@'%' = PASSWORD('second')",
      "CREATE OR REPLACE USER mapp2@'%' IDENTIFIED VIA mysql_native_password USING PASSWORD('x')",
      "DROP USER IF EXISTS nobody@'%'",
    ]);
    await same.settle();
    for (const user of ["mapp@'%'", "madd@localhost", "mapp2@'%'"]) {
      await mariadb.expectSame(`SHOW GRANTS FOR ${user}`, [same]);
      await mariadb.expectSame(`SHOW CREATE USER ${user}`, [same]);
    }
    await mariadb.link("mysql-9.7").stop();
    await mariadb.run(["DROP USER mapp@'%', madd@localhost, mapp2@'%'", "DROP ROLE mreader"]);
    await same.settle();
  });

  test.each(["mysql-5.6", "mariadb-10.11"] as const)(
    "of a list of accounts or tables those that were there are dropped, as on the source: %s",
    async (flavour) => {
      const from = field(flavour);
      for (const link of from.links) {
        await link.ensure();
        await run(link.target(), "CREATE USER listed@localhost");
      }
      await run(from.source(), "SET sql_log_bin=0", "CREATE USER listed@localhost");
      await from.run(["CREATE TABLE listed(id INT)"]);
      for (const sql of ["DROP USER nobody@localhost, listed@localhost", "DROP TABLE nothing, listed"]) {
        await expect(from.run([sql])).rejects.toThrow();
      }
      await from.replicate();
      const users = await from.expectSame("SELECT COUNT(*) FROM mysql.user WHERE User='listed'");
      expect(users).toEqual([["0"]]);
    },
  );

  test("a password that MySQL 9.7 cannot keep stops the engine without being told (MySQL 5.6)", async () => {
    const old = field("mysql-5.6");
    await old.run(["GRANT SELECT ON *.* TO 'old'@'%' IDENTIFIED BY 'secret'"]);
    const error = await old.link("mysql-9.7").stopped();
    expect(error.message).toContain("GRANT SELECT ON *.* TO 'old'@'%'");
    expect(error.message).not.toMatch(/secret|\*[0-9A-F]{40}/);
  });
});

describe("definitions of one flavour", () => {
  test("MySQL 9.7: generated and invisible columns, expressions, checks, an invisible key, a column's new name, a histogram", async () => {
    const same = alike(mysql);
    await mysql.run([
      "CREATE TABLE modern(id INT PRIMARY KEY, a INT DEFAULT (1+1), s INT GENERATED ALWAYS AS (a*2) STORED, g VARCHAR(20) AS (CONCAT('g',a)) VIRTUAL, h INT INVISIBLE DEFAULT 5, KEY f((a+1)), KEY d(a DESC), CONSTRAINT c CHECK(a<100))",
      "INSERT INTO modern(id) VALUES(1),(2)",
      "UPDATE modern SET a=50, h=6 WHERE id=2",
      "ALTER TABLE modern RENAME COLUMN h TO hh, ADD COLUMN first VARCHAR(5) DEFAULT 'i' FIRST, ALGORITHM=INSTANT",
      "ALTER TABLE modern ALTER INDEX d INVISIBLE",
      "UPDATE modern SET first='j' WHERE id=1",
      "ALTER TABLE modern DROP COLUMN first, ALGORITHM=INSTANT",
      "INSERT INTO modern(id,a) VALUES(3,9)",
      "ANALYZE TABLE modern UPDATE HISTOGRAM ON a WITH 4 BUCKETS",
      "SET SESSION sql_generate_invisible_primary_key=ON",
      "CREATE TABLE gipk(v INT)",
      "INSERT INTO gipk VALUES(1),(2)",
      "DELETE FROM gipk WHERE v=1",
      "SET SESSION sql_generate_invisible_primary_key=OFF",
      "CREATE TABLE nopk(v INT)",
      "SET SESSION sql_require_primary_key=ON",
      "CREATE TABLE withpk(v INT PRIMARY KEY)",
    ]);
    for (const link of same) {
      await link.settle();
      await link.expectIdentical(mysql.schema);
    }
    for (const table of ["modern", "gipk", "nopk", "withpk"])
      await mysql.expectSame(`SHOW CREATE TABLE ${table}`, same);
    await mysql.link("mariadb-10.11").stop();
  });

  test("MariaDB: sequences, system versioning, invisible and compressed columns, CREATE OR REPLACE, packages of one statement", async () => {
    const same = mariadb.link("mariadb-10.11");
    await mariadb.run([
      "CREATE SEQUENCE seq START WITH 10 INCREMENT BY 5 CACHE 2",
      "CREATE TABLE from_seq(id INT PRIMARY KEY DEFAULT (NEXT VALUE FOR seq), v INT)",
      "INSERT INTO from_seq(v) VALUES(1),(2),(3)",
      "SELECT SETVAL(seq, 1000)",
      "INSERT INTO from_seq(v) VALUES(4)",
      "ALTER SEQUENCE seq MAXVALUE 5000",
      "CREATE TABLE versioned(id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING",
      "INSERT INTO versioned VALUES(1,1),(2,2)",
      "UPDATE versioned SET v=v+1",
      "DELETE FROM versioned WHERE id=2",
      "SET SESSION system_versioning_alter_history=KEEP",
      "ALTER TABLE versioned ADD COLUMN w INT",
      "CREATE OR REPLACE TABLE versioned2(id INT PRIMARY KEY, h INT INVISIBLE, z TEXT COMPRESSED, g INT AS (id+1) PERSISTENT, CHECK(id<100))",
      "INSERT INTO versioned2(id,h,z) VALUES(1,2,REPEAT('z',500))",
      "CREATE OR REPLACE PROCEDURE pp() SELECT 1",
      "CREATE OR REPLACE PROCEDURE pp() SELECT 2",
      "BEGIN NOT ATOMIC INSERT INTO t(v) VALUES('anonymous block'); END",
      "CREATE TABLE aria(id INT PRIMARY KEY) ENGINE=Aria TRANSACTIONAL=1",
      "INSERT INTO aria VALUES(1)",
    ]);
    await same.settle();
    await same.expectIdentical(mariadb.schema);
    for (const table of ["from_seq", "versioned", "versioned2", "aria", "seq"]) {
      await mariadb.expectSame(`SHOW CREATE TABLE ${table}`, [same]);
    }
    await mariadb.expectSame(
      "SELECT id, v, w, UNIX_TIMESTAMP(row_start), UNIX_TIMESTAMP(row_end) FROM versioned FOR SYSTEM_TIME ALL ORDER BY 1,2,4",
      [same],
    );
    await mariadb.expectSame("SELECT next_not_cached_value FROM seq", [same]);
    await mariadb.link("mysql-9.7").stop();
  });
});

test("a transaction with DDL of a session that others interleave with stays in order", async () => {
  for (const from of fields) {
    await from.run(["CREATE TABLE inter(id INT PRIMARY KEY, v INT)"]);
    await withSession(from.source(), (one) =>
      withSession(from.source(), async (two) => {
        for (const session of [one, two]) await session.execute(`USE ${from.schema}`);
        for (let n = 0; n < 10; n++) {
          await one.execute(`INSERT INTO inter(id,v) VALUES(${n},${n})`);
          await two.execute(`ALTER TABLE inter ADD COLUMN c${n} INT DEFAULT ${n}`);
          await one.execute(`BEGIN; UPDATE inter SET c${n}=c${n}+id; SAVEPOINT s`);
          await two.execute(`CREATE TABLE inter${n}(id INT)`);
          await one.execute("COMMIT");
          await two.execute(`DROP TABLE inter${n}`);
        }
      }),
    );
    await settle(from);
    await from.expectSame("SELECT * FROM inter ORDER BY id");
  }
});
