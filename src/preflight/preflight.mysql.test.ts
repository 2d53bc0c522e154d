import type { RowDataPacket } from "mysql2/promise";
import { beforeEach, describe, expect, test } from "vitest";
import { query, useServer, withServer } from "../../test/helpers/servers.ts";
import type { SandboxServer } from "../sandbox/start.ts";
import { preflight } from "./preflight.ts";
import type { Check, PreflightOptions, PreflightReport } from "./report.ts";

const RELAXED = { options: ["--sync-binlog=0", "--innodb-flush-log-at-trx-commit=2"] };
const source = useServer("mysql-9.7", RELAXED);
const target = useServer("mysql-9.7", RELAXED);

const SOURCE_GRANTS = [
  "SELECT",
  "REPLICATION SLAVE",
  "REPLICATION CLIENT",
  "FLUSH_TABLES",
  "SHOW VIEW",
  "TRIGGER",
  "EVENT",
];
const TARGET_GRANTS = [
  "SELECT, INSERT, UPDATE, DELETE",
  "REPLICATION_APPLIER",
  "SESSION_VARIABLES_ADMIN",
  "CREATE, DROP, ALTER, INDEX, REFERENCES, CREATE VIEW, CREATE ROUTINE, ALTER ROUTINE, TRIGGER, EVENT, CREATE TEMPORARY TABLES",
];

beforeEach(async () => {
  for (const server of [source(), target()]) {
    await query(
      server,
      "DROP DATABASE IF EXISTS shop; DROP DATABASE IF EXISTS abreast; DROP USER IF EXISTS u; CREATE USER u IDENTIFIED BY 'secret'",
    );
  }
  await query(source(), "CREATE DATABASE shop; CREATE TABLE shop.orders (id INT PRIMARY KEY, v VARCHAR(20))");
});

const as = (server: SandboxServer, user: string) => ({
  ...server.address,
  user,
  password: user === "root" ? "" : "secret",
});

const check = (options: PreflightOptions = {}, sourceUser = "root", targetUser = "root"): Promise<PreflightReport> =>
  preflight({ source: as(source(), sourceUser), target: as(target(), targetUser), options });

const notOk = (report: PreflightReport): Check[] => report.checks.filter(({ level }) => level !== "ok");

async function grant(server: SandboxServer, privileges: readonly string[]): Promise<void> {
  for (const privilege of privileges) await query(server, `GRANT ${privilege} ON *.* TO u`);
}

test("two fresh servers with a plain table are safe", async () => {
  const report = await check({ init: true, gtid: "preserve" });
  expect(notOk(report)).toEqual([]);
  expect(report.ok).toBe(true);
});

describe("grants on the source", () => {
  test("the list of all that an initial copy needs is enough", async () => {
    await grant(source(), SOURCE_GRANTS);
    expect(notOk(await check({ init: true }, "u"))).toEqual([]);
  });

  test.each<[missing: string, id: string, level: string]>([
    ["SELECT", "source-grant-select", "warning"],
    ["REPLICATION SLAVE", "source-grant-stream", "error"],
    ["REPLICATION CLIENT", "source-grant-position", "error"],
    ["FLUSH_TABLES", "source-grant-lock", "error"],
    ["SHOW VIEW", "source-grant-show-view", "error"],
    ["TRIGGER", "source-grant-trigger", "error"],
    ["EVENT", "source-grant-event", "error"],
  ])("without %s it says so, and its remedy is the cure", async (missing, id, level) => {
    await grant(
      source(),
      SOURCE_GRANTS.filter((privilege) => privilege !== missing),
    );
    const found = notOk(await check({ init: true }, "u")).filter((finding) => finding.id === id);
    expect(found).toMatchObject([{ level, remedy: `GRANT ${missing} ON *.* TO 'u'@'%'` }]);
    await query(source(), found[0]?.remedy ?? "");
    expect(notOk(await check({ init: true }, "u"))).toEqual([]);
  });

  test("a user without any is told what is missing, and nothing breaks", async () => {
    const report = await check({ init: true }, "u");
    expect(report.ok).toBe(false);
    expect(notOk(report).map(({ id }) => id)).toEqual(
      expect.arrayContaining([
        "source-grant-stream",
        "source-grant-position",
        "source-grant-lock",
        "source-grant-select",
      ]),
    );
  });
});

describe("grants on the target", () => {
  test("the list of all that applying needs is enough", async () => {
    await grant(target(), TARGET_GRANTS);
    expect(notOk(await check({ init: true }, "root", "u"))).toEqual([
      expect.objectContaining({
        id: "target-replica",
        level: "warning",
        remedy: "GRANT REPLICATION CLIENT ON *.* TO 'u'@'%'",
      }),
    ]);
  });

  test.each<[missing: number, ids: string[]]>([
    [0, ["target-grant-checkpoint", "target-grant-tables"]],
    [1, ["target-grant-binlog"]],
    [2, ["target-grant-session"]],
  ])("without the part %i of it, its remedies are the cure", async (missing, ids) => {
    await grant(target(), ["REPLICATION CLIENT", ...TARGET_GRANTS.filter((_, index) => index !== missing)]);
    const found = notOk(await check({}, "root", "u")).filter(({ level }) => level === "error");
    expect(found.map(({ id }) => id)).toEqual(ids);
    for (const { remedy } of found) await query(target(), remedy ?? "");
    expect((await check({}, "root", "u")).ok).toBe(true);
  });

  test("rights to define only stop the DDL that needs them: a warning", async () => {
    await grant(target(), [
      "REPLICATION CLIENT",
      ...TARGET_GRANTS.slice(0, 3),
      "CREATE, DROP, ALTER, INDEX, REFERENCES",
    ]);
    const found = notOk(await check({ init: true }, "root", "u"));
    expect(found).toMatchObject([
      { id: "target-grant-tables", level: "warning", remedy: expect.stringContaining("GRANT CREATE VIEW") },
    ]);
  });
});

async function withSetting(
  server: SandboxServer,
  name: string,
  value: string,
  work: () => Promise<void>,
): Promise<void> {
  const [row] = await query<RowDataPacket[]>(server, `SELECT @@global.${name} AS v`);
  await query(server, `SET GLOBAL ${name}=${value}`);
  try {
    await work();
  } finally {
    await query(server, `SET GLOBAL ${name}=?`, [row?.["v"]]);
  }
}

test.each<[side: "source" | "target", name: string, value: string, id: string, level: string]>([
  ["source", "binlog_format", "'STATEMENT'", "source-binlog-format", "error"],
  ["source", "binlog_format", "'MIXED'", "source-binlog-format", "warning"],
  ["source", "binlog_row_image", "'MINIMAL'", "source-row-image", "warning"],
  ["source", "binlog_expire_logs_seconds", "3600", "source-retention", "warning"],
  ["source", "binlog_checksum", "'NONE'", "source-checksum", "warning"],
  ["target", "max_allowed_packet", "1048576", "target-packet", "error"],
  ["target", "default_storage_engine", "'MyISAM'", "target-engine", "warning"],
])("%s with %s=%s is named with what to set", async (side, name, value, id, level) => {
  const server = side === "source" ? source() : target();
  await withSetting(server, name, value, async () => {
    const [found, ...others] = notOk(await check({ init: true }));
    expect([found?.id, found?.level, others]).toEqual([id, level, []]);
    const [remedy = ""] = (found?.remedy ?? "").split(" (");
    await query(server, remedy);
    expect(notOk(await check({ init: true }))).toEqual([]);
  });
});

test("a read-only target is refused, unless the user is exempt", async () => {
  await grant(target(), ["REPLICATION CLIENT", ...TARGET_GRANTS]);
  await query(target(), "SET GLOBAL read_only=ON");
  try {
    expect(notOk(await check({ init: true }))).toEqual([]);
    expect(notOk(await check({ init: true }, "root", "u"))).toMatchObject([{ id: "target-read-only", level: "error" }]);
    await query(target(), "SET GLOBAL super_read_only=ON");
    expect(notOk(await check({ init: true }))).toMatchObject([
      { id: "target-read-only", remedy: "SET GLOBAL super_read_only=OFF" },
    ]);
  } finally {
    await query(target(), "SET GLOBAL super_read_only=OFF; SET GLOBAL read_only=OFF");
  }
});

test("semi-synchronous replication that is asked for has to be there", async () => {
  const [found] = notOk(await check({ init: true, semiSync: true }));
  expect(found).toMatchObject({ id: "source-semi-sync", level: "error" });
  await query(source(), found?.remedy ?? "");
  const [next] = notOk(await check({ init: true, semiSync: true }));
  expect(next).toMatchObject({
    id: "source-semi-sync",
    level: "warning",
    remedy: "SET GLOBAL rpl_semi_sync_source_enabled=ON",
  });
  await query(source(), `${next?.remedy}; SET GLOBAL rpl_semi_sync_source_timeout=1`);
  expect(notOk(await check({ init: true, semiSync: true }))).toEqual([]);
  await query(source(), "SET GLOBAL rpl_semi_sync_source_enabled=OFF; UNINSTALL PLUGIN rpl_semi_sync_source");
});

test("our own server id must be another", async () => {
  expect(notOk(await check({ init: true, serverId: source().serverId }))).toMatchObject([
    { id: "source-server-id", level: "error" },
  ]);
});

test("tables that are slow or unsafe to replicate are named", async () => {
  await query(
    source(),
    `CREATE TABLE shop.log (v INT); CREATE TABLE shop.old (id INT PRIMARY KEY) ENGINE=MyISAM;
     CREATE TABLE shop.parent (id INT PRIMARY KEY); CREATE TABLE shop.child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES shop.parent (id) ON DELETE CASCADE);
     CREATE DEFINER='ghost'@'%' TRIGGER shop.tr BEFORE INSERT ON shop.orders FOR EACH ROW SET NEW.v = 'x'`,
  );
  const found = notOk(await check({ init: true }));
  expect(found.map(({ id, where }) => [id, where])).toEqual([
    ["tables-engines", "shop.old"],
    ["tables-keys", "shop.log"],
    ["tables-definers", expect.stringContaining("source")],
  ]);
  await query(source(), `${found[0]?.remedy}; ${found[1]?.remedy}`);
  expect(notOk(await check({ init: true })).map(({ id }) => id)).toEqual(["tables-definers"]);
});

test("what the target already has must fit", async () => {
  expect(notOk(await check()).map(({ id, where }) => [id, where])).toEqual([["target-tables", "shop.orders"]]);
  await query(
    source(),
    "CREATE TABLE shop.b (id INT PRIMARY KEY, v INT, w INT); CREATE TABLE shop.c (id INT PRIMARY KEY, v VARCHAR(9) CHARACTER SET latin1); CREATE TABLE shop.d (id INT PRIMARY KEY, v INT)",
  );
  await query(
    target(),
    `CREATE DATABASE shop; CREATE TABLE shop.orders (v VARCHAR(20), id INT PRIMARY KEY); CREATE TABLE shop.b (id INT PRIMARY KEY, v INT);
     CREATE TABLE shop.c (id INT PRIMARY KEY, v VARCHAR(9) CHARACTER SET utf8mb4); CREATE TABLE shop.d (id INT PRIMARY KEY, v BIGINT);
     CREATE EVENT shop.e ON SCHEDULE EVERY 1 DAY DO DELETE FROM shop.b`,
  );
  expect(notOk(await check()).map(({ id, level, what }) => [id, level, what])).toEqual([
    ["target-events", "warning", expect.any(String)],
    ["target-columns", "error", "columns are missing on the target: w"],
    ["target-columns", "error", "character sets differ: v is latin1 on the source, utf8mb4 on the target"],
    ["target-columns", "warning", "v is int on the source, bigint on the target"],
    ["target-columns", "error", "columns stand in another order: id, v"],
  ]);
  const behind = notOk(await check({ behind: true })).filter(({ id }) => id === "target-columns");
  expect(new Set(behind.map(({ level }) => level))).toEqual(new Set(["warning"]));
  expect(behind.map(({ what }) => what).join("\n")).toContain("columns stand in another order: id, v; unless a DDL");
  expect(notOk(await check({ init: true })).find(({ id }) => id === "target-empty")).toMatchObject({ level: "error" });
});

test("a server that does not answer is a check that failed; the other one is still looked at", async () => {
  const report = await preflight({ source: { ...source().address, port: 1 }, target: target().address });
  expect(report.ok).toBe(false);
  expect(notOk(report)).toMatchObject([{ id: "source-reachable", level: "error" }]);
  expect(report.checks.some(({ id }) => id === "target-packet" || id === "target-read-only")).toBe(true);
  const denied = await preflight({
    source: source().address,
    target: { ...target().address, user: "u", password: "wrong" },
  });
  expect(notOk(denied)).toMatchObject([{ id: "target-reachable", level: "error" }]);
  expect(JSON.stringify(denied)).not.toContain("wrong");
});

test("MySQL 5.6 without a binlog, or with its statement format, is refused", () =>
  withServer(
    "mysql-5.6",
    { options: [...RELAXED.options, "--binlog-format=STATEMENT", "--gtid-mode=OFF", "--enforce-gtid-consistency=OFF"] },
    async (old) => {
      const report = await preflight({
        source: old.address,
        target: target().address,
        options: { init: true, gtid: "preserve" },
      });
      expect(notOk(report).map(({ id, level }) => [id, level])).toEqual([
        ["source-binlog-format", "error"],
        ["source-gtid", "error"],
      ]);
      await old.restart(["--skip-log-bin", "--gtid-mode=OFF"]);
      const without = await preflight({ source: old.address, target: target().address });
      expect(notOk(without)).toMatchObject([{ id: "source-binlog", level: "error" }]);
    },
  ));

test("a server that is source and target is refused, by whatever name it is reached", async () => {
  const address = as(source(), "root");
  const report = await preflight({ source: address, target: { ...address, host: "localhost" } });
  expect(report.checks).toContainEqual(
    expect.objectContaining({ id: "target-is-source", level: "error", remedy: expect.stringContaining("--target") }),
  );
  expect((await check()).checks).toContainEqual(expect.objectContaining({ id: "target-is-source", level: "ok" }));
});
