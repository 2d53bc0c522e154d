import type { RowDataPacket } from "mysql2/promise";
import { beforeEach, expect, test } from "vitest";
import { allTypes } from "../../test/helpers/all-types.ts";
import { query, useServer, withConnection, withServer } from "../../test/helpers/servers.ts";
import type { SandboxServer } from "../sandbox/start.ts";
import { verifyTables } from "./verify.ts";

const RELAXED = { options: ["--sync-binlog=0", "--innodb-flush-log-at-trx-commit=2"] };
const source = useServer("mariadb-10.11", RELAXED);
const target = useServer("mariadb-10.11", RELAXED);

beforeEach(async () => {
  for (const server of [source(), target()]) {
    await query(server, "DROP DATABASE IF EXISTS types; DROP DATABASE IF EXISTS a; DROP DATABASE IF EXISTS abreast");
  }
});

const verify = (from = source(), to = target()) => verifyTables({ source: from.address, target: to.address });

async function fill(server: SandboxServer, statements: readonly string[]): Promise<void> {
  await withConnection(server, async (connection) => {
    for (const statement of statements) await connection.query(statement);
  });
}

test("every type with its extremes is identical to itself, and one changed value is found", async () => {
  for (const server of [source(), target()]) await fill(server, allTypes("mariadb"));
  const report = await verify();
  expect(report.tables.filter((table) => !table.identical || table.warnings.length > 0)).toEqual([]);
  expect(report.tables.length).toBe(11);
  const [status] = await query<RowDataPacket[]>(source(), "SHOW MASTER STATUS");
  expect(report.position).toMatchObject({ file: status?.["File"], position: status?.["Position"] });
  for (const change of [
    "UPDATE types.newer SET a = '::1' WHERE a = '::'",
    "UPDATE types.newer SET z = CONCAT(z, ' ') WHERE LENGTH(z) = 2000",
    "UPDATE types.newer SET id = '123e4567-e89b-12d3-a456-426655440001' WHERE c = 7",
  ]) {
    await query(target(), change);
    const { tables } = await verify();
    expect(
      tables.filter((table) => !table.identical).map(({ table }) => table),
      change,
    ).toEqual(["newer"]);
    await query(target(), "DELETE FROM types.newer");
    await fill(target(), ["SET NAMES utf8mb4", "USE types", allTypes("mariadb").at(-1) as string]);
  }
});

test("a checkpoint that says that the target stands elsewhere is a warning", async () => {
  for (const server of [source(), target()])
    await query(server, "CREATE DATABASE a; CREATE TABLE a.t (id INT PRIMARY KEY)");
  expect((await verify()).warnings).toEqual([]);
  await query(
    target(),
    `CREATE DATABASE abreast; CREATE TABLE abreast.checkpoint (channel VARCHAR(64), transactions BIGINT, source_file VARCHAR(512), source_position BIGINT, gtids TEXT);
     INSERT INTO abreast.checkpoint VALUES ('main', 5, 'binlog.000001', 4711, '0-1-5')`,
  );
  expect((await verify()).warnings).toEqual([
    expect.stringMatching(/^the target stands at binlog\.000001:4711 \(channel main\), the source at /),
  ]);
});

test("across flavours values are compared by what they are, not by how each server prints or stores them", () =>
  withServer("mysql-9.7", RELAXED, async (mysql) => {
    await fill(source(), allTypes("common"));
    await fill(mysql, allTypes("common"));
    const table = "(id INT PRIMARY KEY, f FLOAT, d DOUBLE, e ENUM('a','b'), v VARCHAR(9) CHARACTER SET utf8mb4)";
    const otherTable =
      "(id INT PRIMARY KEY, f FLOAT, d DOUBLE, e ENUM('b','a','c'), v VARCHAR(9) CHARACTER SET latin1)";
    const rows =
      "(1, 1e-7, -4.0137414177481185e-113, 'a', 'é'), (2, -0.3, 1.5400915886496561e115, 'b', 'ß'), (3, '-0', 5e-324, NULL, '')";
    await fill(source(), [`CREATE TABLE types.mixed ${table}`, `INSERT INTO types.mixed VALUES ${rows}`]);
    await fill(mysql, [`CREATE TABLE types.mixed ${otherTable}`, `INSERT INTO types.mixed VALUES ${rows}`]);
    for (const [from, to] of [
      [source(), mysql],
      [mysql, source()],
    ] as const) {
      const report = await verify(from, to);
      expect(report.tables.filter((found) => !found.identical)).toEqual([]);
      expect(report.tables.find((found) => found.table === "mixed")?.warnings).toHaveLength(2);
    }
    await query(
      mysql,
      "UPDATE types.mixed SET d = 1.540091588649656e115 WHERE id = 2; UPDATE types.mixed SET e = 'c' WHERE id = 1",
    );
    const { tables } = await verify(source(), mysql);
    expect(tables.filter((found) => !found.identical).flatMap((found) => found.differences[0]?.rows)).toEqual([
      { row: "1", what: "values differ" },
      { row: "2", what: "values differ" },
    ]);
  }));
