import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { assembleFiles, binlogFiles } from "../../../test/helpers/assemble.ts";
import { contents, definitions, replay, runAll } from "../../../test/helpers/replay.ts";
import { useServer } from "../../../test/helpers/servers.ts";
import { Session } from "../../wire/session.ts";

const latin1 = (text: string): Buffer => Buffer.from(text, "latin1");

/** Statements whose result depends on every kind of session context; all servers know them. */
const CONTEXTS: readonly (string | Buffer)[] = [
  "CREATE DATABASE w CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
  "USE w",
  "CREATE TABLE c(id INT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(40) CHARACTER SET latin1, v VARCHAR(200)) ENGINE=InnoDB",
  "SET SESSION binlog_format=STATEMENT",
  "SET TIMESTAMP=1234567890.987654",
  "INSERT INTO c(what,v) VALUES('now',NOW(6))",
  "SET TIMESTAMP=DEFAULT",
  "INSERT INTO c(what,v) VALUES('now',NOW())",
  "SET time_zone='-03:00'",
  "INSERT INTO c(what,v) VALUES('time zone',FROM_UNIXTIME(1762057800))",
  "SET time_zone=SYSTEM",
  "INSERT INTO c(what,v) VALUES('rand',RAND())",
  "SET @i=-5, @u=CAST(18446744073709551615 AS UNSIGNED), @r=0.1e0, @d=-123456789012.050, @n=NULL, @s='e', @b=X'00FF27', @e=''",
  "INSERT INTO c(what,v) VALUES('vars',CONCAT_WS('/',@i,@u,@r,@d,@s,HEX(@b),@e,@n IS NULL,CHARSET(@s),COLLATION(@s),CHARSET(@b)))",
  "SET @`a name`='it''s', @l=_latin1 X'E9' COLLATE latin1_german1_ci",
  "INSERT INTO c(what,v) VALUES('vars',CONCAT(@`a name`,COLLATION(@l),HEX(@l)))",
  "SET lc_time_names='de_DE'",
  "INSERT INTO c(what,v) VALUES('locale',DATE_FORMAT('2024-05-01','%W %M'))",
  "SET lc_time_names='en_US'",
  "INSERT INTO c(what,v) VALUES('id','a'),('id','b')",
  "INSERT INTO c(what,v) VALUES('last id',LAST_INSERT_ID())",
  "SELECT LAST_INSERT_ID(777)",
  "INSERT INTO c(what,v) VALUES('last id',LAST_INSERT_ID())",
  "SET auto_increment_increment=10, auto_increment_offset=3",
  "INSERT INTO c(what,v) VALUES('increment','a'),('increment','b')",
  "SET auto_increment_increment=1, auto_increment_offset=1",
  "SET sql_mode='ANSI'",
  `INSERT INTO "c"("what","v") VALUES('ansi','a'||'b')`,
  "SET sql_mode='NO_BACKSLASH_ESCAPES'",
  String.raw`INSERT INTO c(what,v) VALUES('backslash','\n')`,
  "SET sql_mode=''",
  String.raw`INSERT INTO c(what,v) VALUES('backslash','\n')`,
  "INSERT INTO c(what,v) VALUES('cut',CAST('2020-02-30' AS DATE))",
  "SET sql_mode=DEFAULT",
  "SET NAMES latin1",
  latin1("INSERT INTO c(what,v) VALUES('latin1 \xe9','\xe4\xf6')"),
  "SET NAMES sjis",
  Buffer.concat([latin1("INSERT INTO c(what,v) VALUES('sjis','"), Buffer.of(0x95, 0x5c, 0x82, 0xa0), latin1("')")]),
  "SET NAMES utf8mb4",
  "INSERT INTO c(what,v) VALUES('utf8mb4','😀é')",
  "SET NAMES utf8mb4 COLLATE utf8mb4_bin",
  "INSERT INTO c(what,v) VALUES('collation','a'='A')",
  "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci",
  "INSERT INTO c(what,v) VALUES('collation','a'='A')",
  "CREATE TABLE p(id INT PRIMARY KEY) ENGINE=InnoDB",
  "CREATE TABLE k(id INT PRIMARY KEY, p INT, FOREIGN KEY(p) REFERENCES p(id)) ENGINE=InnoDB",
  "SET foreign_key_checks=0",
  "INSERT INTO k VALUES(1,7)",
  "SET foreign_key_checks=1",
  "SET sql_auto_is_null=1",
  "INSERT INTO c(what,v) VALUES('auto is null','x')",
  "UPDATE c SET v='found' WHERE id IS NULL",
  "SET sql_auto_is_null=0",
  "BEGIN",
  "INSERT INTO p VALUES(1)",
  "SAVEPOINT `s p`",
  "INSERT INTO p VALUES(2)",
  "ROLLBACK TO `s p`",
  "INSERT INTO p VALUES(3)",
  "COMMIT",
  "CREATE TABLE `tä`(id INT PRIMARY KEY, `ß` VARCHAR(10) DEFAULT 'ü')",
  "INSERT INTO `tä`(id) VALUES(1)",
  "CREATE DATABASE `dä` CHARACTER SET utf8",
  "USE `dä`",
  "CREATE TABLE x(id INT PRIMARY KEY, c VARCHAR(10))",
  "SET NAMES latin1",
  latin1("INSERT INTO x VALUES(1,'\xe9')"),
  "SET NAMES utf8mb4",
  "SET @`日`='ö'",
  "INSERT INTO x VALUES(2,@`日`)",
  "USE w",
  "INSERT INTO `dä`.x VALUES(3,DATABASE())",
  "DROP DATABASE `dä`",
  "CREATE DATABASE `dä` CHARACTER SET utf8",
  "USE `dä`",
  "CREATE TABLE x(id INT PRIMARY KEY, c VARCHAR(10))",
  "INSERT INTO x VALUES(2,@`日`)",
  "SET binlog_format=ROW",
  "INSERT INTO x VALUES(4,'rows')",
  "SET binlog_format=STATEMENT",
  "INSERT INTO x VALUES(5,'statement')",
];

/** Definitions that all servers know. */
const DEFINITIONS: readonly string[] = [
  "USE w",
  "SET TIMESTAMP=DEFAULT",
  "CREATE TABLE a(id INT PRIMARY KEY, v VARCHAR(20), ts TIMESTAMP NULL, KEY(v)) ENGINE=InnoDB CHARSET=utf8mb4",
  "ALTER TABLE a ADD COLUMN n INT NOT NULL DEFAULT 5, ADD INDEX(n), ADD INDEX(n)",
  "CREATE TABLE a2 LIKE a",
  "RENAME TABLE a2 TO a3, a TO a2, a3 TO a",
  "CREATE PROCEDURE proc(IN x INT) BEGIN DECLARE y INT DEFAULT 1; IF x > 0 THEN INSERT INTO a(id,v) VALUES(x, CURRENT_USER()); END IF; END",
  "CREATE FUNCTION fun(x INT) RETURNS INT DETERMINISTIC RETURN x + 1",
  "CREATE TRIGGER tri BEFORE INSERT ON a FOR EACH ROW SET NEW.v = CONCAT(IFNULL(NEW.v,''), ';')",
  "CREATE VIEW vie AS SELECT id, v FROM a WHERE v <> 'x'",
  "CREATE EVENT eve ON SCHEDULE EVERY 1 YEAR STARTS '2037-01-01 00:00:00' DO SELECT 1",
  "ALTER EVENT eve COMMENT 'changed'",
  "INSERT INTO a(id) VALUES(fun(1))",
  "CALL proc(10)",
  "CREATE TABLE gone(id INT)",
  "DROP TABLE gone, a2",
  "TRUNCATE a",
  "INSERT INTO a(id,v) VALUES(1,'after')",
  "SET binlog_format=ROW",
  "CREATE TABLE copied AS SELECT id, v FROM a",
  "INSERT INTO copied VALUES(2,'row')",
  "ANALYZE TABLE a",
  "ALTER TABLE copied ENGINE=InnoDB",
];

/** What only servers of MySQL since 8.0 have. */
const OF_MYSQL: readonly string[] = [
  "SET binlog_format=ROW",
  "CREATE TABLE j(id INT PRIMARY KEY, d JSON, g INT AS (id + 1) STORED, CHECK (id > 0)) COLLATE utf8mb4_0900_as_cs",
  `INSERT INTO j(id,d) VALUES(1,'{"a":[1,2]}')`,
  "CREATE USER u1@localhost IDENTIFIED BY 'secret'",
  "CREATE ROLE r1",
  "GRANT r1 TO u1@localhost",
  "GRANT SELECT ON w.* TO u1@localhost",
  "SET ROLE DEFAULT",
  "SET PASSWORD FOR u1@localhost='other'",
  "REVOKE SELECT ON w.* FROM u1@localhost",
  "SET SESSION default_collation_for_utf8mb4=utf8mb4_general_ci",
  "CREATE TABLE general(id INT PRIMARY KEY, v VARCHAR(10) CHARACTER SET utf8mb4) CHARACTER SET utf8mb4",
  "SET SESSION sql_generate_invisible_primary_key=1",
  "CREATE TABLE invisible(v INT)",
  "INSERT INTO invisible VALUES(7)",
  "SET SESSION sql_generate_invisible_primary_key=0",
  "SET SESSION explicit_defaults_for_timestamp=0",
  "CREATE TABLE implicit(id INT PRIMARY KEY, t TIMESTAMP)",
  "SET SESSION explicit_defaults_for_timestamp=1",
  "SET sql_mode='ANSI'",
  'CREATE TABLE "ansi" AS SELECT * FROM "a"',
];

/** What only MariaDB has. */
const OF_MARIADB: readonly string[] = [
  "CREATE OR REPLACE TABLE j(id INT PRIMARY KEY, d JSON, u UUID) PAGE_CHECKSUM=1",
  "SET @u=CAST('00000000-0000-0000-0000-000000000100' AS UUID)",
  "SET binlog_format=STATEMENT",
  "INSERT INTO j VALUES(1,'{}',@u)",
  "ALTER TABLE j DROP COLUMN IF EXISTS nope, ADD COLUMN IF NOT EXISTS x INT DEFAULT 5",
  "CREATE USER u1@localhost IDENTIFIED BY 'secret'",
  "CREATE ROLE r1",
  "GRANT SELECT ON w.* TO r1",
  "SET SESSION binlog_alter_two_phase=1",
  "ALTER TABLE j ADD COLUMN c INT, ALGORITHM=COPY",
  "SET SESSION explicit_defaults_for_timestamp=0",
  "CREATE TABLE implicit(id INT PRIMARY KEY, t TIMESTAMP)",
  "SET SESSION check_constraint_checks=0",
  "CREATE TABLE checked(id INT PRIMARY KEY, CHECK (id > 5))",
  "INSERT INTO checked VALUES(1)",
  "SET SESSION check_constraint_checks=1",
  "SET STATEMENT max_statement_time=10 FOR ALTER TABLE j ADD COLUMN y INT",
  "SET STATEMENT sql_mode='' FOR INSERT INTO j(id,y) VALUES(50,'12x')",
  "CREATE TEMPORARY TABLE tmp(id INT)",
  "INSERT INTO tmp VALUES(77)",
  "INSERT INTO j(id) SELECT id FROM tmp",
  "DROP TEMPORARY TABLE tmp",
  "CREATE TABLE m(id INT PRIMARY KEY) ENGINE=MyISAM",
  "BEGIN",
  "INSERT INTO j(id) VALUES(100)",
  "INSERT INTO m VALUES(1)",
  "ROLLBACK",
];

/** By an account that is not the one that applies. */
const BY_ANOTHER_ACCOUNT: readonly string[] = [
  "USE w",
  "CREATE EVENT mine ON SCHEDULE EVERY 1 YEAR STARTS '2037-01-01 00:00:00' DO SELECT 1",
  "ALTER EVENT eve COMMENT 'altered'",
  "CREATE PROCEDURE mine() SELECT CURRENT_USER()",
  "CREATE DEFINER=CURRENT_USER FUNCTION mine() RETURNS INT DETERMINISTIC RETURN 1",
  "ALTER PROCEDURE proc COMMENT 'altered'",
  "CREATE VIEW mine AS SELECT id FROM a",
  "ALTER VIEW vie AS SELECT id FROM a",
  "CREATE TRIGGER mine BEFORE DELETE ON a FOR EACH ROW SET @a=CURRENT_USER()",
  "CREATE DEFINER=CURRENT_USER() TRIGGER mine2 BEFORE UPDATE ON a FOR EACH ROW SET @a=1",
];
/** Accounts themselves: between servers of one flavour. */
const ABOUT_ITSELF: readonly string[] = [
  "GRANT SELECT ON w.* TO CURRENT_USER()",
  "REVOKE SELECT ON w.* FROM CURRENT_USER",
  "SET PASSWORD = %",
  "ALTER USER CURRENT_USER() ACCOUNT UNLOCK",
];

const FAST = ["--sync-binlog=0", "--innodb-flush-log-at-trx-commit=2"];
const WITHOUT_GTIDS = ["--gtid-mode=OFF", "--skip-enforce-gtid-consistency"];

const PAIRS = [
  { source: "mysql-9.7", target: "mysql-9.7", options: [], more: OF_MYSQL },
  { source: "mariadb-10.11", target: "mariadb-10.11", options: [], more: OF_MARIADB },
  { source: "mysql-5.6", target: "mysql-9.7", options: WITHOUT_GTIDS, more: [] },
  { source: "mariadb-10.11", target: "mysql-9.7", options: [], more: [] },
  { source: "mysql-9.7", target: "mariadb-10.11", options: [], more: [] },
] as const;

describe.each(PAIRS)("$source to $target", ({ source, target, options, more }) => {
  const from = useServer(source, { options: [...FAST, ...options] });
  const to = useServer(target, { options: [...FAST, "--default-time-zone=+07:00"] });
  let done = 0;

  async function replayed(statements: readonly (string | Buffer)[]): Promise<void> {
    await runAll(from(), statements);
    done = await replay(from(), to(), done);
    for (const schema of ["w", "dä"]) {
      expect(await contents(to(), schema)).toEqual(await contents(from(), schema));
      expect(await definitions(to(), schema)).toEqual(await definitions(from(), schema));
    }
  }

  test("statements give what they gave on the source, whatever their session was", async () => {
    await replayed(CONTEXTS);
  });

  test("definitions are the same", async () => {
    await replayed(DEFINITIONS);
  });

  test("what an account made is that account's, and CURRENT_USER is who ran it", async () => {
    const user = "`app user`@`127.0.0.1`";
    await runAll(from(), [
      `CREATE USER ${user} IDENTIFIED BY 'first'`,
      `GRANT ALL ON *.* TO ${user} WITH GRANT OPTION`,
    ]);
    // Its creation is no business of other flavours.
    done = assembleFiles(await binlogFiles(from())).transactions.length;
    await runAll(to(), [`CREATE USER ${user} IDENTIFIED BY 'first'`, `GRANT ALL ON *.* TO ${user} WITH GRANT OPTION`]);
    const address = { ...from().address, user: "app user", password: "first", tls: "off" } as const;
    const session = await Session.connect(address);
    const password = source === "mysql-9.7" ? "'second'" : "PASSWORD('second')";
    const statements = source === target ? [...BY_ANOTHER_ACCOUNT, ...ABOUT_ITSELF] : BY_ANOTHER_ACCOUNT;
    for (const statement of statements) await session.execute(statement.replace("%", password));
    await session.close();
    await replayed([]);
    if (source !== target) return;
    const changed = await Session.connect({ ...address, port: to().address.port, password: "second" });
    expect(await changed.queryValue("SELECT CURRENT_USER()")).toBe("app user@127.0.0.1");
    await changed.close();
  });

  test("LOAD DATA of a file that only the source has", async () => {
    const folder = await mkdtemp(join(tmpdir(), "abreast-load-"));
    const file = join(folder, "rows.csv");
    await writeFile(file, Array.from({ length: 12_000 }, (_, i) => `${i},"row, ${i}"\n`).join(""));
    await chmod(folder, 0o755);
    try {
      await replayed([
        "USE w",
        "CREATE TABLE loaded(id INT PRIMARY KEY, v VARCHAR(30) CHARACTER SET latin1)",
        "INSERT INTO loaded VALUES(7,'there'),(8,'there')",
        "SET binlog_format=STATEMENT",
        `LOAD DATA INFILE '${file}' REPLACE INTO TABLE loaded FIELDS TERMINATED BY ',' ENCLOSED BY '"' (id, @v) SET v=UPPER(@v)`,
        `LOAD DATA INFILE '${file}' IGNORE INTO TABLE w.loaded FIELDS TERMINATED BY ',' ENCLOSED BY '"'`,
      ]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  if (more.length > 0) test("what only this flavour has", () => replayed(["USE w", ...more]));
});
