import { beforeEach, expect, test } from "vitest";
import { query, useServer, withServer } from "../../test/helpers/servers.ts";
import type { SandboxServer } from "../sandbox/start.ts";
import { preflight } from "./preflight.ts";
import type { Check, PreflightOptions, PreflightReport } from "./report.ts";

const RELAXED = { options: ["--sync-binlog=0", "--innodb-flush-log-at-trx-commit=2"] };
const source = useServer("mariadb-10.11", RELAXED);
const target = useServer("mariadb-10.11", RELAXED);

const SOURCE_GRANTS = [
  "SELECT",
  "REPLICATION SLAVE",
  "BINLOG MONITOR",
  "SLAVE MONITOR",
  "RELOAD",
  "SHOW VIEW",
  "TRIGGER",
  "EVENT",
];
const TARGET_GRANTS = [
  "SELECT, INSERT, UPDATE, DELETE, SLAVE MONITOR, PROCESS",
  "BINLOG REPLAY",
  "BINLOG ADMIN",
  "CREATE, DROP, ALTER, INDEX, REFERENCES, CREATE VIEW, CREATE ROUTINE, ALTER ROUTINE, TRIGGER, EVENT, CREATE TEMPORARY TABLES",
];

beforeEach(async () => {
  for (const server of [source(), target()]) {
    await query(server, "DROP DATABASE IF EXISTS shop; DROP USER IF EXISTS u; CREATE USER u IDENTIFIED BY 'secret'");
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

test("two fresh servers with a plain table are safe, for root and for users with just what is needed", async () => {
  expect(notOk(await check({ init: true }))).toEqual([]);
  await grant(source(), SOURCE_GRANTS);
  await grant(target(), TARGET_GRANTS);
  expect(notOk(await check({ init: true }, "u", "u"))).toEqual([]);
});

test.each<[missing: string, id: string, level: string]>([
  ["SELECT", "source-grant-select", "warning"],
  ["REPLICATION SLAVE", "source-grant-stream", "error"],
  ["BINLOG MONITOR", "source-grant-position", "error"],
  ["RELOAD", "source-grant-lock", "warning"],
  ["SHOW VIEW", "source-grant-show-view", "error"],
  ["TRIGGER", "source-grant-trigger", "error"],
  ["EVENT", "source-grant-event", "error"],
])("without %s on the source it says so, and its remedy is the cure", async (missing, id, level) => {
  await grant(
    source(),
    SOURCE_GRANTS.filter((privilege) => privilege !== missing),
  );
  const found = notOk(await check({ init: true }, "u")).filter((finding) => finding.id === id);
  expect(found).toMatchObject([{ level, remedy: `GRANT ${missing} ON *.* TO 'u'@'%'` }]);
  await query(source(), found[0]?.remedy ?? "");
  expect(notOk(await check({ init: true }, "u"))).toEqual([]);
});

test.each<[missing: number, ids: string[]]>([
  [0, ["target-grant-checkpoint", "target-grant-tables"]],
  [1, ["target-grant-session"]],
  [2, ["target-grant-annotate"]],
])("without the part %i of the target's grants, its remedies are the cure", async (missing, ids) => {
  await grant(
    target(),
    TARGET_GRANTS.filter((_, index) => index !== missing),
  );
  const found = notOk(await check({}, "root", "u")).filter(({ level }) => level === "error");
  expect(found.map(({ id }) => id)).toEqual(ids);
  for (const { remedy } of found) await query(target(), remedy ?? "");
  expect((await check({}, "root", "u")).ok).toBe(true);
});

test("a role's grants count when it is active", async () => {
  await query(source(), "CREATE ROLE IF NOT EXISTS copier");
  for (const privilege of SOURCE_GRANTS) await query(source(), `GRANT ${privilege} ON *.* TO copier`);
  await query(source(), "GRANT copier TO u; SET DEFAULT ROLE copier FOR u");
  expect(notOk(await check({ init: true }, "u"))).toEqual([]);
  await query(source(), "DROP ROLE copier");
});

test("types, collations and GTIDs that do not cross to MySQL are named", () =>
  withServer("mysql-9.7", RELAXED, async (mysql) => {
    await query(
      source(),
      "CREATE TABLE shop.u (id UUID PRIMARY KEY, a INET6); CREATE TABLE shop.c (id INT PRIMARY KEY, v VARCHAR(9) COLLATE utf8mb4_unicode_nopad_ci)",
    );
    const report = await preflight({
      source: source().address,
      target: mysql.address,
      options: { init: true, gtid: "preserve" },
    });
    expect(notOk(report).map(({ id, level, where }) => [id, level, where])).toEqual([
      ["tables-collations", "warning", "shop.c"],
      ["tables-types", "error", "shop.u.id, shop.u.a"],
      ["target-gtid", "error", expect.stringContaining("target")],
      ["target-flavour", "warning", expect.stringContaining("target")],
    ]);
    await query(mysql, "CREATE DATABASE m; CREATE TABLE m.j (id INT PRIMARY KEY, j JSON)");
    const back = await preflight({ source: mysql.address, target: target().address, options: { init: true } });
    expect(notOk(back).filter(({ level }) => level === "error")).toMatchObject([
      { id: "tables-types", where: "m.j.j" },
    ]);
  }));

test("a server that is source and target is refused, by whatever name it is reached", async () => {
  const address = as(source(), "root");
  const report = await preflight({ source: address, target: { ...address, host: "localhost" } });
  expect(report.checks).toContainEqual(
    expect.objectContaining({ id: "target-is-source", level: "error", remedy: expect.stringContaining("--target") }),
  );
  expect((await check()).checks).toContainEqual(expect.objectContaining({ id: "target-is-source", level: "ok" }));
});
