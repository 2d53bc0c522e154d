import { describe, expect, test } from "vitest";
import { binlogFiles, runAll } from "../../test/helpers/assemble.ts";
import { useServer } from "../../test/helpers/servers.ts";
import { parseSchemaDump } from "../schema/dump.ts";
import { findInputs } from "./input/input.ts";
import { parseBound } from "./input/range.ts";
import { transactionsOf } from "./input/transactions.ts";
import { inspect, type InspectOptions } from "./inspect.ts";
import type { InspectReport, TableReport } from "./report.ts";

const server = useServer("mysql-9.7");

/** Runs the statements into a binlog file of their own, and inspects that. */
async function inspectOf(statements: readonly string[], options: InspectOptions = {}): Promise<InspectReport> {
  await runAll(server(), [
    "DROP DATABASE IF EXISTS w",
    "CREATE DATABASE w",
    "FLUSH LOGS",
    "USE w",
    ...statements,
    "FLUSH LOGS",
  ]);
  const files = await binlogFiles(server());
  return inspect(await findInputs(files.slice(-2, -1)), options);
}

const tableOf = (report: InspectReport, name: string): TableReport => {
  const table = report.tables.find((one) => one.table === name);
  if (table === undefined) throw new Error(`no table ${name}`);
  return table;
};

describe("what a MySQL log shows:", () => {
  test("a row deleted and inserted again, inside a transaction and across, and the row changed most", async () => {
    const report = await inspectOf([
      "CREATE TABLE t(id INT PRIMARY KEY, v INT)",
      "INSERT INTO t VALUES(1,0),(2,0),(3,0)",
      ...Array.from({ length: 5 }, () => "UPDATE t SET v=v+1 WHERE id=2"),
      "BEGIN",
      "DELETE FROM t WHERE id=1",
      "INSERT INTO t VALUES(1,5)",
      "COMMIT",
      "DELETE FROM t WHERE id=3",
      "INSERT INTO t VALUES(3,5)",
    ]);
    const { deleteThenInsert, hotRows } = report.patterns;
    expect(deleteThenInsert).toEqual({ inside: 1, across: 1, tables: [{ schema: "w", table: "t", count: 2 }] });
    expect(hotRows[0]).toMatchObject({ table: "w.t", key: "2", guessed: true, count: 5 });
    expect(tableOf(report, "t")).toMatchObject({ inserts: 5, updates: 5, deletes: 2, transactions: 9, key: ["@1"] });
    expect(report.faults).toEqual([]);
  });

  test("a key that the log names is no guess, and a table without one is told", async () => {
    const report = await inspectOf([
      "SET GLOBAL binlog_row_metadata=FULL",
      "CREATE TABLE k(a INT, b VARCHAR(9), v INT, PRIMARY KEY(b,a))",
      "CREATE TABLE n(a INT)",
      "INSERT INTO k VALUES(1,'x',0)",
      "UPDATE k SET v=1",
      "UPDATE k SET v=2",
      "INSERT INTO n VALUES(1)",
    ]);
    await runAll(server(), ["SET GLOBAL binlog_row_metadata=MINIMAL"]);
    expect(tableOf(report, "k")).toMatchObject({ keyFrom: "log", key: ["b", "a"] });
    expect(report.patterns.hotRows[0]).toMatchObject({ key: "x, 1", guessed: false, count: 2 });
    expect(tableOf(report, "n")).toMatchObject({ keyFrom: "none", key: null });
    expect(report.patterns.tablesWithoutKey).toEqual(["w.n"]);
  });

  test("a minimal image tells the key, and has nothing to save; full ones have", async () => {
    const statements = [
      "CREATE TABLE t(id INT PRIMARY KEY, a INT, b CHAR(20))",
      "INSERT INTO t VALUES(1,1,'bbbbbbbbbb')",
    ];
    const full = await inspectOf([...statements, "UPDATE t SET a=2", "DELETE FROM t"]);
    // Before the update: a and b; behind it: id and b. Before the delete: a and b.
    expect(full.patterns.savableBytes).toBe(4 + 11 + 4 + 11 + 4 + 11);
    const minimal = await inspectOf([
      ...statements,
      "SET binlog_row_image=MINIMAL",
      "UPDATE t SET a=2",
      "DELETE FROM t",
    ]);
    expect(minimal.patterns.savableBytes).toBe(0);
    expect(tableOf(minimal, "t")).toMatchObject({ keyFrom: "log", updates: 1, deletes: 1 });
  });

  test("a schema names keys, other unique ones too", async () => {
    const create = "CREATE TABLE t(id INT AUTO_INCREMENT PRIMARY KEY, c1 INT NOT NULL, c2 INT NOT NULL, UNIQUE(c1,c2))";
    const report = await inspectOf(
      [create, "INSERT INTO t(c1,c2) VALUES(1,1)", "DELETE FROM t WHERE c1=1", "INSERT INTO t(c1,c2) VALUES(1,1)"],
      { schema: parseSchemaDump(`CREATE DATABASE w; USE w; ${create};`) },
    );
    expect(tableOf(report, "t")).toMatchObject({ keyFrom: "schema", key: ["id"] });
    expect(report.patterns.deleteThenInsert).toMatchObject({ inside: 0, across: 1 });
  });

  test("DDL, and changes logged as statements", async () => {
    const report = await inspectOf([
      "CREATE TABLE t(id INT PRIMARY KEY, v INT)",
      "SET binlog_format=STATEMENT",
      "/* by hand */ INSERT INTO t VALUES(1,1)",
      "SET binlog_format=ROW",
      "ALTER TABLE t ADD COLUMN w INT",
    ]);
    expect(report.ddl.map(({ text }) => text)).toEqual([
      "CREATE TABLE t(id INT PRIMARY KEY, v INT)",
      "ALTER TABLE t ADD COLUMN w INT",
    ]);
    expect(report.statements.map(({ text, schema }) => [text, schema])).toEqual([
      ["/* by hand */ INSERT INTO t VALUES(1,1)", "w"],
    ]);
    expect([report.ddlCount, report.statementCount]).toEqual([2, 1]);
    expect(report.rows).toEqual({ inserted: 0, updated: 0, deleted: 0 });
  });

  test("sizes, the largest transaction with its place, and GTIDs with their gaps", async () => {
    const report = await inspectOf([
      "CREATE TABLE t(id INT PRIMARY KEY, v VARCHAR(100))",
      "SET cte_max_recursion_depth=100000",
      "INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<1500) SELECT i,REPEAT('x',50) FROM n",
      "INSERT INTO t VALUES(0,'')",
      "SET GTID_NEXT='00000000-0000-0000-0000-000000000001:5'",
      "DELETE FROM t WHERE id<200",
      "SET GTID_NEXT='00000000-0000-0000-0000-000000000001:9'",
      "DELETE FROM t WHERE id=700",
      "SET GTID_NEXT='AUTOMATIC'",
    ]);
    expect(report.sizeClasses).toEqual({ small: 3, medium: 2, large: 0, bulk: 1 });
    expect(report.largest[0]).toMatchObject({ rows: 1500, tables: ["w.t"] });
    expect(report.gtids.gaps).toEqual([{ source: "00000000-0000-0000-0000-000000000001", from: "6", to: "8" }]);
    expect(report.gtids.last).toBe("00000000-0000-0000-0000-000000000001:9");
    expect(report.seconds).toBeGreaterThan(0);
  });

  test("a range has the transactions that it names and no others", async () => {
    const whole = await inspectOf([
      "CREATE TABLE t(id INT PRIMARY KEY)",
      ...Array.from({ length: 20 }, (_, i) => `INSERT INTO t VALUES(${i})`),
    ]);
    const [uuid = "", last = ""] = whole.gtids.last?.split(":") ?? [];
    const bound = (back: number) => parseBound(`${uuid}:${Number(last) - back}`);
    const files = (await binlogFiles(server())).slice(-2, -1);
    const part = await inspect(await findInputs(files), { range: { from: bound(9), to: bound(3) } });
    expect(part).toMatchObject({ transactions: 7, rows: { inserted: 7 }, faults: [] });
    expect([part.gtids.first, part.gtids.last]).toEqual([`${uuid}:${Number(last) - 9}`, `${uuid}:${Number(last) - 3}`]);
    const rest = await inspect(await findInputs(files), { range: { from: bound(2), to: undefined } });
    expect(rest.transactions).toBe(3);
    const missing: string[] = [];
    await inspect(await findInputs(files), {
      range: { from: bound(-5), to: undefined },
      onMissing: (one) => missing.push(one.kind),
    });
    expect(missing).toEqual(["gtid"]);
  });

  test("several threads give the same report as one", async () => {
    await inspectOf([
      "CREATE TABLE t(id INT PRIMARY KEY, v LONGTEXT)",
      ...Array.from({ length: 60 }, (_, i) => `INSERT INTO t VALUES(${i},REPEAT('x',120000)),(${i + 1000},'')`),
      ...Array.from({ length: 60 }, (_, i) => `DELETE FROM t WHERE id=${i}`),
      ...Array.from({ length: 60 }, (_, i) => `UPDATE t SET v='y' WHERE id=${1000 + (i % 3)}`),
    ]);
    const inputs = await findInputs((await binlogFiles(server())).slice(-2, -1));
    const one = await inspect(inputs, { threads: 0 });
    expect(one.bytes).toBeGreaterThan(12 << 20);
    expect(await inspect(inputs, { threads: 2 })).toEqual(one);
  });

  test("what the assembler makes of the log, and the scanner, have equal counts", async () => {
    await runAll(server(), ["SET GLOBAL binlog_transaction_compression=ON"]);
    const report = await inspectOf([
      "CREATE TABLE t(id INT PRIMARY KEY, v LONGTEXT)",
      "CREATE TABLE m(id INT PRIMARY KEY) ENGINE=MyISAM",
      ...Array.from({ length: 30 }, (_, i) => `INSERT INTO t VALUES(${i},REPEAT('x',${i * 100}))`),
      "INSERT INTO m VALUES(1)",
      "XA START 'a'",
      "UPDATE t SET v='' WHERE id<5",
      "XA END 'a'",
      "XA PREPARE 'a'",
      "XA COMMIT 'a'",
      "BEGIN",
      "SAVEPOINT s",
      "DELETE FROM t WHERE id<7",
      "ROLLBACK TO s",
      "DELETE FROM t WHERE id=8",
      "COMMIT",
    ]);
    await runAll(server(), ["SET GLOBAL binlog_transaction_compression=OFF"]);
    const inputs = await findInputs((await binlogFiles(server())).slice(-2, -1));
    let [transactions, rows] = [0, 0];
    for await (const transaction of transactionsOf(inputs, { onFault: (fault) => expect(fault).toBe("none") })) {
      transactions++;
      rows += transaction.rows;
    }
    const { inserted, updated, deleted } = report.rows;
    expect([report.transactions, inserted + updated + deleted]).toEqual([transactions, rows]);
    expect(report.faults).toEqual([]);
  });
});
