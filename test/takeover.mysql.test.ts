import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, expect, test } from "vitest";
import { literal, lockName } from "../src/apply/checkpoint.ts";
import type { EngineOptions } from "../src/engine/options.ts";
import type { SandboxServer } from "../src/sandbox/start.ts";
import { Session } from "../src/wire/session.ts";
import { beginChannel, catchUp, channelOptions, rows, run, withSession } from "./helpers/channel.ts";
import { CliProcess } from "./helpers/engine-process.ts";
import { useServer } from "./helpers/servers.ts";

const source = useServer("mysql-9.7", { serverId: 1 });
const target = useServer("mysql-9.7", { serverId: 2 });
const withoutGtids = useServer("mysql-9.7", {
  serverId: 3,
  options: ["--gtid-mode=OFF", "--enforce-gtid-consistency=OFF"],
});

beforeAll(async () => {
  for (const server of [source(), target()]) {
    await run(
      server,
      "CREATE DATABASE d",
      "CREATE TABLE d.t(id INT PRIMARY KEY, n INT)",
      "INSERT INTO d.t VALUES (1,0),(2,0),(3,0)",
      "CREATE TABLE d.slow(id INT PRIMARY KEY)",
      "INSERT INTO d.slow VALUES (1)",
    );
  }
});

const add = (id: number): string => `UPDATE d.t SET n=n+1 WHERE id=${id}`;

async function numbers(server: SandboxServer): Promise<string> {
  return (await rows(server, "SELECT n FROM d.t ORDER BY id")).join(",");
}

/** An engine that can be killed. */
function replicate({ folder, channel }: EngineOptions, ...flags: string[]): CliProcess {
  return new CliProcess([
    "replicate",
    ...(flags.some((flag) => flag.startsWith("--source=")) ? [] : [`--source=${source().url}`]),
    `--target=${target().url}`,
    `--folder=${folder}`,
    `--channel=${channel}`,
    "--skip-preflight",
    ...flags,
  ]);
}

async function until(engine: CliProcess, sql: string, expected: string): Promise<void> {
  while ((await rows(target(), sql))[0]?.[0] !== expected) {
    expect(engine.end, engine.errors).toBeUndefined();
    await sleep(30);
  }
}

/** `abreast.checkpoint` as version 0.1 made it. */
const TABLE_OF_0_1 = `CREATE TABLE abreast.checkpoint (
  channel VARCHAR(64) CHARACTER SET utf8 COLLATE utf8_bin NOT NULL,
  worker SMALLINT UNSIGNED NOT NULL,
  engine CHAR(36) CHARACTER SET ascii NOT NULL,
  transactions BIGINT UNSIGNED NOT NULL,
  source_file VARCHAR(512) CHARACTER SET utf8 COLLATE utf8_bin NOT NULL,
  source_position BIGINT UNSIGNED NOT NULL,
  gtids LONGTEXT CHARACTER SET ascii NOT NULL,
  intent TEXT CHARACTER SET utf8 NULL,
  PRIMARY KEY (channel, worker)
) ENGINE=InnoDB`;

test("a channel of version 0.1 goes on where it was, with more workers and out of order", async () => {
  const options = channelOptions(source(), target(), {
    startFrom: undefined,
    workers: 16,
    commitOrder: "relaxed",
    packTransactionsMax: 1,
  });
  const [status] = await rows(source(), "SHOW BINARY LOG STATUS");
  const [file, position, , , gtids] = status ?? [];
  await run(
    target(),
    "CREATE DATABASE abreast",
    TABLE_OF_0_1,
    `INSERT INTO abreast.checkpoint VALUES ('${options.channel}',0,'of-before',7,'${file}',${position},'${gtids?.replaceAll("\n", "")}',NULL)`,
  );
  await run(source(), ...Array.from({ length: 60 }, (_, index) => add(1 + (index % 3))));
  await catchUp(options);
  expect(await numbers(target())).toBe("20,20,20");
  await run(source(), add(1));
  await catchUp({ ...options, workers: 1, commitOrder: "preserve" });
  expect(await numbers(target())).toBe("21,20,20");
  const [last] = await rows(
    target(),
    `SELECT MAX(transactions) FROM abreast.checkpoint WHERE channel='${options.channel}'`,
  );
  expect(last).toEqual(["68"]);
});

test("a new channel that was killed before its first transaction was applied, but not its second, is known and goes on", async () => {
  const [executed] = await rows(source(), "SELECT @@GLOBAL.gtid_executed");
  const options = channelOptions(source(), target());
  const before = await numbers(target());
  await run(source(), add(1), add(2));
  await withSession(target(), async (blocker) => {
    await blocker.execute("BEGIN; SELECT * FROM d.t WHERE id=1 FOR UPDATE");
    const engine = replicate(
      options,
      `--start-from=${executed?.[0]?.replaceAll("\n", "")}`,
      "--workers=2",
      "--policy=writeset",
      "--commit-order=relaxed",
      "--pack-transactions=1",
    );
    const n = Number(before.split(",")[1]);
    await until(engine, "SELECT n FROM d.t WHERE id=2", String(n + 1));
    await engine.kill();
    await blocker.execute("ROLLBACK");
  });
  await catchUp({ ...options, startFrom: undefined });
  expect(await numbers(target())).toBe(await numbers(source()));
});

test("from a source without GTIDs, transactions that passed others are known by their number, and not applied again", async () => {
  await run(target(), "CREATE TABLE d.u(id INT PRIMARY KEY, n INT)", "INSERT INTO d.u VALUES (1,0),(2,0),(3,0)");
  await run(withoutGtids(), "CREATE DATABASE d", "CREATE TABLE d.u(id INT PRIMARY KEY, n INT)");
  await run(withoutGtids(), "INSERT INTO d.u VALUES (1,0),(2,0),(3,0)");
  const options = channelOptions(withoutGtids(), target());
  await beginChannel(options);
  const add = (id: number): string => `UPDATE d.u SET n=n+1 WHERE id=${id}`;
  await withSession(target(), async (blocker) => {
    await blocker.execute("BEGIN; SELECT * FROM d.u WHERE id=2 FOR UPDATE");
    const flags = ["--workers=16", "--policy=writeset", "--commit-order=relaxed", "--pack-transactions=1"];
    const engine = replicate(options, `--source=${withoutGtids().url}`, ...flags);
    await run(withoutGtids(), add(1), add(2), add(3), add(1), add(2), add(3));
    await until(engine, "SELECT SUM(n) FROM d.u", "4");
    await engine.kill();
    await blocker.execute("ROLLBACK");
  });
  const ahead = `SELECT ahead FROM abreast.checkpoint WHERE channel='${options.channel}' AND ahead<>''`;
  const stored = (await rows(target(), ahead)).join(",");
  expect(stored).toContain("#3");
  expect(stored).toContain("6");
  await catchUp({ ...options, startFrom: undefined, commitOrder: "relaxed", policy: "writeset", workers: 3 });
  expect(await rows(target(), "SELECT n FROM d.u ORDER BY id")).toEqual([["2"], ["2"], ["2"]]);
});

test("a DDL that a dead engine still runs is not run a second time, though it falls to another worker", async () => {
  const options = channelOptions(source(), target());
  await beginChannel(options);
  const first = literal(lockName(options.channel, 0));
  const altering = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'ALTER TABLE d.slow%'";
  const engine = replicate(options, "--workers=2");
  const holds = `SELECT IS_USED_LOCK(${first}) IS NOT NULL AND IS_USED_LOCK(${literal(lockName(options.channel, 1))}) IS NOT NULL`;
  await until(engine, holds, "1");
  await withSession(target(), async (reader) => {
    // Its metadata lock keeps the ALTER waiting.
    await reader.execute("BEGIN; SELECT * FROM d.slow");
    // The first worker loses its session, and finds that a former one is still at work: the DDL falls to the second.
    const usurper = await Session.connect(target().address);
    const [holder] = await rows(target(), `SELECT IS_USED_LOCK(${first})`);
    const usurping = usurper.execute(`SELECT GET_LOCK(${first},30); SELECT SLEEP(600)`).catch(() => {});
    await until(
      engine,
      "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT GET_LOCK%,30)%'",
      "1",
    );
    await run(target(), `KILL ${holder?.[0]}`);
    await until(engine, `SELECT IS_USED_LOCK(${first})=${usurper.connectionId}`, "1");
    await run(source(), "ALTER TABLE d.slow ADD COLUMN a INT, ADD INDEX (a)");
    await until(engine, altering, "1");
    await engine.kill();
    await run(target(), `KILL ${usurper.connectionId}`);
    await usurping;
    const second = catchUp(options);
    await sleep(700);
    expect(await rows(target(), altering)).toEqual([["1"]]);
    await reader.execute("COMMIT");
    await second;
  });
  const indexes = "SELECT COUNT(*) FROM information_schema.STATISTICS WHERE TABLE_SCHEMA='d' AND TABLE_NAME='slow'";
  expect(await rows(target(), indexes)).toEqual([["2"]]);
});
