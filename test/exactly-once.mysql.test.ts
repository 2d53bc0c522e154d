import { beforeAll, describe, expect, test } from "vitest";
import { ReplicationError } from "../src/base/error.ts";
import { Engine } from "../src/engine/engine.ts";
import { beginChannel, catchUp, channelOptions, rows, run, withSession } from "./helpers/channel.ts";
import { CliProcess } from "./helpers/engine-process.ts";
import { useServer } from "./helpers/servers.ts";

const source = useServer("mysql-9.7");
const target = useServer("mysql-9.7");

async function applied(channel: string): Promise<bigint> {
  const [first] = await rows(target(), `SELECT MAX(transactions) FROM abreast.checkpoint WHERE channel='${channel}'`);
  return BigInt(first?.[0] ?? 0);
}

beforeAll(async () => {
  for (const server of [source(), target()]) {
    await run(server, "CREATE DATABASE d", "CREATE TABLE d.t(id INT PRIMARY KEY, v INT)");
  }
});

describe("a channel on real servers", () => {
  test("a run that fails for good is applied up to the culprit, and the error names it", async () => {
    const options = channelOptions(source(), target());
    await beginChannel(options);
    await run(target(), "INSERT INTO d.t VALUES (103,-1)");
    await run(source(), ...[101, 102, 103, 104].map((id) => `INSERT INTO d.t VALUES (${id},${id})`));
    const error = await catchUp(options).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ReplicationError);
    const { code, where, message, hint } = error as ReplicationError;
    const [uuid] = await rows(source(), "SELECT @@server_uuid");
    expect(code).toBe("CONFLICT");
    expect(message).toContain("Duplicate entry '103' for key");
    expect(where.gtid).toContain(uuid?.[0]);
    expect(where.file).toMatch(/binlog\.\d+/);
    expect(where.table).toBe("d.t");
    expect(hint).toBeDefined();
    expect(await rows(target(), "SELECT id, v FROM d.t WHERE id > 100 ORDER BY id")).toEqual([
      ["101", "101"],
      ["102", "102"],
      ["103", "-1"],
    ]);
    expect(await applied(options.channel)).toBe(2n);

    await run(target(), "DELETE FROM d.t WHERE id=103");
    await catchUp(options);
    expect(await rows(target(), "SELECT COUNT(*), SUM(v) FROM d.t WHERE id > 100")).toEqual([["4", "410"]]);
    expect(await applied(options.channel)).toBe(4n);
  });

  test("a second engine on the same channel is refused, and one that lost the channel writes nothing more", async () => {
    const options = channelOptions(source(), target());
    await beginChannel(options);
    const first = await Engine.start(options);
    const ended = first.done.catch((caught: unknown) => caught);
    await expect(Engine.start({ ...options, folder: `${options.folder}/other` })).rejects.toMatchObject({
      code: "FENCED",
    });
    // As if another engine had taken the channel over while this one could not see the target.
    await run(target(), `UPDATE abreast.checkpoint SET engine='somebody else' WHERE channel='${options.channel}'`);
    await run(source(), "INSERT INTO d.t VALUES (201,1)");
    expect(await ended).toMatchObject({ code: "FENCED" });
    expect(await rows(target(), "SELECT COUNT(*) FROM d.t WHERE id=201")).toEqual([["0"]]);
    await catchUp(options);
    expect(await rows(target(), "SELECT COUNT(*) FROM d.t WHERE id=201")).toEqual([["1"]]);
  }, 60_000);

  test("a deadlock or lock wait on the target is tried again, and counted", async () => {
    const options = channelOptions(source(), target());
    await run(source(), "INSERT INTO d.t VALUES (301,1)");
    await run(target(), "INSERT INTO d.t VALUES (301,1)", "SET GLOBAL innodb_lock_wait_timeout=1");
    await beginChannel(options);
    const engine = await Engine.start(options);
    await withSession(target(), async (blocker) => {
      await blocker.execute("BEGIN; UPDATE d.t SET v=5 WHERE id=301");
      await run(source(), "UPDATE d.t SET v=2 WHERE id=301");
      while (engine.status().applied.retries === 0) await new Promise((resolve) => setTimeout(resolve, 50));
      await blocker.execute("ROLLBACK");
    });
    await run(target(), "SET GLOBAL innodb_lock_wait_timeout=DEFAULT");
    await engine.stop();
    await catchUp(options);
    expect(await rows(target(), "SELECT v FROM d.t WHERE id=301")).toEqual([["2"]]);
  });

  test("a connection that is killed at any time loses and repeats nothing", async () => {
    const options = channelOptions(source(), target());
    await beginChannel(options);
    const engine = await Engine.start(options);
    let id = 400;
    for (let round = 0; round < 8; round++) {
      for (let n = 0; n < 10; n++) await run(source(), `INSERT INTO d.t VALUES (${++id},1)`);
      const sessions = await rows(
        target(),
        "SELECT ID FROM information_schema.PROCESSLIST WHERE ID<>CONNECTION_ID() AND USER='root'",
      );
      for (const [session] of sessions) await run(target(), `KILL ${session}`).catch(() => {});
    }
    await engine.stop();
    await catchUp(options);
    expect(await rows(target(), "SELECT COUNT(*), COUNT(DISTINCT id) FROM d.t WHERE id > 400")).toEqual([["80", "80"]]);
    expect(await applied(options.channel)).toBe(80n);
  });

  test("tables without transactions are replicated into a target that enforces GTID consistency", async () => {
    const create = "CREATE TABLE d.plain(id INT PRIMARY KEY, v INT) ENGINE=MyISAM";
    for (const server of [source(), target()]) await run(server, create);
    const options = channelOptions(source(), target());
    await beginChannel(options);
    await run(
      source(),
      "INSERT INTO d.plain VALUES (1,1),(2,2)",
      "UPDATE d.plain SET v=7 WHERE id=1",
      "INSERT INTO d.t VALUES (360,1)",
    );
    await catchUp(options);
    expect(await rows(target(), "SELECT id, v FROM d.plain ORDER BY id")).toEqual([
      ["1", "7"],
      ["2", "2"],
    ]);
    expect(await applied(options.channel)).toBe(3n);
  });

  test("a wrong start point can be corrected, a good one is kept", async () => {
    const options = channelOptions(source(), target(), { startFrom: "binlog.000777:4" });
    const wrong = await Engine.start(options);
    await expect(wrong.done).rejects.toMatchObject({ code: "POSITION_NOT_FOUND" });
    const [status] = await rows(source(), "SHOW BINARY LOG STATUS");
    await run(source(), "INSERT INTO d.t VALUES (370,1)");
    await catchUp({ ...options, startFrom: `${status?.[0]}:${status?.[1]}` });
    expect(await rows(target(), "SELECT COUNT(*) FROM d.t WHERE id=370")).toEqual([["1"]]);
    await run(source(), "INSERT INTO d.t VALUES (371,1)");
    await catchUp({ ...options, startFrom: undefined });
    expect(await rows(target(), "SELECT COUNT(*) FROM d.t WHERE id IN (370, 371)")).toEqual([["2"]]);
  });

  test("connections killed while one run follows the other lose and repeat nothing", async () => {
    const options = channelOptions(source(), target(), { packTransactionsMax: 5 });
    await run(source(), "CREATE TABLE d.total(id INT PRIMARY KEY, n INT); INSERT INTO d.total VALUES (1,0)");
    await run(target(), "CREATE TABLE d.total(id INT PRIMARY KEY, n INT); INSERT INTO d.total VALUES (1,0)");
    await beginChannel(options);
    await run(source(), ...Array.from({ length: 1_000 }, () => "UPDATE d.total SET n=n+1 WHERE id=1"));
    const engine = await Engine.start({ ...options, until: "now" });
    const done = engine.done.then(() => true);
    const sessions =
      "SELECT ID FROM information_schema.PROCESSLIST WHERE USER='root' AND COMMAND='Query' AND ID<>CONNECTION_ID()";
    for (let kills = 0; !(await Promise.race([done, new Promise((resolve) => setTimeout(resolve, 20 * kills))]));) {
      for (const [session] of await rows(target(), sessions)) {
        kills++;
        await run(target(), `KILL ${session}`).catch(() => {});
      }
    }
    expect(engine.status().applied.retries).toBeGreaterThan(0);
    expect(await rows(target(), "SELECT n FROM d.total")).toEqual([["1000"]]);
    expect(await applied(options.channel)).toBe(1000n);
  });

  test("the lag is the age of what waits longest, and zero when nothing waits", async () => {
    const options = channelOptions(source(), target());
    await beginChannel(options);
    const engine = await Engine.start(options);
    await engine.pauseAt();
    await run(source(), "INSERT INTO d.t VALUES (350,1)");
    const insertedAtMs = Date.now();
    while ((engine.status().lagMs ?? 0) < 500) {
      expect(Date.now() - insertedAtMs).toBeLessThan(30_000);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(Date.now() - insertedAtMs).toBeGreaterThan(450);
    engine.resume();
    while (engine.status().lagMs !== 0) await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await rows(target(), "SELECT COUNT(*) FROM d.t WHERE id=350")).toEqual([["1"]]);
    await engine.stop();
  });

  test("with preserved GTIDs the target's executed set is the source's, transaction by transaction", async () => {
    const executed = async (server: () => ReturnType<typeof source>): Promise<string> =>
      (await rows(server(), "SELECT @@GLOBAL.gtid_executed"))[0]?.[0]?.replaceAll("\n", "") ?? "";
    const [uuid] = (await rows(source(), "SELECT @@server_uuid"))[0] ?? [];
    const ofSource = (set: string): string => set.split(",").find((part) => part.startsWith(String(uuid))) ?? "";
    await run(target(), "RESET BINARY LOGS AND GTIDS", `SET GLOBAL gtid_purged='${await executed(source)}'`);
    const options = channelOptions(source(), target(), { gtid: "preserve", startFrom: undefined });
    await run(
      source(),
      "INSERT INTO d.t VALUES (501,1)",
      "ALTER TABLE d.t ADD COLUMN w INT",
      "UPDATE d.t SET w=7 WHERE id=501",
    );
    await run(source(), "SET GTID_NEXT='AUTOMATIC:tag'; INSERT INTO d.t VALUES (502,2,2)");
    await catchUp(options);
    expect(ofSource(await executed(target))).toBe(ofSource(await executed(source)));
    expect(await rows(target(), "SELECT id, v, w FROM d.t WHERE id > 500 ORDER BY id")).toEqual([
      ["501", "1", "7"],
      ["502", "2", "2"],
    ]);
    await catchUp(options);
    expect(ofSource(await executed(target))).toBe(ofSource(await executed(source)));
  });
});

describe("what a dead engine left on the target", () => {
  test("a DDL that is still running is waited for, and not run again", async () => {
    const options = channelOptions(source(), target());
    await run(source(), "CREATE TABLE d.slow(id INT PRIMARY KEY)");
    await run(target(), "CREATE TABLE d.slow(id INT PRIMARY KEY); INSERT INTO d.slow VALUES (1)");
    await beginChannel(options);
    await run(source(), "ALTER TABLE d.slow ADD COLUMN a INT, ADD INDEX (a)");
    await withSession(target(), async (reader) => {
      // Its metadata lock keeps the ALTER waiting.
      await reader.execute("BEGIN; SELECT * FROM d.slow");
      const engine = new CliProcess([
        "replicate",
        `--source=${source().url}`,
        `--target=${target().url}`,
        `--folder=${options.folder}`,
        `--channel=${options.channel}`,
        "--skip-preflight",
      ]);
      const altering = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'ALTER TABLE d.slow%'";
      while ((await rows(target(), altering))[0]?.[0] !== "1") {
        expect(engine.end, engine.errors).toBeUndefined();
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      await engine.kill();
      const second = catchUp(options);
      await new Promise((resolve) => setTimeout(resolve, 500));
      expect(await rows(target(), altering)).toEqual([["1"]]);
      await reader.execute("COMMIT");
      await second;
    });
    const indexes = "SELECT COUNT(*) FROM information_schema.STATISTICS WHERE TABLE_SCHEMA='d' AND TABLE_NAME='slow'";
    expect(await rows(target(), indexes)).toEqual([["2"]]);
    expect(await applied(options.channel)).toBe(1n);
  });
});

describe("a replica that is caught up", () => {
  test("commits each transaction by itself and tells how long that takes; behind a backlog it packs", async () => {
    const options = channelOptions(source(), target());
    await run(source(), "CREATE TABLE d.latency(id INT PRIMARY KEY, v INT)", "INSERT INTO d.latency VALUES (1,0)");
    await run(target(), "CREATE TABLE d.latency(id INT PRIMARY KEY, v INT)", "INSERT INTO d.latency VALUES (1,0)");
    await beginChannel(options);
    const engine = await Engine.start(options);
    const value = async (): Promise<string | null | undefined> =>
      (await rows(target(), "SELECT v FROM d.latency"))[0]?.[0];
    for (let v = 1; v <= 20; v++) {
      await run(source(), `UPDATE d.latency SET v=${v}`);
      await expect.poll(value, { interval: 5, timeout: 20_000 }).toBe(String(v));
    }
    const { applied } = engine.status();
    expect(applied.transactions).toBe(20);
    expect(applied.runs).toBe(20);
    expect(applied.latencyMs).toBeGreaterThan(0);
    await engine.stop();

    await run(source(), ...Array.from({ length: 300 }, (_, v) => `UPDATE d.latency SET v=${v}`));
    const behind = (await catchUp(options)).status().applied;
    expect(behind.transactions).toBe(300);
    expect(behind.runs).toBeLessThan(150);
  });
});
