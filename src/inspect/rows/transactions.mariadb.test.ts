import { expect, test } from "vitest";
import { binlogFiles } from "../../../test/helpers/assemble.ts";
import { contents, runAll } from "../../../test/helpers/replay.ts";
import { printed, runWithClient, tablesOf } from "../../../test/helpers/row-statements.ts";
import { useServer } from "../../../test/helpers/servers.ts";
import type { Table } from "../../schema/catalog.ts";

const source = useServer("mariadb-10.11");
const copy = useServer("mariadb-10.11");

test("transactions of all sorts are run again as they were, and their rows taken back", async () => {
  await runAll(source(), [
    "CREATE DATABASE w",
    "USE w",
    "CREATE TABLE t(id INT PRIMARY KEY, v LONGTEXT, s INT AS (id*2) PERSISTENT)",
    "CREATE TABLE parent(id INT PRIMARY KEY)",
    "CREATE TABLE child(id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent(id))",
    "INSERT INTO t(id,v) VALUES(1,'a'),(2,'b')",
  ]);
  const before = await contents(source(), "w");
  const changes = [
    "USE w",
    "XA START 'a'",
    "INSERT INTO t(id,v) VALUES(30,'xa')",
    "XA END 'a'",
    "XA PREPARE 'a'",
    "XA ROLLBACK 'a'",
    "XA START 'b','c',5",
    "INSERT INTO t(id,v) VALUES(31,'xa')",
    "XA END 'b','c',5",
    "XA COMMIT 'b','c',5 ONE PHASE",
    "XA START 'd'",
    "INSERT INTO t(id,v) VALUES(32,'xa')",
    "XA END 'd'",
    "XA PREPARE 'd'",
    "XA COMMIT 'd'",
    "SET GLOBAL log_bin_compress=1, log_bin_compress_min_len=10",
    "INSERT INTO t(id,v) VALUES(40,REPEAT('compressed ',300))",
    "UPDATE t SET v=CONCAT(v,'!')",
    "SET GLOBAL log_bin_compress=0",
    "SET foreign_key_checks=0",
    "INSERT INTO child VALUES(1,7)",
    "SET foreign_key_checks=1",
    "INSERT INTO parent VALUES(7)",
    "SET binlog_row_image=MINIMAL",
    "INSERT INTO t(id) VALUES(50)",
    "SET binlog_row_image=FULL",
    "UPDATE t SET v='x' WHERE id=50",
  ];
  await runAll(source(), ["FLUSH BINARY LOGS", ...changes]);
  const tables = await tablesOf(source());
  const files = await binlogFiles(source());
  await runWithClient(copy(), (await printed("rows", files, { tables })).sql);
  expect(await contents(copy(), "w")).toEqual(await contents(source(), "w"));

  const { sql, outcome } = await printed("undo", files.slice(-1), { tables });
  expect(outcome).toMatchObject({ asComments: 0, statements: 0 });
  await runWithClient(source(), sql);
  expect(await contents(source(), "w")).toEqual(before);
});

test("system-versioned tables and sequences are not taken back, and not half", async () => {
  await runAll(source(), [
    "CREATE DATABASE v",
    "USE v",
    "CREATE TABLE plain(id INT PRIMARY KEY)",
    "CREATE TABLE hidden(id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING",
    "CREATE TABLE shown(id INT PRIMARY KEY, a TIMESTAMP(6) GENERATED ALWAYS AS ROW START, b TIMESTAMP(6) GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME(a, b)) WITH SYSTEM VERSIONING",
    "CREATE SEQUENCE numbers",
    "FLUSH BINARY LOGS",
  ]);
  const changes = [
    "INSERT INTO v.plain VALUES(1)",
    "INSERT INTO v.hidden VALUES(1,1)",
    "UPDATE v.hidden SET v=2",
    "DELETE FROM v.hidden",
    "INSERT INTO v.shown(id) VALUES(1)",
    "SELECT NEXT VALUE FOR v.numbers",
    "INSERT INTO v.plain VALUES(2)",
  ];
  await runAll(source(), changes);
  const reasons = async (tables: Table[] | undefined, how: "rows" | "undo"): Promise<Record<string, string>> => {
    const files = (await binlogFiles(source())).slice(-1);
    const { sql, outcome } = await printed(how, files, tables === undefined ? {} : { tables });
    const executed = sql.split("\n").filter((line) => /^(?:INSERT|UPDATE|DELETE)/.test(line));
    for (const line of executed) expect(line).toMatch(/`v`\.`(?:plain|numbers)`/);
    expect(outcome.asComments).toBeGreaterThanOrEqual(4);
    return Object.fromEntries([...outcome.obstacles].map(([table, { reason }]) => [table, reason]));
  };
  const versioned = expect.stringContaining("system-versioned") as string;
  const sequence = expect.stringContaining("sequence") as string;
  const tables = await tablesOf(source());
  const defined = { "`v`.`hidden`": versioned, "`v`.`shown`": versioned, "`v`.`numbers`": sequence };
  expect(await reasons(tables, "undo")).toEqual(defined);
  expect(await reasons(tables, "rows")).toEqual(defined);
  // The undo can be executed: only plain rows are in it.
  const files = (await binlogFiles(source())).slice(-1);
  await runWithClient(source(), (await printed("undo", files, { tables })).sql);
  expect(await contents(source(), "v")).not.toEqual(await contents(copy(), "v"));

  await runAll(source(), [
    "SET GLOBAL binlog_row_metadata=FULL",
    "FLUSH BINARY LOGS",
    "INSERT INTO v.hidden VALUES(3,3)",
    "SELECT NEXT VALUE FOR v.numbers",
    "DO SETVAL(v.numbers, 5000)",
    "UPDATE v.hidden SET v=5",
    "DELETE FROM v.hidden",
    "INSERT INTO v.plain VALUES(7)",
    "SET GLOBAL binlog_row_metadata=NO_LOG",
  ]);
  expect(await reasons(undefined, "undo")).toEqual({ "`v`.`hidden`": versioned, "`v`.`numbers`": sequence });
});

test("statements and definitions run in the settings that they had", async () => {
  await runAll(source(), [
    "FLUSH BINARY LOGS",
    "CREATE DATABASE s",
    "USE s",
    "SET NAMES latin1",
    Buffer.from("CREATE TABLE t(id INT PRIMARY KEY, v VARCHAR(90) DEFAULT '\xe9;', at TIMESTAMP(3) NULL)", "latin1"),
    "SET NAMES utf8mb4",
    "CREATE PROCEDURE p() BEGIN INSERT INTO t(id) VALUES(9); SELECT ';' FROM t; END",
    "INSERT INTO t(id) VALUES(1)",
    "SET binlog_format=STATEMENT",
    "SET @u='x;y', @d=-1.50, @n=NULL",
    "INSERT INTO t(id,v) VALUES(2,CONCAT(@u,@d,COALESCE(@n,'null'),RAND()))",
    "SET TIMESTAMP=1700000000.25, time_zone='+03:00', sql_mode='ANSI_QUOTES'",
    `INSERT INTO "t"(id,at) VALUES(3,NOW(3))`,
    "SET TIMESTAMP=DEFAULT, time_zone=DEFAULT, sql_mode=DEFAULT, binlog_format=ROW",
    "INSERT INTO t SELECT 4, v, at FROM t WHERE id=2",
    "CREATE TABLE t2 AS SELECT * FROM t",
  ]);
  const files = (await binlogFiles(source())).slice(-1);
  const { sql } = await printed("rows", files, { tables: await tablesOf(source()) });
  await runWithClient(copy(), sql);
  expect(await contents(copy(), "s")).toEqual(await contents(source(), "s"));
  await runAll(copy(), ["CALL s.p()"]);
});
