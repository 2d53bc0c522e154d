import { join } from "node:path";
import type { RowDataPacket } from "mysql2/promise";
import { FLAVOURS } from "../../src/sandbox/flavours.ts";
import type { SandboxServer } from "../../src/sandbox/start.ts";
import { query, withConnection } from "./servers.ts";

/**
 * Logs of real servers that hold a bit of everything: rows of many shapes, statements, DDL, XA, savepoints, LOAD DATA, engines without transactions, compression,
 * several files, and transactions that several sessions commit at once.
 */
export interface LoadOptions {
  /** So many bytes of plain transactions, small and large, on top. Default 1 MiB. */
  bytes?: number;
}

const SCHEMA = [
  "DROP DATABASE IF EXISTS shop",
  "CREATE DATABASE shop",
  "CREATE TABLE shop.account (id INT PRIMARY KEY, owner VARCHAR(40), balance DECIMAL(12,2), note TEXT, UNIQUE KEY (owner)) ENGINE=InnoDB",
  "CREATE TABLE shop.event_log (at DATETIME, what VARCHAR(200), amount INT) ENGINE=InnoDB",
  "CREATE TABLE shop.`odd ``name``` (id INT AUTO_INCREMENT PRIMARY KEY, payload LONGBLOB) ENGINE=InnoDB",
  "CREATE TABLE shop.counter (id INT PRIMARY KEY, n INT) ENGINE=MyISAM",
  "CREATE TABLE shop.parent (id INT PRIMARY KEY) ENGINE=InnoDB",
  "CREATE TABLE shop.child (id INT PRIMARY KEY, parent INT, FOREIGN KEY (parent) REFERENCES shop.parent (id) ON DELETE CASCADE) ENGINE=InnoDB",
  "CREATE TABLE shop.filler (id BIGINT AUTO_INCREMENT PRIMARY KEY, a INT, b INT, pad VARCHAR(900)) ENGINE=InnoDB",
];

const ROWS = [
  "INSERT INTO account VALUES (1,'ann',10,NULL),(2,'bob',20,'x'),(3,'cid',30,REPEAT('y',3000))",
  "INSERT INTO event_log VALUES (NOW(),'start',1),(NOW(),'start',1),(NOW(),'start',2)",
  "UPDATE account SET balance = balance + 1",
  "UPDATE event_log SET amount = 5 WHERE amount = 1",
  "DELETE FROM event_log WHERE amount = 5 LIMIT 1",
  "REPLACE INTO account VALUES (1,'ann',11,NULL),(4,'bob',21,NULL)",
  "INSERT INTO `odd ``name``` (payload) VALUES (REPEAT('z', 70000)), (NULL), ('')",
  "UPDATE `odd ``name``` SET payload = 'q'",
  "INSERT INTO counter VALUES (1,1),(2,2)",
  "BEGIN; INSERT INTO parent VALUES (1),(2),(3); INSERT INTO child VALUES (1,1),(2,1),(3,2); UPDATE account SET balance=0 WHERE id=3; COMMIT",
  "DELETE FROM parent WHERE id = 1",
  "BEGIN; INSERT INTO account VALUES (20,'s',1,''); SAVEPOINT a; INSERT INTO account VALUES (21,'t',1,''); ROLLBACK TO a; INSERT INTO account VALUES (22,'u',1,''); COMMIT",
  "SET binlog_row_image=MINIMAL; UPDATE account SET balance = 99 WHERE id = 2; DELETE FROM account WHERE id = 32; SET binlog_row_image=NOBLOB; UPDATE account SET balance = 98 WHERE id = 2; SET binlog_row_image=FULL",
  "DELETE FROM account WHERE id = 22; INSERT INTO account VALUES (22,'u',2,'')",
];

const STATEMENTS = [
  "SET SESSION binlog_format=STATEMENT",
  "INSERT INTO account (id, owner) VALUES (FLOOR(50 + RAND() * 1), 'rand')",
  "SET @who = 'a user variable'; INSERT INTO account (id, owner) VALUES (60, @who)",
  "INSERT INTO `odd ``name``` (payload) VALUES ('intvar')",
  "BEGIN; UPDATE account SET balance = 1 WHERE id = 60; UPDATE account SET balance = 2 WHERE id = 60; COMMIT",
  "INSERT INTO counter VALUES (60, 60)",
  "CREATE TEMPORARY TABLE scratch (id INT); INSERT INTO scratch VALUES (1); DROP TEMPORARY TABLE scratch",
  "SET SESSION binlog_format=MIXED",
  "INSERT INTO event_log VALUES (NOW(), UUID(), 1); INSERT INTO event_log VALUES (NOW(), 'plain', 1)",
  "SET SESSION binlog_format=ROW",
];

/** Refused where the servers make sure that a GTID is one transaction of one kind of engine. */
const MIXED_ENGINES = [
  "BEGIN; UPDATE account a, counter c SET a.balance = 7, c.n = 9 WHERE a.id = 3 AND c.id = 1; COMMIT",
  "BEGIN; INSERT INTO account VALUES (8,'h',1,NULL); INSERT INTO counter VALUES (8,8); ROLLBACK",
  "BEGIN; INSERT INTO account VALUES (30,'v',1,''); SAVEPOINT b; INSERT INTO counter VALUES (30,1); ROLLBACK TO b; INSERT INTO account VALUES (32,'w',1,''); COMMIT",
  "SET SESSION binlog_format=STATEMENT",
  "BEGIN; INSERT INTO account (id, owner) VALUES (70, 'x1'); SAVEPOINT s; INSERT INTO counter VALUES (70, 1); ROLLBACK TO s; COMMIT",
  "SET SESSION binlog_format=ROW",
];

const DDL = [
  "ALTER TABLE account ADD COLUMN extra INT DEFAULT 4",
  "UPDATE account SET extra = 5 WHERE id < 3",
  "CREATE VIEW rich AS SELECT * FROM account WHERE balance > 10",
  "CREATE PROCEDURE nothing() BEGIN SELECT 1; SELECT '# at 4'; END",
  "TRUNCATE TABLE event_log",
  "DROP VIEW rich; DROP PROCEDURE nothing",
  "CREATE INDEX by_balance ON account (balance)",
  "CREATE USER IF_IT_IS@localhost; DROP USER IF_IT_IS@localhost",
];

/** In 5.6 refused with GTIDs. */
const CREATE_SELECT = [
  "CREATE TABLE copied AS SELECT id, owner FROM account",
  "RENAME TABLE copied TO renamed",
  "DROP TABLE renamed",
];

const XA = [
  "XA START 'one'; INSERT INTO account (id, owner) VALUES (100, 'xa1'); XA END 'one'; XA COMMIT 'one' ONE PHASE",
  "XA START 'two','branch',7; INSERT INTO account (id, owner) VALUES (101, 'xa2'); XA END 'two','branch',7; XA PREPARE 'two','branch',7",
];

const MYSQL_9 = [
  "SET SESSION binlog_transaction_compression=ON",
  "INSERT INTO filler (a, b, pad) SELECT id, id, REPEAT('c', 900) FROM account; UPDATE filler SET a = a + 1",
  "BEGIN; INSERT INTO account (id, owner) VALUES (110, 'z1'); DELETE FROM account WHERE id = 110; INSERT INTO parent VALUES (110); COMMIT",
  "SET SESSION binlog_transaction_compression=OFF",
  "CREATE TABLE doc (id INT PRIMARY KEY, j JSON, g POINT, v VECTOR(3), e ENUM('a','b'), s SET('x','y'), b BIT(13), y YEAR, t TIME(3), ts TIMESTAMP(6) NULL, d DATETIME(2))",
  `INSERT INTO doc VALUES (1, CONCAT('{"a":[1,2],"b":"', REPEAT('k', 300), '"}'), POINT(1,2), TO_VECTOR('[1,2,3]'), 'b', 'x,y', b'101', 2026, '-10:11:12.123', NOW(6), NOW(2))`,
  "SET SESSION binlog_row_value_options=PARTIAL_JSON; UPDATE doc SET j = JSON_SET(j, '$.a[1]', 7); SET SESSION binlog_row_value_options=''",
  "SET SESSION binlog_rows_query_log_events=ON; UPDATE account SET balance = 3 WHERE id < 5; SET SESSION binlog_rows_query_log_events=OFF",
];

const MYSQL_9_GTIDS = [
  "SET gtid_next='AUTOMATIC:orders'; INSERT INTO account (id, owner) VALUES (120, 'tag'); SET gtid_next='AUTOMATIC'",
  "SET gtid_next='11111111-1111-1111-1111-111111111111:5'; BEGIN; COMMIT; SET gtid_next='AUTOMATIC'",
];

const MARIADB = [
  "CREATE SEQUENCE numbers; DO NEXTVAL(numbers)",
  "SET SESSION binlog_alter_two_phase=1; ALTER TABLE account ADD COLUMN two_phase INT, ALGORITHM=COPY; SET SESSION binlog_alter_two_phase=0",
  "SET GLOBAL log_bin_compress=1, log_bin_compress_min_len=10",
  "INSERT INTO filler (a, b, pad) SELECT id, id, REPEAT('c', 900) FROM account; UPDATE filler SET a = a + 1; DELETE FROM filler WHERE id < 3",
  "ALTER TABLE account COMMENT = 'a comment that is long enough to be compressed, a comment that is long enough to be compressed'",
  "SET SESSION binlog_format=STATEMENT; UPDATE account SET balance = 3 WHERE owner = 'a statement that is long enough, long enough, long enough'; SET SESSION binlog_format=ROW",
  "SET GLOBAL log_bin_compress=0",
  "SET SESSION gtid_domain_id=7; INSERT INTO account (id, owner) VALUES (130, 'domain'); SET SESSION gtid_domain_id=0",
];

/** The files, oldest first; all are closed. */
export async function logEverything(server: SandboxServer, { bytes = 1 << 20 }: LoadOptions = {}): Promise<string[]> {
  await query(server, SCHEMA.join("; "));
  await run(server, ROWS);
  await query(server, "FLUSH LOGS");
  await run(server, STATEMENTS);
  const gtids = await insistsOnGtids(server);
  if (!gtids) await run(server, MIXED_ENGINES);
  await run(server, DDL);
  if (!gtids || server.flavour !== "mysql-5.6") await run(server, CREATE_SELECT);
  await run(server, XA);
  // 5.6 loses a prepared transaction with its session, and logs it at its commit only.
  if (server.flavour !== "mysql-5.6") await query(server, "XA ROLLBACK 'two','branch',7");
  await loadData(server);
  if (server.flavour === "mysql-9.7") await run(server, [...MYSQL_9, ...(gtids ? MYSQL_9_GTIDS : [])]);
  if (FLAVOURS[server.flavour].product === "mariadb") await run(server, MARIADB);
  await query(server, "FLUSH LOGS");
  await together(server);
  await fill(server, bytes);
  await query(server, "FLUSH LOGS");
  const logs = await query<RowDataPacket[]>(server, "SHOW BINARY LOGS");
  return logs.slice(0, -1).map((row) => join(server.dataFolder, String(row["Log_name"])));
}

async function insistsOnGtids(server: SandboxServer): Promise<boolean> {
  const rows = await query<RowDataPacket[]>(server, "SHOW GLOBAL VARIABLES LIKE 'enforce_gtid_consistency'");
  return rows.some((row) => !/^(?:OFF|0)$/i.test(String(row["Value"])));
}

/** One session for all of them, in schema shop. */
async function run(server: SandboxServer, statements: readonly string[]): Promise<void> {
  await withConnection(server, async (connection) => {
    await connection.query("USE shop");
    for (const statement of statements) await connection.query(statement);
  });
}

/** A file of the server's own, read back by it in statement format. */
async function loadData(server: SandboxServer): Promise<void> {
  const file = join(server.dataFolder, "rows.txt");
  await withConnection(server, async (connection) => {
    await connection.query("USE shop; SET SESSION binlog_format=STATEMENT");
    await connection.query("SELECT id + 1000, CONCAT('loaded', id) FROM account INTO OUTFILE ?", [file]);
    await connection.query("LOAD DATA INFILE ? INTO TABLE account (id, owner)", [file]);
  });
}

/** Eight sessions that commit small transactions at once: groups in the log. */
async function together(server: SandboxServer): Promise<void> {
  const sessions = Array.from({ length: 8 }, (_, session) =>
    withConnection(server, async (connection) => {
      for (let i = 0; i < 20; i++) {
        const id = 10_000 + session * 100 + i;
        await connection.query(
          `BEGIN; INSERT INTO shop.account (id, owner) VALUES (${id}, 'o${id}'); UPDATE shop.account SET balance = ${i} WHERE id = ${id}; COMMIT`,
        );
      }
    }),
  );
  await Promise.all(sessions);
}

/** Half of the bytes in transactions of one row, half in transactions of 1,000. */
async function fill(server: SandboxServer, bytes: number): Promise<void> {
  await run(server, [
    `CREATE PROCEDURE fill_small(rounds INT) BEGIN
       WHILE rounds > 0 DO
         INSERT INTO filler (a, b, pad) VALUES (rounds, rounds, 'small');
         UPDATE filler SET b = b + 1 WHERE id = LAST_INSERT_ID();
         SET rounds = rounds - 1;
       END WHILE;
     END`,
    "CREATE TABLE ten (n INT PRIMARY KEY)",
    "INSERT INTO ten VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)",
    // About 600 bytes of log for one round.
    `CALL fill_small(${Math.ceil(bytes / 2 / 600)})`,
    ...Array.from(
      { length: Math.ceil(bytes / 2 / 600_000) },
      () => "INSERT INTO filler (a, b, pad) SELECT x.n, y.n, REPEAT('p', 580) FROM ten x, ten y, ten z",
    ),
    "DROP TABLE ten; DROP PROCEDURE fill_small",
  ]);
}
