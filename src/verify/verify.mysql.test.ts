import { setTimeout as sleep } from "node:timers/promises";
import type { RowDataPacket } from "mysql2/promise";
import { beforeEach, describe, expect, test } from "vitest";
import { allTypes } from "../../test/helpers/all-types.ts";
import { query, useServer, withConnection } from "../../test/helpers/servers.ts";
import type { SandboxServer } from "../sandbox/start.ts";
import type { TableReport, VerifyProgress } from "./report.ts";
import { verifyTables, type VerifyOptions } from "./verify.ts";

const RELAXED = { options: ["--sync-binlog=0", "--innodb-flush-log-at-trx-commit=2"] };
const source = useServer("mysql-9.7", RELAXED);
const target = useServer("mysql-9.7", RELAXED);

beforeEach(async () => {
  for (const server of [source(), target()])
    await query(server, "DROP DATABASE IF EXISTS a; DROP DATABASE IF EXISTS types");
});

const verify = (options: Partial<VerifyOptions> = {}) =>
  verifyTables({ source: source().address, target: target().address, ...options });

async function onBoth(sql: string): Promise<void> {
  for (const server of [source(), target()]) await query(server, sql);
}

async function fill(server: SandboxServer, statements: readonly string[]): Promise<void> {
  await withConnection(server, async (connection) => {
    for (const statement of statements) await connection.query(statement);
  });
}

async function verifyTable(options: Partial<VerifyOptions> = {}): Promise<TableReport> {
  const report = await verify(options);
  const [table] = report.tables;
  if (report.tables.length !== 1 || table === undefined) throw new Error("one table was expected");
  expect(report.identical).toBe(table.identical);
  return table;
}

const LARGE = `CREATE DATABASE a; CREATE TABLE a.t (p INT, q VARCHAR(10) COLLATE utf8mb4_0900_ai_ci, v INT, PRIMARY KEY (p, q));
  INSERT INTO a.t SELECT h.n DIV 3, CONCAT('k', h.n MOD 3), h.n FROM (SELECT @n := @n + 1 AS n FROM
    (SELECT @n := 0) AS start, information_schema.COLLATIONS AS x, (SELECT 1 FROM information_schema.COLLATIONS LIMIT 20) AS y LIMIT 5000) AS h`;

test("every type with its extremes is identical to itself, and the position is the source's", async () => {
  for (const server of [source(), target()]) await fill(server, allTypes("mysql-9.7"));
  const report = await verify();
  expect(report.tables.filter((table) => !table.identical || table.warnings.length > 0)).toEqual([]);
  expect(report.identical).toBe(true);
  expect(report.tables.length).toBe(12);
  const [status] = await query<RowDataPacket[]>(source(), "SHOW BINARY LOG STATUS");
  expect(report.position).toEqual({
    file: status?.["File"],
    position: status?.["Position"],
    gtids: String(status?.["Executed_Gtid_Set"]).replaceAll("\n", ""),
  });
});

const CHANGES: [table: string, change: string][] = [
  ["numbers", "UPDATE types.numbers SET o = -1.540091588649656e115 WHERE id = 2"],
  ["numbers", "UPDATE types.numbers SET n = 0.30000004 WHERE id = 3"],
  ["numbers", "UPDATE types.numbers SET s = 0xFFFFFFFFFFFFFFFE WHERE s = 0xFFFFFFFFFFFFFFFF"],
  ["numbers", "UPDATE types.numbers SET j = j - 0.000000000000000000000000000001 LIMIT 1"],
  ["times", "UPDATE types.times SET c = '00:00:00.01' WHERE c < 0"],
  ["times", "SET sql_mode=''; UPDATE types.times SET h = NULL WHERE h = '0000-00-00 00:00:00'"],
  ["strings", "UPDATE types.strings SET a = ' a' WHERE a = '  a'"],
  ["strings", "UPDATE types.strings SET d = CONCAT(d, 'x') WHERE LENGTH(d) = 100000"],
  ["strings", "SET sql_mode=''; UPDATE types.strings SET h = h - 1 WHERE k = 'Abc'"],
  ["strings", "SET sql_mode=''; UPDATE types.strings SET g = 3 WHERE g = 0"],
  ["bytes", "UPDATE types.bytes SET b = X'000000' WHERE b = X'0000'"],
  ["bytes", "UPDATE types.bytes SET e = INSERT(e, 19999, 1, X'00') WHERE LENGTH(e) = 20000"],
  ["bytes", "UPDATE types.bytes SET f = POINT(1.5, 2.25) WHERE f IS NOT NULL"],
  ["newer", "UPDATE types.newer SET j = CAST(9.91 AS JSON) WHERE id = 5"],
  ["newer", "UPDATE types.newer SET j = NULL WHERE id = 3"],
  ["newer", "UPDATE types.newer SET v = STRING_TO_VECTOR('[1,2.5,-3.000001e10]') WHERE id = 1"],
  ["newer", "UPDATE types.newer SET hidden = 'Secret' WHERE id = 3"],
  ["keyless", "UPDATE types.keyless SET a = 3 WHERE a = 1 LIMIT 1"],
  ["unique_key", "UPDATE types.unique_key SET v = 4 WHERE v IS NULL"],
  ["odd `name", "UPDATE types.`odd ``name` SET `ünï ``code` = 'b' WHERE `select` = 2"],
];

describe("a single changed value", () => {
  test("is found, and only in its table", async () => {
    for (const server of [source(), target()]) await fill(server, allTypes("mysql-9.7"));
    for (const [name, change] of CHANGES) {
      // The change stays in the transaction that the comparison's snapshot cannot see, so it must be committed, and is taken back by the next round's copy.
      await query(target(), "DROP TABLE IF EXISTS types.kept");
      const quoted = `types.\`${name.replaceAll("`", "``")}\``;
      await query(target(), `CREATE TABLE types.kept LIKE ${quoted}`);
      await copyRows(quoted, "types.kept");
      await query(target(), change);
      const report = await verify({ tables: [`types.${name}`], sessionsPerSide: 1 });
      expect(
        report.tables.map((table) => [table.table, table.identical]),
        change,
      ).toEqual([[name, false]]);
      await query(target(), `DROP TABLE ${quoted}; RENAME TABLE types.kept TO ${quoted}`);
    }
  });
});

/** All columns but generated ones. */
async function copyRows(from: string, to: string): Promise<void> {
  const table = from
    .replace(/^types\./, "")
    .slice(1, -1)
    .replaceAll("``", "`");
  const rows = await query<RowDataPacket[]>(
    target(),
    "SELECT COLUMN_NAME AS name FROM information_schema.COLUMNS WHERE TABLE_SCHEMA='types' AND TABLE_NAME=? AND EXTRA NOT LIKE '% GENERATED' ORDER BY ORDINAL_POSITION",
    [table],
  );
  const names = rows.map((row) => `\`${String(row["name"]).replaceAll("`", "``")}\``).join(",");
  await query(
    target(),
    `SET sql_mode='NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES'; INSERT INTO ${to} (${names}) SELECT ${names} FROM ${from}`,
  );
}

test("changed, missing and extra rows are named, wherever they lie", async () => {
  await onBoth(LARGE);
  await query(
    target(),
    `UPDATE a.t SET v = v + 1 WHERE p = 700 AND q = 'K1'; DELETE FROM a.t WHERE p = 1200 AND q = 'k2';
     INSERT INTO a.t VALUES (-1, 'k', 0), (1200, 'k9', 0), (99999, 'k', 0)`,
  );
  const table = await verifyTable({ chunkRows: 100 });
  expect(table.differences.flatMap(({ rows }) => rows)).toEqual([
    { row: "(-1, 'k')", what: "only on target" },
    { row: "(700, 'k1')", what: "values differ" },
    { row: "(1200, 'k2')", what: "only on source" },
    { row: "(1200, 'k9')", what: "only on target" },
    { row: "(99999, 'k')", what: "only on target" },
  ]);
  expect(table.rows).toBe(5000);
  expect(table.chunks).toBeGreaterThan(3);
});

test("a difference in a chunk of many rows is narrowed to its row", async () => {
  await onBoth(LARGE);
  await query(target(), "UPDATE a.t SET v = -1 WHERE p = 1234 AND q = 'k0'");
  const table = await verifyTable({ chunkRows: 100_000 });
  expect(table.chunks).toBe(1);
  expect(table.differences).toEqual([
    expect.objectContaining({
      keyFrom: "(1234, 'k0')",
      keyTo: "(1234, 'k0')",
      rows: [{ row: "(1234, 'k0')", what: "values differ" }],
    }),
  ]);
});

test("when everything differs, some rows are named and the rest are ranges", async () => {
  await onBoth(LARGE);
  await query(target(), "UPDATE a.t SET v = -v - 1");
  const table = await verifyTable({ chunkRows: 100, rowsShownMax: 7 });
  expect(table.differences.flatMap(({ rows }) => rows).length).toBe(7);
  expect(table.differences.at(-1)).toMatchObject({ keyTo: null, rows: [] });
});

test("an empty target table and an empty source table differ from one with rows", async () => {
  await onBoth(LARGE);
  await query(target(), "DELETE FROM a.t");
  expect((await verifyTable()).identical).toBe(false);
  await query(source(), "DELETE FROM a.t");
  expect((await verifyTable()).identical).toBe(true);
  await query(target(), "INSERT INTO a.t VALUES (1,'a',1)");
  expect((await verifyTable()).identical).toBe(false);
});

test("rows of a table without a key count as often as they are there", async () => {
  await onBoth("CREATE DATABASE a; CREATE TABLE a.t (v INT)");
  await query(source(), "INSERT INTO a.t VALUES (1),(1),(2),(2),(3)");
  await query(target(), "INSERT INTO a.t VALUES (3),(1),(2),(2),(2)");
  const table = await verifyTable();
  expect(table.differences[0]).toMatchObject({ sourceRows: 5, targetRows: 5 });
  expect(table.differences[0]?.rows.toSorted((a, b) => (a.row < b.row ? -1 : 1))).toEqual([
    { row: "(1) (2 times on the source, once on the target)", what: "only on source" },
    { row: "(2) (2 times on the source, 3 times on the target)", what: "only on target" },
  ]);
  await query(target(), "DELETE FROM a.t WHERE v=2 LIMIT 1; INSERT INTO a.t VALUES (1)");
  expect((await verifyTable()).identical).toBe(true);
});

test("tables and columns that one side lacks make the sides differ; other definitions only warn", async () => {
  await onBoth("CREATE DATABASE a; CREATE TABLE a.same (id INT PRIMARY KEY, v INT)");
  await query(
    source(),
    "CREATE TABLE a.left_one (id INT PRIMARY KEY); INSERT INTO a.left_one VALUES (1),(2); CREATE TABLE a.wide (id INT PRIMARY KEY, v INT, w INT)",
  );
  await query(
    target(),
    "CREATE TABLE a.right_one (id INT PRIMARY KEY); CREATE TABLE a.wide (id INT PRIMARY KEY, v INT); ALTER TABLE a.same ADD KEY extra (v)",
  );
  const { tables } = await verify();
  expect(tables.map(({ table, identical, onlyOn }) => [table, identical, onlyOn])).toEqual([
    ["left_one", false, "source"],
    ["same", true, undefined],
    ["wide", false, undefined],
    ["right_one", false, "target"],
  ]);
  expect(tables[0]?.rows).toBe(2);
  expect(tables[1]?.warnings).toEqual(["only on the target: KEY `extra` (`v`)"]);
  expect(tables[2]?.columnsOnlyOn).toEqual({ source: ["w"], target: [] });
});

test("progress ends with every table and row counted", async () => {
  await onBoth(LARGE);
  const told: VerifyProgress[] = [];
  await verify({ chunkRows: 500, onProgress: (progress) => told.push(progress) });
  expect(told[0]).toMatchObject({ tablesDone: 0, tablesTotal: 1, rowsDone: 0 });
  expect(told.at(-1)).toMatchObject({
    tablesDone: 1,
    rowsDone: 5000,
    rowsTotal: 5000,
    differingTables: 0,
    table: "a.t",
  });
});

test("under load, a gate that stops the applier at the position makes the comparison exact", async () => {
  await onBoth(
    "CREATE DATABASE a; CREATE TABLE a.t (id INT PRIMARY KEY, v INT); INSERT INTO a.t VALUES (1,0),(2,0),(3,0)",
  );
  const [at] = await query<RowDataPacket[]>(source(), "SHOW BINARY LOG STATUS");
  const { host, port } = source().address;
  await query(
    target(),
    `CHANGE REPLICATION SOURCE TO SOURCE_HOST='${host}', SOURCE_PORT=${port}, SOURCE_USER='root', GET_SOURCE_PUBLIC_KEY=1,
     SOURCE_LOG_FILE='${at?.["File"]}', SOURCE_LOG_POS=${at?.["Position"]}; START REPLICA`,
  );
  const stop = new AbortController();
  const load = withConnection(source(), async (connection) => {
    while (!stop.signal.aborted) await connection.query("UPDATE a.t SET v = v + 1");
  });
  try {
    // The server's own replica stands for the engine: it can stop exactly at a position of the source.
    for (let round = 0; round < 3; round++) {
      await sleep(100);
      const report = await verify({
        gate: {
          hold: async () => {
            await query(target(), "STOP REPLICA SQL_THREAD");
          },
          pauseAt: async ({ file, position }) => {
            await query(
              target(),
              `START REPLICA SQL_THREAD UNTIL SOURCE_LOG_FILE='${file}', SOURCE_LOG_POS=${position};
               SELECT SOURCE_POS_WAIT('${file}', ${position}, 30)`,
            );
          },
          resume: async () => {
            await query(target(), "START REPLICA SQL_THREAD");
          },
        },
      });
      expect(report.tables).toMatchObject([{ identical: true, rows: 3 }]);
    }
  } finally {
    stop.abort();
    await load;
    await query(target(), "STOP REPLICA; RESET REPLICA ALL");
  }
});
