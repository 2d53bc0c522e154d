import type { RowDataPacket } from "mysql2/promise";
import { beforeEach, expect, test } from "vitest";
import { setTimeout as sleep } from "node:timers/promises";
import { allTypes } from "../../test/helpers/all-types.ts";
import { query, useServer, withConnection, withServer } from "../../test/helpers/servers.ts";
import type { SandboxServer } from "../sandbox/start.ts";
import { verifyTables } from "../verify/verify.ts";
import { copyInitial } from "./copy.ts";

const RELAXED = { options: ["--sync-binlog=0", "--innodb-flush-log-at-trx-commit=2"] };
const source = useServer("mariadb-10.11", RELAXED);
const target = useServer("mariadb-10.11", RELAXED);

beforeEach(async () => {
  for (const server of [source(), target()]) {
    await query(
      server,
      "SET foreign_key_checks=0; DROP DATABASE IF EXISTS types; DROP DATABASE IF EXISTS a; DROP DATABASE IF EXISTS abreast",
    );
  }
});

async function fill(server: SandboxServer, statements: readonly string[]): Promise<void> {
  await withConnection(server, async (connection) => {
    for (const statement of statements) await connection.query(statement);
  });
}

const copy = (from = source(), to = target()) =>
  copyInitial({ source: from.address, target: to.address, channel: "main" });

async function expectIdentical(from = source(), to = target()): Promise<void> {
  const report = await verifyTables({ source: from.address, target: to.address });
  expect(report.tables.filter((table) => !table.identical)).toEqual([]);
  expect(report.tables.length).toBeGreaterThan(0);
}

async function value(server: SandboxServer, sql: string): Promise<unknown> {
  const [row] = await query<RowDataPacket[]>(server, sql);
  return Object.values(row ?? {})[0];
}

test("every type arrives exactly, and the position is the source's", async () => {
  await fill(source(), allTypes("mariadb"));
  const [at] = await query<RowDataPacket[]>(source(), "SHOW MASTER STATUS");
  expect(await copy()).toMatchObject({
    position: {
      file: at?.["File"],
      position: at?.["Position"],
      gtids: await value(source(), "SELECT @@gtid_binlog_pos"),
    },
    tableFrom: [],
    warnings: [],
  });
  await expectIdentical();
  const [ours] = await query<RowDataPacket[]>(source(), "SHOW CREATE TABLE types.newer");
  const [theirs] = await query<RowDataPacket[]>(target(), "SHOW CREATE TABLE types.newer");
  expect(theirs).toEqual(ours);
});

test("sequences go on where they were, also as defaults of columns", async () => {
  await fill(source(), [
    "CREATE DATABASE a",
    "USE a",
    "CREATE SEQUENCE s START WITH 100 INCREMENT BY 10 CACHE 0",
    "CREATE TABLE t (id INT DEFAULT NEXTVAL(s) PRIMARY KEY, v INT)",
    "INSERT INTO t (v) VALUES (1), (2)",
    "CREATE VIEW v AS SELECT MAX(id) AS last FROM t",
    "CREATE TRIGGER once BEFORE INSERT ON t FOR EACH ROW SET NEW.v = NEW.v + 1",
  ]);
  await copy();
  await expectIdentical();
  await query(target(), "INSERT INTO a.t (v) VALUES (3)");
  expect(await value(target(), "SELECT last FROM a.v")).toBe(120);
  expect(await value(target(), "SELECT v FROM a.t WHERE id=120")).toBe(4);
});

test("under a write load, without a lock, the copy is exactly at its position", async () => {
  await fill(source(), [
    "CREATE DATABASE a",
    "CREATE TABLE a.log (thread INT, n INT, PRIMARY KEY (thread, n))",
    "CREATE TABLE a.filler (id INT PRIMARY KEY, v VARCHAR(200))",
    "USE a",
    "INSERT INTO filler SELECT seq, REPEAT('x', 200) FROM seq_1_to_20000",
  ]);
  const stop = new AbortController();
  const load = Promise.all(
    [1, 2].map((thread) =>
      withConnection(source(), async (connection) => {
        for (let n = 1; !stop.signal.aborted; n++) await connection.query(`INSERT INTO a.log VALUES (${thread},${n})`);
      }),
    ),
  );
  try {
    await sleep(200);
    const { position } = await copy();
    await sleep(200);
    stop.abort();
    await load;
    const { host, port } = source().address;
    await query(
      target(),
      `CHANGE MASTER TO MASTER_HOST='${host}', MASTER_PORT=${port}, MASTER_USER='root', MASTER_USE_GTID=NO,
       MASTER_LOG_FILE='${position.file}', MASTER_LOG_POS=${position.position}; START SLAVE`,
    );
    const [at] = await query<RowDataPacket[]>(source(), "SHOW MASTER STATUS");
    expect(
      await value(target(), `SELECT MASTER_POS_WAIT('${at?.["File"]}', ${at?.["Position"]}, 60)`),
    ).toBeGreaterThanOrEqual(0);
    await expectIdentical();
  } finally {
    stop.abort();
    await load;
    await query(target(), "STOP SLAVE; RESET SLAVE ALL");
  }
});

test("MySQL takes what both know; what it does not know stops the copy with the statement", () =>
  withServer("mysql-9.7", RELAXED, async (mysql) => {
    await fill(source(), allTypes("common"));
    await copy(source(), mysql);
    await expectIdentical(source(), mysql);
    await query(mysql, "DROP DATABASE types; DROP DATABASE abreast");
    await query(source(), "DROP DATABASE types; CREATE DATABASE a; CREATE TABLE a.t (id UUID PRIMARY KEY)");
    await expect(copy(source(), mysql)).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringContaining("CREATE TABLE `t` (\n  `id` uuid NOT NULL"),
    });
  }));

test("a table that only the other flavour's collations fit arrives with the nearest one, and a warning", () =>
  withServer("mysql-9.7", RELAXED, async (mysql) => {
    await fill(mysql, [
      "CREATE DATABASE a",
      "CREATE TABLE a.t (k VARCHAR(20) COLLATE utf8mb4_0900_as_cs PRIMARY KEY, j JSON, h INT INVISIBLE) DEFAULT CHARSET=utf8mb4",
      "INSERT INTO a.t (k, j, h) VALUES ('a', '{\"b\": [1.5, null]}', 1), ('A', 'true', 2), ('é', NULL, NULL)",
    ]);
    const { warnings } = await copy(mysql);
    expect(warnings).toEqual([
      "the target has no collation utf8mb4_0900_ai_ci: utf8mb4_uca1400_nopad_ai_ci is used, which may sort and compare some strings differently",
      "a.t: the target has no collation utf8mb4_0900_as_cs: utf8mb4_uca1400_nopad_as_cs is used, which may sort and compare some strings differently",
    ]);
    await expectIdentical(mysql);
    expect(
      await value(
        target(),
        "SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA='a' AND EXTRA LIKE '%INVISIBLE%'",
      ),
    ).toBe(1);
  }));
