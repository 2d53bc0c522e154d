import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ReplicationError } from "../../base/error.ts";
import { binlogFiles } from "../../../test/helpers/assemble.ts";
import { contents, runAll } from "../../../test/helpers/replay.ts";
import { printed, runWithClient, tablesOf } from "../../../test/helpers/row-statements.ts";
import { useServer } from "../../../test/helpers/servers.ts";
import { memory } from "../../../test/helpers/spill-memory.ts";
import { type Fault, findInputs } from "../input/input.ts";
import { printRows } from "./print-rows.ts";
import { printUndo } from "./print-undo.ts";

const source = useServer("mysql-9.7");
const copy = useServer("mysql-9.7");

/** Runs the statements in a binlog file of their own. */
async function logOf(statements: readonly (string | Buffer)[]): Promise<string[]> {
  await runAll(source(), ["FLUSH BINARY LOGS", ...statements]);
  return (await binlogFiles(source())).slice(-1);
}

const withoutHeads = (sql: string): string[] =>
  sql.split("\n").filter((line) => line !== "" && !/^(?:-- (?:back before )?[0-9a-f]{8}-|SET )/.test(line));

test("transactions of all sorts are run again as they were", async () => {
  const files = await logOf([
    "CREATE DATABASE w",
    "USE w",
    "CREATE TABLE t(id INT PRIMARY KEY, v VARCHAR(50), at TIMESTAMP(3) NULL ON UPDATE CURRENT_TIMESTAMP(3))",
    "CREATE TABLE m(id INT PRIMARY KEY) ENGINE=MyISAM",
    "CREATE TABLE j(id INT PRIMARY KEY, j JSON)",
    "INSERT INTO t VALUES(1,'a','2026-01-01 10:00:00.125'),(2,'b',NULL)",
    "XA START 'a'",
    "INSERT INTO t VALUES(30,'xa',NULL)",
    "XA END 'a'",
    "XA PREPARE 'a'",
    "XA ROLLBACK 'a'",
    "XA START 'b','c',7",
    "INSERT INTO t VALUES(31,'xa',NULL)",
    "XA END 'b','c',7",
    "XA PREPARE 'b','c',7",
    "XA COMMIT 'b','c',7",
    "XA START 'd'",
    "INSERT INTO t VALUES(32,'xa',NULL)",
    "XA END 'd'",
    "XA COMMIT 'd' ONE PHASE",
    "CREATE TABLE t2 AS SELECT * FROM t LIMIT 2",
    // Kept as it is although the column would be set by itself.
    "UPDATE t SET v='changed', at=at WHERE id=1",
    "SET binlog_transaction_compression=1",
    "INSERT INTO t VALUES(60,REPEAT('compressed',5),NULL),(61,'it''s; -- \\\\ \n\r\t\\Z',NULL)",
    "SET binlog_transaction_compression=0",
    "SET binlog_row_value_options=PARTIAL_JSON",
    `INSERT INTO j VALUES(1,'{"a": [1, 2, {"b": "x"}], "c": 1.5, "long": "${"x".repeat(200)}"}')`,
    `UPDATE j SET j=JSON_SET(j, '$.a[2].b', 'a ''quoted'' \\\\ "text"', '$.n', CAST(1.10 AS DECIMAL(5,2)))`,
    "UPDATE j SET j=JSON_REMOVE(JSON_REPLACE(j, '$.c', CAST('2026-01-02' AS DATE)), '$.a[0]')",
    "UPDATE j SET j=JSON_ARRAY_INSERT(j, '$.a[0]', JSON_OBJECT('t', CAST('-10:11:12.5' AS TIME(6))))",
    "SET binlog_row_value_options=''",
    "SET binlog_row_image=MINIMAL",
    "UPDATE t SET v='minimal' WHERE id=2",
    "INSERT INTO t(id) VALUES(70)",
    "DELETE FROM t WHERE id=32",
    "SET binlog_row_image=FULL",
    "SET NAMES latin1",
    Buffer.from("CREATE TABLE latin(c VARCHAR(10) CHARACTER SET latin1 DEFAULT 'h\xe9' COMMENT '\xfc;')", "latin1"),
    "INSERT INTO latin VALUES(DEFAULT)",
    "SET NAMES utf8mb4",
    "CREATE PROCEDURE p() BEGIN INSERT INTO t2(id) VALUES(9); INSERT INTO t2(id) VALUES(10); END",
    "CREATE VIEW seen AS SELECT id FROM t -- a comment",
    "SET binlog_format=STATEMENT",
    "SET @u='x;y', @d=1.50, @i=18446744073709551615",
    "INSERT INTO t2(id,v) VALUES(70,CONCAT(@u,@d,@i,RAND()))",
    "SET TIMESTAMP=1700000000.25, time_zone='+03:00'",
    "INSERT INTO t2(id,at) VALUES(71,NOW(3))",
    "SET TIMESTAMP=DEFAULT, time_zone=DEFAULT",
    "SET binlog_format=ROW",
    "DROP TABLE m",
  ]);
  const { sql, outcome } = await printed("rows", files, { tables: await tablesOf(source()) });
  expect([...outcome.obstacles.keys()]).toEqual(["`w`.`m`"].filter(() => sql.includes("INSERT INTO `w`.`m`")));
  await runWithClient(copy(), sql);
  expect(await contents(copy(), "w")).toEqual(await contents(source(), "w"));
  expect(sql).toContain("JSON_");
  await runAll(copy(), ["CALL w.p()", "SELECT * FROM w.seen"]);
});

test("names, keys, signs and members come from a log with full metadata, without any definition", async () => {
  const files = await logOf([
    "SET GLOBAL binlog_row_metadata=FULL",
    "CREATE DATABASE f",
    "USE f",
    "CREATE TABLE t(id BIGINT UNSIGNED PRIMARY KEY, e ENUM('a','b'), s SET('x','y') , v VARCHAR(10) CHARACTER SET latin1, b VARBINARY(4))",
    "INSERT INTO t VALUES(18446744073709551615,'b','x,y',_latin1 X'E9',X'00FF')",
    "UPDATE t SET e='a'",
    "DELETE FROM t",
    "SET GLOBAL binlog_row_metadata=MINIMAL",
  ]);
  const { sql, outcome } = await printed("rows", files);
  expect([...outcome.obstacles.keys()]).toEqual([]);
  expect(
    Buffer.from(sql, "latin1")
      .toString("utf8")
      .split("\n")
      .filter((line) => /^(INSERT|UPDATE|DELETE)/.test(line)),
  ).toEqual([
    "INSERT INTO `f`.`t` (`id`,`e`,`s`,`v`,`b`) VALUES (18446744073709551615,'b','x,y','é',X'00FF');",
    "UPDATE `f`.`t` SET `e`='a' WHERE `id`=18446744073709551615 LIMIT 1;",
    "DELETE FROM `f`.`t` WHERE `id`=18446744073709551615 LIMIT 1;",
  ]);
});

test("where nobody tells names, changes are comments, and that is said once", async () => {
  await runAll(source(), ["CREATE DATABASE n", "CREATE TABLE n.t(id INT, v VARCHAR(10))"]);
  const files = await logOf(["INSERT INTO n.t VALUES(1,'a'),(2,NULL)", "DELETE FROM n.t WHERE id=2"]);
  const { sql, outcome } = await printed("rows", files);
  expect([...outcome.obstacles.keys()]).toEqual(["`n`.`t`"]);
  expect(outcome.asComments).toBe(3);
  expect(withoutHeads(sql)).toEqual([
    "BEGIN;",
    "-- changes of `n`.`t` are only comments; nobody told the names of its columns",
    "-- INSERT INTO `n`.`t` (@1,@2) VALUES (1,'a');",
    "-- INSERT INTO `n`.`t` (@1,@2) VALUES (2,NULL);",
    "COMMIT;",
    "BEGIN;",
    "-- DELETE FROM `n`.`t` WHERE @1=2 AND @2 IS NULL LIMIT 1;",
    "COMMIT;",
  ]);
  const undo = await printed("undo", files);
  expect(undo.outcome).toMatchObject({ rows: 0, asComments: 3 });
  expect(withoutHeads(undo.sql).filter((line) => !/^(?:-- |BEGIN;|COMMIT;)/.test(line))).toEqual([]);
  expect(undo.sql).toContain(
    "-- cannot be undone, nobody told the names of its columns: DELETE FROM `n`.`t` WHERE @1=2 AND @2 IS NULL LIMIT 1;",
  );
});

test("a definition with other columns is not used, and the reason says how many there are", async () => {
  const files = await logOf(["ALTER TABLE n.t ADD COLUMN w INT", "INSERT INTO n.t VALUES(5,'e',6)"]);
  const [table] = (await tablesOf(source())).filter(({ schema }) => schema === "n");
  const tables = table === undefined ? [] : [{ ...table, columns: table.columns.slice(0, 2) }];
  const { outcome } = await printed("undo", files, { tables });
  expect([...outcome.obstacles.values()].map(({ reason }) => reason)).toEqual([
    "its definition has 2 columns, and in the log it has 3",
  ]);
  const unknown = await printed("undo", files, { tables: tables.map((given) => ({ ...given, name: "other" })) });
  expect([...unknown.outcome.obstacles.values()][0]?.reason).toMatch(/^the definitions that were given do not have it/);
});

test("a CREATE TABLE in the log tells names, until something else defines the table", async () => {
  const files = await logOf([
    "CREATE DATABASE k",
    "USE k",
    "CREATE TABLE t(id INT PRIMARY KEY, v VARCHAR(10) CHARACTER SET latin1)",
    "INSERT INTO t VALUES(1,_latin1 X'E9')",
    "ALTER TABLE t RENAME COLUMN v TO w",
    "INSERT INTO t VALUES(2,'b')",
  ]);
  const { sql, outcome } = await printed("rows", files);
  expect(Buffer.from(sql, "latin1").toString("utf8")).toContain("INSERT INTO `k`.`t` (`id`,`v`) VALUES (1,'é');");
  expect(sql).toContain("-- INSERT INTO `k`.`t` (@1,@2) VALUES (2,'b');");
  expect(outcome.asComments).toBe(1);
});

test("an undo for which there is no room on disk writes nothing, and is no fault of the log", async () => {
  await runAll(source(), [
    "CREATE DATABASE big",
    "CREATE TABLE big.t(id INT PRIMARY KEY, v LONGTEXT)",
    "INSERT INTO big.t VALUES(1,REPEAT('x',9000000)),(2,REPEAT('y',900000)),(3,REPEAT('y',900000)),(4,'four')",
  ]);
  const files = await logOf(["DELETE FROM big.t"]);
  const inputs = await findInputs(files);
  const tables = await tablesOf(source());
  const written: Buffer[] = [];
  const faults: Fault[] = [];
  const full = new ReplicationError("DISK_FULL", "no room");
  const write = (bytes: Buffer): undefined => void written.push(Buffer.from(bytes));
  const options = { tables, onFault: (fault: Fault): void => void faults.push(fault) };
  const refuse = (): never => {
    throw full;
  };
  await expect(printUndo(inputs, options, write, refuse)).rejects.toBe(full);
  expect([written, faults]).toEqual([[], []]);
  const ended = (): void => {
    throw full;
  };
  await expect(printUndo(inputs, { ...options, check: ended }, write, memory)).rejects.toBe(full);
  expect(written).toEqual([]);
  // Held, and then not given back: what is there says that it is not all.
  const text = printUndo(inputs, options, write, () => ({ write: () => {}, read: refuse }));
  await expect(text).rejects.toBe(full);
  expect(faults).toEqual([]);
  const all = written.map(String).join("");
  expect(all.endsWith("ROLLBACK;\n-- this text is incomplete: no room\n")).toBe(true);
  expect(all).toContain("VALUES (4,'four')");
});

test("what of a damaged log cannot be read is a comment in its place, in both texts", async () => {
  await runAll(source(), ["CREATE DATABASE dm", "CREATE TABLE dm.t(id INT PRIMARY KEY)"]);
  const [file = ""] = await logOf(["INSERT INTO dm.t VALUES(1)", "INSERT INTO dm.t VALUES(2)"]);
  const whole = readFileSync(file);
  const cut = async function* (): AsyncGenerator<Buffer> {
    yield whole.subarray(0, -20);
  };
  const options = { tables: await tablesOf(source()), onFault: () => {} };
  for (const print of [printRows, printUndo]) {
    let sql = "";
    const write = (bytes: Buffer): undefined => void (sql += bytes.toString());
    await print([{ name: "binlog.000001", bytes: undefined, chunks: cut }], options, write, memory);
    expect(sql).toContain(print === printRows ? "VALUES (1);" : "WHERE `id`=1 LIMIT 1;");
    expect(sql).toMatch(/^-- what stands here cannot be read, and is missing in this text: binlog\.000001:\d+: /m);
  }
});

test("tables that were asked for and did not come are told", async () => {
  const files = await logOf([
    "CREATE DATABASE us",
    "CREATE TABLE us.t(id INT PRIMARY KEY)",
    "INSERT INTO us.t VALUES(1)",
  ]);
  const only = ["us.t", "*.t", "us.*", "us.nope", "nope.*"];
  const options = { tables: await tablesOf(source()), only };
  expect((await printed("rows", files, options)).outcome.unseen).toEqual(["us.nope", "nope.*"]);
  expect((await printed("undo", files, { ...options, only: ["*.t"] })).outcome.rows).toBe(1);
});

test("what the log does not tell how to take back is a comment in its place, and counted", async () => {
  await runAll(source(), [
    "CREATE DATABASE u",
    "USE u",
    "CREATE TABLE t(id INT PRIMARY KEY, v VARCHAR(10), w INT)",
    "INSERT INTO t VALUES(1,'a',1),(2,'b',2),(3,'c',3)",
    "XA START 'before'",
    "UPDATE t SET v='before' WHERE id=3",
    "XA END 'before'",
    "XA PREPARE 'before'",
  ]);
  const before = await contents(source(), "u");
  const files = await logOf([
    "USE u",
    "UPDATE t SET v='x' WHERE id=1",
    "CREATE VIEW seen AS SELECT 1 AS\na",
    "SET binlog_row_image=MINIMAL",
    "UPDATE t SET w=5 WHERE id=2",
    "SET binlog_row_image=FULL",
    "XA START 'in'",
    "INSERT INTO t VALUES(4,'in',4)",
    "XA END 'in'",
    "XA PREPARE 'in'",
    "XA START 'gone'",
    "INSERT INTO t VALUES(5,'gone',4)",
    "XA END 'gone'",
    "XA PREPARE 'gone'",
    "DELETE FROM t WHERE id=1",
    "XA COMMIT 'in'",
    "XA ROLLBACK 'gone'",
    "XA COMMIT 'before'",
    "XA START 'open'",
    "INSERT INTO t VALUES(6,'open',4)",
    "XA END 'open'",
    "XA PREPARE 'open'",
  ]);
  const { sql, outcome } = await printed("undo", files, { tables: await tablesOf(source()) });
  expect(withoutHeads(sql).map((line) => line.replace(/, [0-9a-f]{8}-.*/, ""))).toEqual([
    "-- prepared and not ended here, so not undone: XA X'6f70656e',X'',1",
    "-- cannot be undone, it was prepared before the range: XA COMMIT X'6265666f7265',X'',1",
    "BEGIN;",
    "DELETE FROM `u`.`t` WHERE `id`=4 LIMIT 1;",
    "COMMIT;",
    "BEGIN;",
    "INSERT INTO `u`.`t` (`id`,`v`,`w`) VALUES (1,'x',1);",
    "COMMIT;",
    "BEGIN;",
    "-- cannot be undone, its row images hold too little: UPDATE `u`.`t` SET `w`=5 WHERE `id`=2 LIMIT 1;",
    "COMMIT;",
    expect.stringMatching(/^-- cannot be undone, it is a statement: CREATE .*VIEW.* AS SELECT 1 AS$/),
    "-- a",
    "BEGIN;",
    "UPDATE `u`.`t` SET `v`='a' WHERE `id`=1 LIMIT 1;",
    "COMMIT;",
  ]);
  expect(outcome.asComments).toBe(3);
  await runAll(source(), ["XA ROLLBACK 'open'"]);
  await runWithClient(source(), sql);
  await runAll(source(), ["UPDATE u.t SET w=2 WHERE id=2", "UPDATE u.t SET v='c' WHERE id=3"]);
  expect(await contents(source(), "u")).toEqual(before);
});

test("a partial update of a document is undone to the document before it", async () => {
  await runAll(source(), [
    "CREATE DATABASE pj",
    "CREATE TABLE pj.j(id INT PRIMARY KEY, n INT, j JSON, k JSON)",
    `INSERT INTO pj.j VALUES(1,1,'{"a": 1, "long": "${"x".repeat(300)}"}','[1, 2]')`,
  ]);
  const before = await contents(source(), "pj");
  const files = await logOf([
    "SET binlog_row_value_options=PARTIAL_JSON",
    "UPDATE pj.j SET j=JSON_SET(j,'$.a',CAST(2.50 AS DECIMAL(5,2)))",
    "UPDATE pj.j SET n=2, j=JSON_SET(j,'$.a','x'), k=NULL",
  ]);
  const { sql } = await printed("undo", files, { tables: await tablesOf(source()) });
  await runWithClient(source(), sql);
  expect(await contents(source(), "pj")).toEqual(before);
});

test("what cascades changed is in the log of this server, and comes back once", async () => {
  await runAll(source(), [
    "CREATE DATABASE c",
    "USE c",
    "CREATE TABLE parent(id INT PRIMARY KEY)",
    "CREATE TABLE child(id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent(id) ON DELETE CASCADE ON UPDATE CASCADE)",
    "INSERT INTO parent VALUES(1),(2)",
    "INSERT INTO child VALUES(10,1),(11,1),(20,2)",
  ]);
  const before = await contents(source(), "c");
  const files = await logOf(["USE c", "DELETE FROM parent WHERE id=1", "UPDATE parent SET id=3 WHERE id=2"]);
  const { sql } = await printed("undo", files, { tables: await tablesOf(source()) });
  await runWithClient(source(), sql);
  expect(await contents(source(), "c")).toEqual(before);
});

test("only the tables that were asked for, and statements that mention them", async () => {
  const files = await logOf([
    "CREATE DATABASE o",
    "USE o",
    "CREATE TABLE a(id INT PRIMARY KEY)",
    "CREATE TABLE b(id INT PRIMARY KEY)",
    "BEGIN",
    "INSERT INTO a VALUES(1)",
    "INSERT INTO b VALUES(2)",
    "COMMIT",
    "INSERT INTO b VALUES(3)",
  ]);
  const { sql, outcome } = await printed("rows", files, { tables: await tablesOf(source()), only: ["o.a"] });
  expect(sql).not.toContain("`b`");
  expect(sql).toContain("INSERT INTO `o`.`a` (`id`) VALUES (1);");
  expect(outcome.rows).toBe(1);
  expect((await printed("undo", files, { tables: await tablesOf(source()), only: ["o.*"] })).outcome.rows).toBe(3);
});
