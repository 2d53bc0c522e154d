import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { PausePosition } from "../engine/status.ts";
import { ReplicationError } from "../base/error.ts";
import { exampleStatus } from "../../test/helpers/example-status.ts";
import { ControlClient } from "./client.ts";
import { EngineGate, type GateWait } from "./engine-gate.ts";
import { ControlServer, type Controlled } from "./control-server.ts";

const PLACE: PausePosition = { file: "binlog.000003", position: 4711 };

/** Does what it is told and remembers it; a pause at a position lasts until the test says that it is reached. */
class Recorder implements Controlled {
  readonly calls: string[] = [];
  reach: () => void = () => {};
  refuse: (error: unknown) => void = () => {};
  state: "running" | "paused" | "stopped" = "running";
  wantedWorkers = 1;
  tooMany: ReplicationError | undefined;

  status() {
    return exampleStatus({ state: this.state, wantedWorkers: this.wantedWorkers });
  }

  async stop(): Promise<void> {
    this.calls.push("stop");
    this.state = "stopped";
  }

  pauseAt(position?: PausePosition): Promise<void> {
    this.calls.push(position === undefined ? "pause" : `pause at ${position.file}:${position.position}`);
    return new Promise((resolve, reject) => {
      this.reach = () => {
        this.state = "paused";
        resolve();
      };
      this.refuse = reject;
      if (position === undefined) this.reach();
    });
  }

  resume(): void {
    this.calls.push("resume");
    this.state = "running";
  }

  async setWorkers(count: number): Promise<void> {
    this.calls.push(`${count} workers`);
    if (this.tooMany !== undefined) throw this.tooMany;
    this.wantedWorkers = count;
  }
}

let folder: string;
let engine: Recorder;
let server: ControlServer | undefined;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "abreast-http-"));
  engine = new Recorder();
});

afterEach(async () => {
  await server?.close();
  server = undefined;
  rmSync(folder, { recursive: true, force: true });
});

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 5));
}

function codeOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => "no error",
    (error: unknown) => (error instanceof ReplicationError ? error.code : String(error)),
  );
}

test("a client reads the status that the engine tells, and stops it", async () => {
  server = await ControlServer.start(folder, engine);
  const client = new ControlClient(folder);
  expect(await client.status()).toEqual(exampleStatus({ state: "running" }));
  expect(await client.stop()).toMatchObject({ state: "stopped" });
  expect(engine.calls).toEqual(["stop"]);
});

test("only the owner may use the socket", async () => {
  server = await ControlServer.start(folder, engine);
  expect(statSync(path.join(folder, "control.sock")).mode & 0o777).toBe(0o600);
});

test("a pause at a position answers when the position is reached, not before", async () => {
  server = await ControlServer.start(folder, engine);
  const client = new ControlClient(folder);
  let paused = false;
  const pausing = client.pause(PLACE).then((status) => {
    paused = true;
    return status;
  });
  await until(() => engine.calls.length === 1);
  await client.status();
  expect(paused).toBe(false);
  engine.reach();
  expect(await pausing).toMatchObject({ state: "paused" });
  expect(engine.calls).toEqual(["pause at binlog.000003:4711"]);
});

test("a pause that the engine refuses carries the engine's own error to the client", async () => {
  server = await ControlServer.start(folder, engine);
  const pausing = new ControlClient(folder).pause(PLACE);
  await until(() => engine.calls.length === 1);
  engine.refuse(
    new ReplicationError("POSITION_NOT_FOUND", "it is behind", { where: { file: "binlog.000003" }, hint: "wait" }),
  );
  await expect(pausing).rejects.toMatchObject({
    code: "POSITION_NOT_FOUND",
    message: "it is behind",
    where: { file: "binlog.000003" },
    hint: "wait",
  });
});

test("the number of workers is changed, and the answer has the new one", async () => {
  server = await ControlServer.start(folder, engine);
  expect(await new ControlClient(folder).setWorkers(8)).toMatchObject({ wantedWorkers: 8 });
  expect(engine.calls).toEqual(["8 workers"]);
});

test.each([0, -1, 257, 2.5, Number.NaN])("%d workers are refused before the engine hears of them", async (count) => {
  server = await ControlServer.start(folder, engine);
  await expect(new ControlClient(folder).setWorkers(count)).rejects.toMatchObject({
    code: "CONFIG",
    hint: expect.stringContaining("a whole number from 1 to 256"),
  });
  expect(engine.calls).toEqual([]);
});

test("what the engine says to a number of workers reaches the client", async () => {
  server = await ControlServer.start(folder, engine);
  engine.tooMany = new ReplicationError("FENCED", "another engine applies this channel", { hint: "stop one of them" });
  await expect(new ControlClient(folder).setWorkers(8)).rejects.toMatchObject({
    code: "FENCED",
    hint: "stop one of them",
  });
});

test("the gate of a comparison holds while its process lives, and opens on request", async () => {
  server = await ControlServer.start(folder, engine);
  const client = new ControlClient(folder);
  const gate = new EngineGate(client, { waitMsMax: 60_000 });
  await gate.hold();
  const pausing = gate.pauseAt(PLACE);
  await until(() => engine.calls.length === 2);
  engine.reach();
  await pausing;
  await client.status();
  expect(engine.calls).toEqual(["pause", "pause at binlog.000003:4711"]);
  await gate.resume();
  // The held connections end after the resume, and must not resume again; nor must a gate that holds nothing.
  await gate.resume();
  await client.status();
  expect(engine.calls).toEqual(["pause", "pause at binlog.000003:4711", "resume"]);
});

test("a gate waits no longer than it may, says for what, and lets go", async () => {
  server = await ControlServer.start(folder, engine);
  const gate = new EngineGate(new ControlClient(folder), { waitMsMax: 1_000 });
  await gate.hold();
  await expect(gate.pauseAt(PLACE)).rejects.toMatchObject({
    code: "NOT_REACHED",
    message: "the engine did not apply up to here within 1 s",
    where: PLACE,
    hint: expect.stringContaining("abreast status"),
  });
  await until(() => engine.calls.includes("resume"));
  await gate.resume();
});

test("a gate that is stopped while it waits lets go at once, without asking anybody", async () => {
  server = await ControlServer.start(folder, engine);
  const stop = new AbortController();
  const gate = new EngineGate(new ControlClient(folder, stop.signal), { waitMsMax: 60_000, signal: stop.signal });
  await gate.hold();
  const pausing = codeOf(gate.pauseAt(PLACE));
  await until(() => engine.calls.length === 2);
  stop.abort();
  expect(await pausing).toBe("STOPPED");
  await gate.resume();
  await until(() => engine.calls.includes("resume"));
});

test("a gate tells again and again what it waits for, and how far behind the engine is", async () => {
  server = await ControlServer.start(folder, engine);
  const stop = new AbortController();
  const told: unknown[] = [];
  const onWaiting = (wait: GateWait): void => {
    told.push({ position: wait.position, lagMs: wait.lagMs });
    if (told.length === 2) stop.abort();
  };
  const gate = new EngineGate(new ControlClient(folder), { waitMsMax: 60_000, onWaiting, signal: stop.signal });
  expect(await codeOf(gate.pauseAt(PLACE))).toBe("STOPPED");
  expect(told).toEqual(Array.from({ length: 2 }, () => ({ position: PLACE, lagMs: 12_300 })));
});

test("the engine resumes when the process that paused it for a comparison is killed", async () => {
  server = await ControlServer.start(folder, engine);
  const script = `
    const { request } = require("node:http");
    const asked = request({ socketPath: process.argv[1], method: "POST", path: "/pause" });
    asked.on("response", (response) => response.on("data", () => process.stdout.write("paused")));
    asked.end(JSON.stringify({ position: ${JSON.stringify(PLACE)}, whileConnected: true }));
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["-e", script, path.join(folder, "control.sock")]);
  const said = new Promise((resolve) => child.stdout.once("data", resolve));
  await until(() => engine.calls.length === 1);
  engine.reach();
  await said;
  child.kill("SIGKILL");
  await until(() => engine.calls.length === 2);
  expect(engine.calls).toEqual(["pause at binlog.000003:4711", "resume"]);
});

test("a request to pause that is not understood is refused with the reason, and pauses nothing", async () => {
  server = await ControlServer.start(folder, engine);
  const client = new ControlClient(folder);
  await expect(client.pause({ file: "", position: 4711 })).rejects.toMatchObject({ code: "CONFIG" });
  await expect(client.pause({ file: "binlog.000003", position: 1.5 })).rejects.toMatchObject({ code: "CONFIG" });
  expect(engine.calls).toEqual([]);
});

test("where no engine runs, the error says so and names the folder", async () => {
  await expect(new ControlClient(folder).status()).rejects.toMatchObject({
    code: "NOT_RUNNING",
    message: `no engine runs in ${folder}`,
  });
});

test("a second engine in the same folder is refused while the first answers", async () => {
  server = await ControlServer.start(folder, engine);
  expect(await codeOf(ControlServer.start(folder, new Recorder()))).toBe("FENCED");
  expect(await new ControlClient(folder).status()).toMatchObject({ state: "running" });
});

test("a socket left behind by kill -9 is taken over", async () => {
  const socketPath = path.join(folder, "control.sock");
  const script = `require("node:net").createServer().listen(process.argv[1], () => process.kill(process.pid, "SIGKILL"));`;
  const child = spawn(process.execPath, ["-e", script, socketPath]);
  await new Promise((resolve) => child.once("exit", resolve));
  expect(existsSync(socketPath)).toBe(true);
  expect(await codeOf(new ControlClient(folder).status())).toBe("NOT_RUNNING");
  server = await ControlServer.start(folder, engine);
  expect(await new ControlClient(folder).status()).toMatchObject({ state: "running" });
});

test("a folder whose socket path would be too long for the system works like any other", async () => {
  const long = path.join(folder, "a".repeat(120));
  server = await ControlServer.start(long, engine);
  expect(await new ControlClient(long).status()).toMatchObject({ state: "running" });
  expect(existsSync(path.join(long, "control.sock"))).toBe(false);
  await server.close();
  server = undefined;
  expect(await codeOf(new ControlClient(long).status())).toBe("NOT_RUNNING");
  expect(existsSync(path.join(long, "control.path"))).toBe(false);
});

test("closing answers those who still ask, and leaves no socket", async () => {
  const control = await ControlServer.start(folder, engine);
  const stopping = new ControlClient(folder).stop();
  await until(() => engine.calls.includes("stop"));
  await control.close();
  expect(await stopping).toMatchObject({ state: "stopped" });
  expect(existsSync(path.join(folder, "control.sock"))).toBe(false);
});

test("an engine that ends in the middle of an answer is not taken for an answer", async () => {
  const socketPath = path.join(folder, "control.sock");
  const listener = createServer((socket) => {
    socket.once("data", () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"state":'));
  });
  await new Promise<void>((resolve) => listener.listen(socketPath, resolve));
  try {
    expect(await codeOf(new ControlClient(folder).status())).toBe("NOT_RUNNING");
    expect(await codeOf(new EngineGate(new ControlClient(folder), { waitMsMax: 60_000 }).pauseAt(PLACE))).toBe(
      "NOT_RUNNING",
    );
  } finally {
    listener.close();
  }
});

test("a record of a socket elsewhere that is gone does not keep an engine from starting", async () => {
  const long = path.join(folder, "b".repeat(120));
  server = await ControlServer.start(long, engine);
  await server.close();
  writeFileSync(path.join(long, "control.path"), "/nonexistent/control.sock\n");
  server = await ControlServer.start(long, engine);
  expect(await new ControlClient(long).status()).toMatchObject({ state: "running" });
});
