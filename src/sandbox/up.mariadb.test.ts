import { spawn } from "node:child_process";
import { access, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createConnection } from "mysql2/promise";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { identifyProcess, isRunning } from "./process.ts";
import { downSandbox, listSandboxes, upSandbox } from "./up.ts";
import type { SandboxStatus } from "./up.ts";

const flavour = "mariadb-10.11";
let state: string;

beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), "abreast-test state-"));
  vi.stubEnv("XDG_STATE_HOME", state);
});

afterEach(async () => {
  await downSandbox("all");
  vi.unstubAllEnvs();
  await rm(state, { recursive: true });
});

async function query(server: SandboxStatus, sql: string): Promise<unknown> {
  const connection = await createConnection({ host: "127.0.0.1", port: server.port, user: "root" });
  try {
    return (await connection.query(sql))[0];
  } finally {
    await connection.end();
  }
}

test("up starts a server that list shows and down stops, with everything that was made for it", async () => {
  const up = await upSandbox({ flavour, options: ["--max-connections=99"] });
  expect(up).toMatchObject({ name: flavour, flavour, state: "running", url: `mariadb://root@127.0.0.1:${up.port}` });
  expect(await query(up, "SELECT @@max_connections AS n")).toEqual([{ n: 99 }]);
  expect(await listSandboxes()).toEqual([up]);

  expect(await downSandbox([flavour])).toMatchObject([{ name: flavour, was: "stopped", dataRemoved: true }]);
  expect(isRunning(up.process)).toBe(false);
  expect(await listSandboxes()).toEqual([]);
  await expect(access(up.dataFolder)).rejects.toThrow("ENOENT");
  await expect(access(up.runFolder)).rejects.toThrow("ENOENT");
  expect(await readdir(join(state, "abreast", "sandbox"))).toEqual([]);
});

test("servers without a name get different ones, also when they are started at the same time", async () => {
  const servers = await Promise.all([
    upSandbox({ flavour }),
    upSandbox({ flavour }),
    upSandbox({ flavour, name: "third" }),
  ]);
  expect(servers.map(({ name }) => name).sort()).toEqual([flavour, `${flavour}-2`, "third"]);
  expect((await listSandboxes()).map(({ state: is }) => is)).toEqual(["running", "running", "running"]);
  await downSandbox([`${flavour}-2`]);
  expect((await listSandboxes()).map(({ name }) => name)).toEqual([flavour, "third"]);
});

test("a name that is in use is refused", async () => {
  await upSandbox({ flavour, name: "a" });
  await expect(upSandbox({ flavour, name: "a" })).rejects.toMatchObject({
    code: "CONFIG",
    hint: expect.stringContaining("abreast sandbox down a"),
  });
});

test("a server that died is shown as dead, and comes back on its data under the same name", async () => {
  const first = await upSandbox({ flavour, name: "a" });
  await query(first, "CREATE DATABASE mine");
  process.kill(first.process.pid, "SIGKILL");
  await expect.poll(async () => (await listSandboxes())[0]?.state).toBe("dead");
  await expect(upSandbox({ flavour: "mariadb-11.8", name: "a" })).rejects.toMatchObject({ code: "CONFIG" });
  const second = await upSandbox({ flavour, name: "a" });
  expect(await query(second, "SHOW DATABASES LIKE 'mine'")).toHaveLength(1);
  expect(second.serverId).toBe(first.serverId);
  expect(second.port).toBe(first.port);

  process.kill(second.process.pid, "SIGKILL");
  await expect.poll(async () => (await listSandboxes())[0]?.state).toBe("dead");
  const taker = createServer();
  await new Promise<void>((resolve) => taker.listen(first.port, "127.0.0.1", resolve));
  try {
    expect((await upSandbox({ flavour, name: "a" })).port).not.toBe(first.port);
  } finally {
    taker.close();
  }
});

test("down keeps a data folder that the user gave, and with keepData any", async () => {
  const data = join(state, "my data");
  const given = await upSandbox({ flavour, name: "given", dataFolder: data });
  expect(given.dataFolder).toBe(data);
  expect(await downSandbox(["given"])).toMatchObject([{ dataRemoved: false }]);
  await access(join(data, "ibdata1"));

  const own = await upSandbox({ flavour, name: "own" });
  await query(own, "CREATE DATABASE mine");
  expect(await downSandbox(["own"], { keepData: true })).toMatchObject([{ dataRemoved: false }]);
  const again = await upSandbox({ flavour, name: "own" });
  expect(await query(again, "SHOW DATABASES LIKE 'mine'")).toHaveLength(1);
});

test("down never touches a process that only has the pid of a server", async () => {
  const up = await upSandbox({ flavour, name: "a" });
  await downSandbox(["a"], { keepData: true });
  const stranger = spawn("sleep", ["60"], { stdio: "ignore" });
  try {
    const { state: _, ...record } = up;
    const pid = stranger.pid ?? 0;
    const file = join(state, "abreast", "sandbox", "a.json");
    await writeFile(file, JSON.stringify({ ...record, process: { ...record.process, pid } }));
    expect(await listSandboxes()).toMatchObject([{ name: "a", state: "dead" }]);
    expect(await downSandbox("all")).toMatchObject([{ name: "a", was: "dead" }]);
    expect(identifyProcess(pid)).toBeDefined();
  } finally {
    stranger.kill("SIGKILL");
  }
});

test("down removes no folder that the sandbox did not make, whatever a record says", async () => {
  const up = await upSandbox({ flavour, name: "a" });
  await downSandbox(["a"], { keepData: true });
  const precious = join(state, "precious");
  await writeFile(precious, "");
  const { state: _, ...record } = up;
  const file = join(state, "abreast", "sandbox", "a.json");
  await writeFile(file, JSON.stringify({ ...record, dataFolder: state, runFolder: state }));
  await downSandbox("all");
  await access(precious);
});

test("a start that fails leaves no record and no data", async () => {
  await expect(upSandbox({ flavour, options: ["--no-such-option"] })).rejects.toMatchObject({
    code: "SANDBOX",
    message: expect.stringContaining("no-such-option"),
  });
  expect(await readdir(join(state, "abreast", "sandbox"))).toEqual([]);
});

test("names that could leave the state folder, and names unknown to down, are refused", async () => {
  for (const name of ["../a", "", "a/b", ".hidden", "a b"]) {
    await expect(upSandbox({ flavour, name })).rejects.toMatchObject({ code: "CONFIG" });
  }
  await upSandbox({ flavour, name: "a" });
  await expect(downSandbox(["a", "b"])).rejects.toMatchObject({ code: "CONFIG", hint: "use one of a" });
  expect((await listSandboxes())[0]?.state).toBe("running");
});

test("a record that is not ours stops list with the file's name, and nothing is signalled", async () => {
  const up = await upSandbox({ flavour, name: "a" });
  const file = join(state, "abreast", "sandbox", "a.json");
  const text = await readFile(file, "utf8");
  await writeFile(file, "{}");
  await expect(listSandboxes()).rejects.toMatchObject({ code: "SANDBOX", message: expect.stringContaining(file) });
  await writeFile(file, text);
  expect(await listSandboxes()).toEqual([up]);
});
