import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { ResultSetHeader, RowDataPacket } from "mysql2/promise";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { EngineStatus, WorkerStatus } from "../src/engine/status.ts";
import { ControlClient } from "../src/http/client.ts";
import type { SandboxServer } from "../src/sandbox/start.ts";
import type { SourcePosition } from "../src/transaction/transaction.ts";
import { CliProcess, type ProcessEnd } from "./helpers/engine-process.ts";
import { query, useServer, withConnection } from "./helpers/servers.ts";

/** What a user sees of `replicate` and of the commands that talk to it, in processes of their own. */

const source = useServer("mysql-9.7");
const target = useServer("mysql-9.7");
const folder = mkdtempSync(path.join(tmpdir(), "abreast-cli-"));
const running: CliProcess[] = [];

beforeAll(async () => {
  // Builds what is not built, so that no later command says that it does.
  expect((await run("--version")).end).toBe(0);
  for (const server of [source(), target()]) {
    await query(server, "CREATE DATABASE shop; CREATE TABLE shop.orders(id INT PRIMARY KEY, note VARCHAR(20))");
    await query(
      server,
      "CREATE TABLE shop.items(id INT AUTO_INCREMENT PRIMARY KEY, writer INT UNIQUE, n INT NOT NULL)",
    );
  }
});

afterEach(async () => {
  for (const cli of running.splice(0)) await cli.kill();
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function start(...args: string[]): CliProcess {
  const cli = new CliProcess(args);
  running.push(cli);
  return cli;
}

async function run(...args: string[]): Promise<{ end: ProcessEnd; output: string; errors: string }> {
  const cli = start(...args);
  const end = await cli.ended;
  return { end, output: cli.output, errors: cli.errors };
}

function replicateArguments(...more: string[]): string[] {
  return ["replicate", "--source", source().url, "--target", target().url, "--folder", folder, ...more];
}

/** An engine of the default channel, once it applies. */
async function startEngine(...more: string[]): Promise<CliProcess> {
  const engine = start(...replicateArguments(...more));
  await statusWhere((status) => status.state === "running" && status.receiver.state.startsWith("Waiting"), engine);
  return engine;
}

/** Asks until the answer fits; an engine that ended meanwhile will never give it. */
async function statusWhere(fits: (status: EngineStatus) => boolean, engine: CliProcess): Promise<EngineStatus> {
  const client = new ControlClient(folder);
  for (;;) {
    const status = await client.status().catch(() => undefined);
    if (status !== undefined && fits(status)) return status;
    if (engine.end !== undefined) throw new Error(`the engine ended with ${engine.end}:\n${engine.errors}`);
    await sleep(20);
  }
}

/** Where the source's binlog ends now. */
async function sourcePlace(): Promise<SourcePosition> {
  const [now] = await query<RowDataPacket[]>(source(), "SHOW BINARY LOG STATUS");
  return { file: String(now?.["File"]), position: Number(now?.["Position"]) };
}

function placeText({ file, position }: SourcePosition): string {
  return `${file}:${position}`;
}

/** Applied is received, and received is at least as far as the source is now. */
async function caughtUp(engine: CliProcess): Promise<void> {
  const place = await sourcePlace();
  await statusWhere(
    ({ applied: { position } }) => position?.file === place.file && position.position >= place.position,
    engine,
  );
}

let lastId = 0;

function insertOrder(): Promise<unknown> {
  lastId += 1;
  return query(source(), `INSERT INTO shop.orders VALUES (${lastId}, 'order')`);
}

async function countOn(server: SandboxServer): Promise<number> {
  const [row] = await query<RowDataPacket[]>(server, "SELECT COUNT(*) AS n FROM shop.orders");
  return Number(row?.["n"]);
}

describe("a running engine", () => {
  test("follows, tells its status, pauses, resumes and stops", async () => {
    const engine = await startEngine("--start-from", "now");
    await insertOrder();
    await caughtUp(engine);
    expect(await countOn(target())).toBe(1);

    const shown = await run("status", "--folder", folder);
    expect(shown).toMatchObject({ end: 0, errors: "" });
    expect(shown.output).toMatch(/Replica_IO_Running: Yes\n +Replica_SQL_Running: Yes/);

    expect(await run("pause", "--folder", folder)).toMatchObject({
      end: 0,
      output: expect.stringMatching(/^paused, /),
    });
    await insertOrder();
    const paused = await statusWhere((status) => status.receiver.transactions === 2, engine);
    expect(paused).toMatchObject({ state: "paused", applied: { transactions: 1 } });
    expect(await countOn(target())).toBe(1);

    expect(await run("resume", "--folder", folder)).toMatchObject({ end: 0 });
    await caughtUp(engine);
    expect(await countOn(target())).toBe(2);

    expect(await run("stop", "--folder", folder)).toMatchObject({
      end: 0,
      output: expect.stringMatching(/^stopped, /),
    });
    expect(await engine.ended).toBe(0);
    expect(engine.output).toContain("2 transactions, 2 rows");
    expect(await run("status", "--folder", folder)).toMatchObject({
      end: 3,
      output: expect.stringMatching(/Engine: stopped at 20.* after /),
      errors: expect.stringMatching(/^NOT_RUNNING: no engine runs in .*\n {2}Try: /),
    });
  });

  test("pauses exactly at a place that is given, and refuses one that is behind", async () => {
    const engine = await startEngine();
    const start = await sourcePlace();
    await run("pause", "--folder", folder);
    const before = await countOn(target());
    await insertOrder();
    const middle = await sourcePlace();
    await insertOrder();

    const there = await run("pause", "--folder", folder, "--at", placeText(middle));
    expect(there).toMatchObject({ end: 0, output: expect.stringContaining(placeText(middle)) });
    expect(await countOn(target())).toBe(before + 1);

    const behind = await run("pause", "--folder", folder, "--at", placeText(start));
    expect(behind).toMatchObject({ end: 2, errors: expect.stringContaining("already beyond this position") });
    await run("resume", "--folder", folder);
    await caughtUp(engine);
    expect(await countOn(target())).toBe(before + 2);
  });

  test("is caught up with an idle source that began a new binlog file, and pauses there", async () => {
    const engine = await startEngine();
    await insertOrder();
    await query(source(), "FLUSH BINARY LOGS");
    const start = await sourcePlace();
    expect(await run("pause", "--folder", folder, "--at", placeText(start))).toMatchObject({
      end: 0,
      output: expect.stringContaining(placeText(start)),
    });
    expect(await countOn(target())).toBe(await countOn(source()));
    await run("resume", "--folder", folder);
    await statusWhere(({ lagMs, backlogBytes }) => lagMs === 0 && backlogBytes === 0, engine);
  });

  test("is held for a comparison, and let go", async () => {
    const engine = await startEngine();
    await insertOrder();
    const compared = await run("verify", "--source", source().url, "--target", target().url, "--folder", folder);
    expect(compared).toMatchObject({ end: 0, errors: "" });
    expect(await new ControlClient(folder).status()).toMatchObject({ state: "running" });
    await insertOrder();
    await caughtUp(engine);
    await query(target(), "DELETE FROM shop.orders LIMIT 1");
    const differing = await run("verify", "--source", source().url, "--target", target().url, "--folder", folder);
    expect(differing).toMatchObject({ end: 1, output: expect.stringContaining("shop.orders differs") });
    await query(target(), "INSERT INTO shop.orders SELECT 1, 'order'");
  });

  test("that cannot apply is waited for by a comparison, which says so, ends at the first signal or in time, and lets go", async () => {
    const engine = await startEngine();
    const args = ["verify", "--source", source().url, "--target", target().url, "--folder", folder];
    await withConnection(target(), async (connection) => {
      await connection.query("LOCK TABLES shop.orders WRITE");
      await insertOrder();
      await statusWhere(({ workers }) => workers.some((worker) => worker.rowsTotal === 1), engine);

      const late = await run(...args, "--wait", "1s");
      expect(late).toMatchObject({ end: 3, errors: expect.stringMatching(/^NOT_REACHED: .* within 1 s\n {2}Try: /) });

      const stopped = start(...args);
      while (!stopped.errors.includes("waiting for the engine")) await sleep(20);
      stopped.signal("SIGTERM");
      expect(await stopped.ended).toBe(3);
      expect(stopped.errors).toMatch(/waiting for the engine to finish what it applies, lag .*\nSTOPPED: /);
    });
    await insertOrder();
    await caughtUp(engine);
    expect(await new ControlClient(folder).status()).toMatchObject({ state: "running" });
    expect(await countOn(target())).toBe(await countOn(source()));
  });

  test("says that its target is away, and why, until it commits there again", async () => {
    const engine = await startEngine();
    await target().kill();
    await statusWhere(({ applied }) => applied.lastError?.includes("ECONNREFUSED") === true, engine);
    const { output } = await run("status", "--folder", folder);
    expect(output).toMatch(/Replica_SQL_Running: Connecting\n[^]*Last_SQL_Error: [^]*ECONNREFUSED/);
    await target().restart();
    await insertOrder();
    await caughtUp(engine);
    expect((await new ControlClient(folder).status()).applied.lastError).toBeUndefined();
  });

  test("ends cleanly at Ctrl-C, and goes on where it was", async () => {
    const engine = await startEngine();
    await insertOrder();
    expect(await engine.interrupt()).toBe(0);
    expect(engine.errors).toContain("SIGINT: ending cleanly");

    const next = await startEngine();
    await caughtUp(next);
    expect(await countOn(target())).toBe(await countOn(source()));
  });

  test("ends at once at the second Ctrl-C, with code 3, and nothing is lost or repeated", async () => {
    const engine = await startEngine();
    await withConnection(target(), async (connection) => {
      await connection.query("LOCK TABLES shop.orders WRITE");
      await insertOrder();
      await statusWhere(({ workers }) => workers.some((worker) => worker.rowsTotal === 1), engine);
      engine.signal("SIGINT");
      await statusOf(engine, "stopping");
      engine.signal("SIGINT");
      expect(await engine.ended).toBe(3);
    });
    const next = await startEngine();
    await caughtUp(next);
    expect(await countOn(target())).toBe(await countOn(source()));
  });

  test("that was killed leaves no trace that keeps the next from starting", async () => {
    const engine = await startEngine();
    await insertOrder();
    await engine.kill();
    // Of the one before it is known how it ended, of this one nothing.
    expect(await run("status", "--folder", folder)).toMatchObject({ end: 3, output: "" });
    const next = await startEngine();
    await caughtUp(next);
    expect(await countOn(target())).toBe(await countOn(source()));
  });

  test("is alone in its folder", async () => {
    await startEngine();
    expect(await run(...replicateArguments())).toMatchObject({
      end: 3,
      errors: expect.stringContaining("FENCED: another engine runs in"),
    });
  });

  test("goes on when nobody reads its output any more", async () => {
    const engine = await startEngine("--json");
    engine.closeOutput();
    await insertOrder();
    await caughtUp(engine);
    expect(await countOn(target())).toBe(await countOn(source()));
    // Its last status meets a closed pipe.
    expect(await engine.interrupt()).toBe(0);
  });

  test("stops by itself at --until, and tells its last status as JSON", async () => {
    await insertOrder();
    const { end, output } = await run(...replicateArguments("--until", "now", "--json"));
    expect(end).toBe(0);
    const last = JSON.parse(output.trimEnd().split("\n").at(-1) ?? "") as EngineStatus;
    expect(last).toMatchObject({ state: "stopped", channel: "default" });
    expect(await countOn(target())).toBe(await countOn(source()));
  });
});

test("what the preflight finds unsafe keeps the engine from starting, with code 1", async () => {
  const { end, output, errors } = await run(...replicateArguments("--server-id", String(source().serverId)));
  expect({ end, output }).toEqual({ end: 1, output: "" });
  expect(errors).toMatch(/^PREFLIGHT: 1 check of the preflight failed: \S+\n {2}Try: abreast preflight /m);
  expect(errors).toMatch(/replicating root@127.0.0.1:\d+ to root@127.0.0.1:\d+, channel default, folder \//);

  const status = await run("status", "--folder", folder);
  expect(status).toMatchObject({ end: 1, errors: expect.stringMatching(/^the engine failed .* ago\n$/) });
  expect(status.output).toMatch(/Engine: failed at [^]*Last_Error: PREFLIGHT: 1 check/);
  expect(statSync(path.join(folder, "last-status.json")).mode & 0o777).toBe(0o600);
});

test("preflight takes the command line of replicate", async () => {
  const [, ...line] = replicateArguments(
    "--channel",
    "east",
    "--start-from",
    "now",
    "--workers",
    "2",
    "--until",
    "now",
  );
  const args = [...line, "--pack-time", "1s", "--skip-preflight", "--no-init", "--log-format", "json"];
  expect(await run("preflight", ...args)).toMatchObject({ end: 0, errors: "" });
  const { output } = await run("preflight", "--help");
  expect(output).toContain("--start-from");
  expect(output).not.toContain("--pack-time");
});

describe("the number of workers", () => {
  test("changes from 1 to 8 to 2 under load, which the status shows, and nothing is lost or repeated", async () => {
    const engine = await startEngine("--start-from", "now", "--workers", "1");
    const load = new Load(source(), 4);
    try {
      await applyMore(engine);
      expect((await new ControlClient(folder).status()).workers).toHaveLength(1);

      expect(await run("workers", "8", "--folder", folder)).toMatchObject({
        end: 0,
        output: "applying with 8 workers (was 1)\n",
        errors: "",
      });
      const isAtWork = ({ committedTransactions }: WorkerStatus): boolean => committedTransactions > 0;
      await statusWhere(({ workers }) => workers.length === 8 && workers.filter(isAtWork).length > 1, engine);
      await applyMore(engine);
      const shown = await run("status", "--folder", folder);
      expect(shown.output).toMatch(/ Workers: 8 wanted, \d/);
      expect(shown.output.match(/^\| worker [0-7] /gm)).toHaveLength(8);

      const fewer = await run("workers", "2", "--folder", folder, "--json");
      expect(JSON.parse(fewer.output)).toMatchObject({ wantedWorkers: 2, formerlyWanted: 8 });
      await statusWhere(({ workers }) => workers.length === 2, engine);
      await applyMore(engine);
    } finally {
      await load.end();
    }
    await caughtUp(engine);
    expect((await run("workers", "--folder", folder)).output).toMatch(/^2 wanted, [^]*\| worker 1 [^]*$/);
    expect(await itemsOn(target())).toEqual(await itemsOn(source()));
    expect((await itemsOn(source())).rows).toBeGreaterThan(0);

    const next = await restart(engine);
    await caughtUp(next);
    expect(await itemsOn(target())).toEqual(await itemsOn(source()));
  }, 180_000);

  test("is refused when it is none, and when nobody is there to hear it", async () => {
    await startEngine("--start-from", "now");
    for (const count of ["0", "257", "many", "2.5"]) {
      expect(await run("workers", count, "--folder", folder)).toEqual({
        end: 2,
        output: "",
        errors: `CONFIG: "${count}" is no number of workers\n  Try: give a whole number from 1 to 256\n`,
      });
    }
    expect(await new ControlClient(folder).status()).toMatchObject({ wantedWorkers: 4 });
    expect(await run("workers", "2", "--folder", path.join(folder, "nobody"))).toMatchObject({
      end: 3,
      errors: expect.stringMatching(/^NOT_RUNNING: no engine runs in /),
    });
  });

  async function applyMore(engine: CliProcess): Promise<void> {
    const before = (await new ControlClient(folder).status()).applied.transactions;
    await statusWhere(({ applied }) => applied.transactions > before + 200, engine);
  }

  async function restart(engine: CliProcess): Promise<CliProcess> {
    await engine.kill();
    return startEngine("--workers", "3");
  }

  async function itemsOn(server: SandboxServer): Promise<{ rows: number; sum: string }> {
    const [row] = await query<RowDataPacket[]>(
      server,
      "SELECT COUNT(*) AS n, COALESCE(SUM(id * 7 + COALESCE(writer, 0) * 3 + n), 0) AS total FROM shop.items",
    );
    return { rows: Number(row?.["n"]), sum: String(row?.["total"]) };
  }
});

/** Sessions that insert, change and delete rows of shop.items until they are told to end: some of it conflicts, most does not. */
class Load {
  #ending = false;
  readonly #sessions: Promise<void>[];

  constructor(server: SandboxServer, sessions: number) {
    this.#sessions = Array.from({ length: sessions }, (_, writer) => this.#write(server, writer));
  }

  async end(): Promise<void> {
    this.#ending = true;
    await Promise.all(this.#sessions);
  }

  #write(server: SandboxServer, writer: number): Promise<void> {
    return withConnection(server, async (connection) => {
      await connection.query(`INSERT INTO shop.items(writer, n) VALUES (${writer}, 0)`);
      for (let n = 1; !this.#ending; n++) {
        const [{ insertId }] = await connection.query<ResultSetHeader>(
          `INSERT INTO shop.items(n) VALUES (${n}), (${n})`,
        );
        await connection.query(`UPDATE shop.items SET n = n + 1 WHERE writer = ${writer}`);
        if (n % 5 === 0) await connection.query(`UPDATE shop.items SET n = ${n} WHERE writer = ${(writer + 1) % 2}`);
        if (n % 3 === 0) await connection.query(`DELETE FROM shop.items WHERE id = ${insertId}`);
      }
    });
  }
}

test("a transaction that --skip names by its place is passed over, once, and said to be", async () => {
  await caughtUp(await startEngine("--start-from", "now", "--skip", placeText(await sourcePlace())));
  await insertOrder();
  await insertOrder();
  const engine = running.at(-1);
  if (engine === undefined) throw new Error("no engine was started");
  await caughtUp(engine);
  expect(await countOn(target())).toBe((await countOn(source())) - 1);
  expect((await run("status", "--folder", folder)).output).toContain("Passed_Over: 1 transaction named by --skip\n");
  expect(await engine.interrupt()).toBe(0);
  expect(engine.output).toContain("  1 transaction passed over\n");
  await query(target(), `INSERT INTO shop.orders VALUES (${lastId - 1}, 'order')`);
});

test("a row that is missing stops the engine, which names it; --on-conflict overwrite brings it, and says how often it did", async () => {
  const engine = await startEngine("--start-from", "now");
  await insertOrder();
  await caughtUp(engine);
  await query(target(), `DELETE FROM shop.orders WHERE id = ${lastId}`);
  await query(source(), `UPDATE shop.orders SET note = 'changed' WHERE id = ${lastId}`);
  expect(await engine.ended).toBe(3);
  expect(engine.errors).toMatch(new RegExp(`CONFLICT: .*shop\\.orders.*id=${lastId}`));
  const failed = await run("status", "--folder", folder);
  expect(failed).toMatchObject({ end: 1, output: expect.stringMatching(/ Last_Error: CONFLICT: /) });

  const next = await startEngine("--on-conflict", "overwrite");
  await caughtUp(next);
  const [row] = await query<RowDataPacket[]>(target(), `SELECT note FROM shop.orders WHERE id = ${lastId}`);
  expect(row).toEqual({ note: "changed" });
  expect((await run("status", "--folder", folder)).output).toMatch(/ Conflicts: 1 row overwritten\n/);
});

describe("--init", () => {
  const empty = useServer("mysql-9.7");

  test("copies into an empty target, follows from there, and may be given again", async () => {
    const args = [
      "replicate",
      "--source",
      source().url,
      "--target",
      empty().url,
      "--folder",
      path.join(folder, "init"),
    ];
    await insertOrder();
    const first = await run(...args, "--init", "--until", "now");
    expect(first).toMatchObject({ end: 0, errors: expect.stringContaining("the initial copy is complete") });
    expect(await countOn(empty())).toBe(await countOn(source()));
    await insertOrder();
    const second = await run(...args, "--init", "--until", "now");
    expect(second).toMatchObject({ end: 0, errors: expect.not.stringContaining("initial copy") });
    expect(await countOn(empty())).toBe(await countOn(source()));
  });

  test("refuses a target that has tables already", async () => {
    const { end, errors } = await run(...replicateArguments("--channel", "another", "--init"));
    expect({ end, errors }).toMatchObject({ end: 3, errors: expect.stringMatching(/NOT_EMPTY: .*\n[^]* {2}Try: /) });
  });
});

async function statusOf(engine: CliProcess, state: EngineStatus["state"]): Promise<void> {
  await statusWhere((status) => status.state === state, engine);
}

describe("a password", () => {
  const PASSWORD = "pa55-of-nobody";

  test("is in no message when it is wrong", async () => {
    const wrong = target().url.replace("root@", `root:${PASSWORD}@`);
    const { end, output, errors } = await run(
      "replicate",
      "--source",
      source().url,
      "--target",
      wrong,
      "--folder",
      folder,
    );
    expect(end).toBe(3);
    expect(errors).toContain("ACCESS_DENIED");
    expect(output + errors).not.toContain(PASSWORD);
  });

  test("from the environment opens what it should, and is off the process list", async () => {
    await query(target(), `CREATE USER applier@'%' IDENTIFIED BY '${PASSWORD}'; GRANT ALL ON *.* TO applier@'%'`);
    const url = target().url.replace("root@", "applier@");
    const args = ["replicate", "--source", source().url, "--target", url, "--folder", folder];
    const engine = new CliProcess(args, { ABREAST_TARGET_PASSWORD: PASSWORD });
    running.push(engine);
    await statusOf(engine, "running");

    const flags = await startedWithUrl(url.replace("applier@", `applier:${PASSWORD}@`));
    for (const cli of [engine, flags]) {
      const line = readFileSync(`/proc/${cli.pid}/cmdline`, "latin1").replaceAll("\0", " ").trim();
      expect(line).toMatch(/^abreast replicate /);
      expect(line).not.toContain(PASSWORD);
    }
  });

  /** Another channel, in another folder; waited for by what only a running command says. */
  async function startedWithUrl(url: string): Promise<CliProcess> {
    const other = path.join(folder, "other");
    const args = ["replicate", "--source", source().url, "--target", url, "--folder", other];
    const cli = start(...args, "--channel", "other", "--start-from", "now");
    while ((await run("status", "--folder", other)).end !== 0) expect(cli.end).toBeUndefined();
    return cli;
  }
});

test("a mistake in the options ends with code 2 before anything is touched", async () => {
  const { end, output, errors } = await run(...replicateArguments("--workers", "many"));
  expect({ end, output, errors }).toEqual({
    end: 2,
    output: "",
    errors: 'CONFIG: --workers is "many"\n  Try: give a whole number from 1 to 256\n',
  });
  expect(await run(...replicateArguments("--policy", "optimistic", "--commit-order", "relaxed"))).toMatchObject({
    end: 2,
    errors: expect.stringMatching(/^CONFIG: policy optimistic .*\n {2}Try: use --commit-order preserve, or /),
  });
  expect(await run(...replicateArguments("--skip", "now"))).toMatchObject({
    end: 2,
    errors: expect.stringMatching(/^CONFIG: --skip is "now"\n {2}Try: "now" names no transaction: name them like /),
  });
  const missing = path.join(folder, "none.yaml");
  expect(await run("replicate", "--config", missing)).toMatchObject({ end: 2 });
  expect(await run("replicat")).toMatchObject({ end: 2, errors: expect.stringContaining("did you mean replicate?") });
});
