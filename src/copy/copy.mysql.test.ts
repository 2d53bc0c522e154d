import net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { RowDataPacket } from "mysql2/promise";
import { beforeEach, describe, expect, test } from "vitest";
import { allTypes, type TypesOf } from "../../test/helpers/all-types.ts";
import { killCopyWhen } from "../../test/helpers/copy-process.ts";
import { query, useServer, withConnection, withServer } from "../../test/helpers/servers.ts";
import type { ReplicationError } from "../base/error.ts";
import type { SandboxServer } from "../sandbox/start.ts";
import { verifyTables } from "../verify/verify.ts";
import { copyInitial, type CopyOptions } from "./copy.ts";
import type { CopyProgress } from "./report.ts";

const RELAXED = { options: ["--sync-binlog=0", "--innodb-flush-log-at-trx-commit=2"] };
const source = useServer("mysql-9.7", RELAXED);
const target = useServer("mysql-9.7", RELAXED);

beforeEach(async () => {
  for (const server of [source(), target()]) await dropAll(server);
});

async function dropAll(server: SandboxServer): Promise<void> {
  const rows = await query<RowDataPacket[]>(
    server,
    "SELECT SCHEMA_NAME AS s FROM information_schema.SCHEMATA WHERE SCHEMA_NAME NOT IN ('mysql','sys','information_schema','performance_schema')",
  );
  for (const row of rows) await query(server, `SET foreign_key_checks=0; DROP DATABASE \`${row["s"]}\``);
}

const copy = (options: Partial<CopyOptions> = {}) =>
  copyInitial({ source: source().address, target: target().address, channel: "main", ...options });

async function fill(server: SandboxServer, statements: readonly string[]): Promise<void> {
  await withConnection(server, async (connection) => {
    for (const statement of statements) await connection.query(statement);
  });
}

async function expectIdentical(from = source(), to = target()): Promise<void> {
  const report = await verifyTables({ source: from.address, target: to.address });
  expect(report.tables.filter((table) => !table.identical)).toEqual([]);
  expect(report.tables.length).toBeGreaterThan(0);
}

async function value(server: SandboxServer, sql: string): Promise<unknown> {
  const [row] = await query<RowDataPacket[]>(server, sql);
  return Object.values(row ?? {})[0];
}

/** A table of `rows` rows of some 100 bytes. */
function manyRows(name: string, rows: number, key = "PRIMARY KEY"): string {
  return `CREATE TABLE a.${name} (id INT NOT NULL ${key}, v VARCHAR(100));
    SET SESSION cte_max_recursion_depth=1000000;
    INSERT INTO a.${name} WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < ${rows}) SELECT i, REPEAT(MD5_(i), 3) FROM n;`.replace(
    "MD5_(i)",
    "LEFT(SHA2(i,224),30)",
  );
}

test("every type arrives exactly, definitions included, and the position is the source's", async () => {
  await fill(source(), allTypes("mysql-9.7"));
  const [at] = await query<RowDataPacket[]>(source(), "SHOW BINARY LOG STATUS");
  const result = await copy();
  expect(result).toMatchObject({
    position: { file: at?.["File"], position: at?.["Position"] },
    tableFrom: [],
    tables: 12,
    warnings: [],
    wasDone: false,
  });
  await expectIdentical();
  for (const name of ["newer", "empty_one", "strings"]) {
    const [ours] = await query<RowDataPacket[]>(source(), `SHOW CREATE TABLE types.${name}`);
    const [theirs] = await query<RowDataPacket[]>(target(), `SHOW CREATE TABLE types.${name}`);
    expect(theirs?.["Create Table"]).toBe(ours?.["Create Table"]);
  }
  expect(
    await value(target(), "SELECT GROUP_CONCAT(j ORDER BY id SEPARATOR ' ') FROM types.newer WHERE id IN (2, 5)"),
  ).toBe(await value(source(), "SELECT GROUP_CONCAT(j ORDER BY id SEPARATOR ' ') FROM types.newer WHERE id IN (2, 5)"));
});

describe.each<["mysql-5.6" | "mariadb-10.11", "source" | "target", TypesOf]>([
  ["mysql-5.6", "source", "common"],
  ["mariadb-10.11", "target", "common"],
])("with %s as the %s", (flavour, role, types) => {
  test("every type that both know arrives exactly", () =>
    withServer(flavour, RELAXED, async (other) => {
      const [from, to] = role === "source" ? [other, target()] : [source(), other];
      await fill(from, allTypes(types));
      await copyInitial({ source: from.address, target: to.address, channel: "main" });
      await expectIdentical(from, to);
    }));
});

test("views, routines, triggers and events arrive as they were written, and events sleep", async () => {
  await fill(source(), [
    "CREATE DATABASE a DEFAULT CHARACTER SET latin1",
    "CREATE DATABASE b DEFAULT CHARACTER SET utf8mb4",
    "USE a",
    "SET GLOBAL log_bin_trust_function_creators=1",
    "CREATE TABLE t (id INT PRIMARY KEY, v INT, w VARCHAR(20))",
    "CREATE TABLE child (id INT PRIMARY KEY, t INT, FOREIGN KEY (t) REFERENCES t (id) ON DELETE CASCADE)",
    "INSERT INTO t VALUES (1,1,'é')",
    "INSERT INTO child VALUES (1,1)",
    "CREATE FUNCTION b.twice(x INT) RETURNS INT DETERMINISTIC RETURN 2 * x",
    "CREATE VIEW z AS SELECT id, b.twice(v) AS v, 'ü' AS u FROM t",
    "CREATE VIEW b.y AS SELECT * FROM a.z",
    "CREATE VIEW a_first AS SELECT * FROM b.y",
    "SET NAMES latin1",
    "CREATE TRIGGER first_one BEFORE INSERT ON t FOR EACH ROW SET NEW.v = NEW.v + 1, NEW.w = 'é'",
    "SET NAMES utf8mb4",
    "SET SESSION sql_mode='ANSI_QUOTES'",
    "CREATE TRIGGER second_one BEFORE INSERT ON t FOR EACH ROW FOLLOWS first_one SET NEW.v = NEW.v * 10, NEW.w = 'ж'",
    "CREATE PROCEDURE p() BEGIN SELECT 'x' AS \"quoted\"; END",
    "CREATE DEFINER='nobody'@'nowhere' EVENT e ON SCHEDULE EVERY 1 DAY COMMENT 'ON COMPLETION NOT PRESERVE ENABLE' DO INSERT INTO t VALUES (7,7,'')",
  ]);
  await query(target(), "SET GLOBAL log_bin_trust_function_creators=1");
  const { warnings } = await copy();
  expect(warnings).toEqual([
    expect.stringContaining("1 event is disabled on the target"),
    expect.stringContaining("no user nobody@nowhere"),
  ]);
  for (const what of [
    "VIEW a.z",
    "VIEW b.y",
    "VIEW a.a_first",
    "FUNCTION b.twice",
    "PROCEDURE a.p",
    "TRIGGER a.first_one",
    "TRIGGER a.second_one",
  ]) {
    const [ours] = await query<RowDataPacket[]>(source(), `SHOW CREATE ${what}`);
    const [theirs] = await query<RowDataPacket[]>(target(), `SHOW CREATE ${what}`);
    expect({ ...theirs, Created: 0 }, what).toEqual({ ...ours, Created: 0 });
  }
  expect(await value(target(), "SELECT STATUS FROM information_schema.EVENTS WHERE EVENT_NAME='e'")).toMatch(
    /SIDE_DISABLED/,
  );
  await query(target(), "INSERT INTO a.t VALUES (5, 1, '')");
  expect(await value(target(), "SELECT v FROM a.t WHERE id=5")).toBe(20);
  expect(await value(target(), "SELECT v FROM a.a_first WHERE id=1")).toBe(2);
});

test("a target that is not empty is left alone, with what is there", async () => {
  await query(source(), "CREATE DATABASE a; CREATE TABLE a.t (id INT PRIMARY KEY)");
  await query(target(), "CREATE DATABASE old; CREATE TABLE old.one (id INT); CREATE VIEW old.two AS SELECT 1");
  await expect(copy()).rejects.toMatchObject({ code: "NOT_EMPTY", message: "the target already has old.one, old.two" });
  expect(await value(target(), "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME='a'")).toBe(0);
});

test("rows of 40 MB arrive, and one that the target cannot take is named", async () => {
  await query(
    source(),
    `CREATE DATABASE a; CREATE TABLE a.t (id INT PRIMARY KEY, b LONGBLOB, c LONGTEXT);
     INSERT INTO a.t VALUES (1, REPEAT(X'00275CFF', 5242880), REPEAT('0123456789abcdef', 1310720)), (2, REPEAT('x', 41943040), NULL), (3, NULL, '')`,
  );
  const told: CopyProgress[] = [];
  await copy({ onProgress: (progress) => told.push(progress) });
  await expectIdentical();
  expect(told.at(-1)).toMatchObject({ phase: "done", tablesDone: 1, tablesTotal: 1, rowsDone: 3, rowsTotal: 3 });
  await dropAll(target());
  await query(target(), "SET GLOBAL max_allowed_packet=33554432");
  try {
    await expect(copy()).rejects.toMatchObject({
      code: "CONFIG",
      message: expect.stringContaining("a row of a.t needs a statement of"),
      hint: expect.stringContaining("SET GLOBAL max_allowed_packet="),
    });
  } finally {
    await query(target(), "SET GLOBAL max_allowed_packet=1073741824");
  }
});

test("under a write load the copy is one state of the source, exactly at its position", async () => {
  await query(
    source(),
    "CREATE DATABASE a; CREATE TABLE a.counter (id INT PRIMARY KEY, n INT); INSERT INTO a.counter VALUES (1,0),(2,0)",
  );
  await query(source(), `CREATE TABLE a.log (thread INT, n INT, PRIMARY KEY (thread, n)); ${manyRows("rest", 20_000)}`);
  const stop = new AbortController();
  const load = Promise.all(
    [1, 2].map((thread) =>
      withConnection(source(), async (connection) => {
        for (let n = 1; !stop.signal.aborted; n++) {
          await connection.query(
            `BEGIN; UPDATE a.counter SET n=${n} WHERE id=${thread}; INSERT INTO a.log VALUES (${thread},${n}); COMMIT`,
          );
        }
      }),
    ),
  );
  try {
    await sleep(200);
    const { position } = await copy();
    // Each counter says how many rows of its thread there are: no transaction is there in part.
    expect(
      await value(
        target(),
        "SELECT COUNT(*) FROM a.counter AS c WHERE c.n > 0 AND c.n = (SELECT COUNT(*) FROM a.log WHERE thread = c.id)",
      ),
    ).toBe(2);
    await sleep(200);
    stop.abort();
    await load;
    // The server's own replica stops on the first row that is there twice, and a row that is missed shows in the end.
    const { host, port } = source().address;
    await query(
      target(),
      `CHANGE REPLICATION SOURCE TO SOURCE_HOST='${host}', SOURCE_PORT=${port}, SOURCE_USER='root', GET_SOURCE_PUBLIC_KEY=1,
       SOURCE_LOG_FILE='${position.file}', SOURCE_LOG_POS=${position.position}; START REPLICA`,
    );
    const [at] = await query<RowDataPacket[]>(source(), "SHOW BINARY LOG STATUS");
    expect(
      await value(target(), `SELECT SOURCE_POS_WAIT('${at?.["File"]}', ${at?.["Position"]}, 60)`),
    ).toBeGreaterThanOrEqual(0);
    await expectIdentical();
  } finally {
    stop.abort();
    await load;
    await query(target(), "STOP REPLICA; RESET REPLICA ALL");
  }
});

describe("cut off by kill -9", () => {
  const one = { threads: 1, batchBytes: 64 * 1024 };
  const cutOff = async () => {
    await query(
      source(),
      `CREATE DATABASE a; ${["t1", "t2", "t3"].map((name) => manyRows(name, 20_000)).join("")} ${manyRows("t4", 20_000, "")}`,
    );
    await query(source(), "ANALYZE TABLE a.t1, a.t2, a.t3, a.t4");
    const addresses = { source: source().address, target: target().address, channel: "main" };
    return killCopyWhen({ ...addresses, ...one }, ({ tablesDone, rowsDone }) => tablesDone === 2 && rowsDone > 50_000);
  };

  test("a second run keeps finished tables with their position, and brings the others", async () => {
    await cutOff();
    await query(
      source(),
      "UPDATE a.t1 SET v='later' WHERE id=1; UPDATE a.t2 SET v='later' WHERE id=1; UPDATE a.t3 SET v='later' WHERE id=1; UPDATE a.t4 SET v='later' WHERE id=1",
    );
    const [at] = await query<RowDataPacket[]>(source(), "SHOW BINARY LOG STATUS");
    const result = await copy(one);
    expect(result).toMatchObject({ tables: 4, rows: 80_000, wasDone: false });
    expect(result.tableFrom).toHaveLength(2);
    for (const { position } of result.tableFrom) {
      expect(position).toMatchObject({ file: at?.["File"], position: at?.["Position"] });
    }
    expect(result.position.position).toBeLessThan(Number(at?.["Position"]));
    const later = new Set(result.tableFrom.map(({ table }) => table));
    for (const table of ["t1", "t2", "t3", "t4"]) {
      expect(await value(target(), `SELECT COUNT(*) FROM a.${table}`)).toBe(20_000);
      expect(await value(target(), `SELECT COUNT(*) FROM a.${table} WHERE v='later'`), table).toBe(
        later.has(table) ? 1 : 0,
      );
    }
    await query(source(), "UPDATE a.t1 SET v='more' WHERE id=2");
    expect(await copy(one)).toMatchObject({ wasDone: true, position: result.position, tableFrom: result.tableFrom });
  });

  test("a definition that changed meanwhile stops the second run; starting over works", async () => {
    await cutOff();
    await query(source(), "ALTER TABLE a.t1 ADD COLUMN w INT");
    const error = await copy(one).catch((cause: unknown) => cause as ReplicationError);
    expect(error).toMatchObject({ code: "SCHEMA_CHANGED", message: expect.stringContaining("a.t1 was altered") });
    await query(source(), "CREATE VIEW a.v AS SELECT 1 AS one");
    await copy({ ...one, restart: true });
    await expectIdentical();
    expect(await value(target(), "SELECT one FROM a.v")).toBe(1);
  });
});

/** Kills connections in the middle of the rows, once or more, then expects the copy to be right all the same. */
async function copyWhileKilling(server: SandboxServer, kills: number): Promise<void> {
  await query(source(), `CREATE DATABASE a; ${manyRows("t1", 60_000)} ${manyRows("keyless", 60_000, "")}`);
  let killed: Promise<void> | undefined;
  let left = kills;
  await copy({
    threads: 2,
    batchBytes: 32 * 1024,
    onProgress: ({ phase, rowsDone }) => {
      if (phase !== "rows" || rowsDone < 5000 || left === 0) return;
      left--;
      killed = (killed ?? Promise.resolve()).then(() => killAll(server));
    },
  });
  await killed;
  expect(left).toBe(0);
  await expectIdentical();
}

async function killAll(server: SandboxServer): Promise<void> {
  await withConnection(server, async (connection) => {
    const [rows] = await connection.query<RowDataPacket[]>(
      "SELECT ID AS id FROM information_schema.PROCESSLIST WHERE USER='root' AND ID<>CONNECTION_ID() AND COMMAND<>'Binlog Dump'",
    );
    for (const row of rows) await connection.query(`KILL ${row["id"]}`).catch(() => {});
  });
}

test("lost connections to the target are opened anew, and no row comes twice", async () => {
  await copyWhileKilling(target(), 3);
});

test("a commit whose answer is lost is not repeated", async () => {
  await query(source(), `CREATE DATABASE a; ${manyRows("keyless", 20_000, "")}`);
  const { port } = target().address;
  const cut = await cuttingProxy(port, 5);
  try {
    await copy({ target: { ...target().address, port: cut.port }, threads: 1, batchBytes: 32 * 1024 });
    expect(cut.cuts).toBe(1);
    await expectIdentical();
  } finally {
    cut.close();
  }
});

/** Passes everything on, but cuts the connection when the server has answered to the `nth` COMMIT: the answer is lost. */
async function cuttingProxy(port: number, nth: number): Promise<{ port: number; cuts: number; close: () => void }> {
  let commits = 0;
  const server = net.createServer((client) => {
    const upstream = net.connect({ host: "127.0.0.1", port });
    let isCutting = false;
    client.on("data", (data) => {
      if (data.toString("latin1", 5) === "COMMIT" && ++commits === nth) isCutting = true;
      upstream.write(data);
    });
    upstream.on("data", (data) => {
      if (!isCutting) {
        client.write(data);
        return;
      }
      proxy.cuts++;
      client.destroy();
      upstream.destroy();
    });
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on("error", () => {});
      one.on("close", () => other.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const proxy = { port: (server.address() as net.AddressInfo).port, cuts: 0, close: () => void server.close() };
  return proxy;
}

test("a lost snapshot of the source is replaced by a new one", async () => {
  await copyWhileKilling(source(), 1);
});

test("a stopped copy says so, and the next one goes on", async () => {
  await query(source(), `CREATE DATABASE a; ${manyRows("t1", 60_000)}`);
  const stop = new AbortController();
  await expect(
    copy({
      batchBytes: 32 * 1024,
      signal: stop.signal,
      onProgress: ({ rowsDone }) => (rowsDone > 1000 ? stop.abort() : undefined),
    }),
  ).rejects.toMatchObject({ code: "STOPPED" });
  await copy();
  await expectIdentical();
});
