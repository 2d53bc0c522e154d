import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll } from "vitest";
import { silentLog } from "../../src/base/log.ts";
import { Engine } from "../../src/engine/engine.ts";
import type { EngineOptions } from "../../src/engine/options.ts";
import type { SandboxServer } from "../../src/sandbox/start.ts";
import { Session } from "../../src/wire/session.ts";

const MIB = 1024 * 1024;

/** Engine options with the defaults of the command line and a folder of its own, which goes away after the tests of the file. */
export function channelOptions(
  source: SandboxServer,
  target: SandboxServer,
  overrides: Partial<EngineOptions> = {},
): EngineOptions {
  const folder = mkdtempSync(path.join(os.tmpdir(), "abreast-channel-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return {
    source: source.address,
    target: target.address,
    channel: path.basename(folder),
    folder,
    startFrom: "now",
    serverId: 1_000_000 + Math.floor(Math.random() * 1_000_000),
    workers: 4,
    policy: "auto",
    dependency: "graph",
    writesetHistory: 25_000,
    writesetHash: "xxhash64",
    commitOrder: "preserve",
    gtid: "own",
    semiSync: false,
    packTransactionsMax: 500,
    packBytesMax: 4 * MIB,
    packRowsMax: 2_000,
    packMsMax: 500,
    transactionBytesInMemoryMax: 16 * MIB,
    relayFileBytesMax: 64 * MIB,
    relayTotalBytesMax: 1024 * MIB,
    transactionRetries: 10,
    onConflict: "stop",
    skip: [],
    heartbeatMs: 1_000,
    until: undefined,
    log: silentLog,
    ...overrides,
  };
}

/** Makes the target know the channel: what comes after this moment on the source is replicated. */
export async function beginChannel(options: EngineOptions): Promise<void> {
  await catchUp({ ...options, startFrom: "now" });
}

/** Applies everything up to where the source is now, and ends. Rejects with what stopped the engine. */
export async function catchUp(options: EngineOptions): Promise<Engine> {
  const engine = await Engine.start({ ...options, until: "now" });
  await engine.done;
  return engine;
}

/** Runs statements one by one in one session. */
export async function run(server: SandboxServer, ...statements: string[]): Promise<void> {
  await withSession(server, async (session) => {
    for (const sql of statements) await session.execute(sql);
  });
}

/** The rows of a SELECT, values as text. */
export async function rows(server: SandboxServer, sql: string): Promise<(string | null)[][]> {
  return withSession(server, async (session) => (await session.execute(sql)).at(-1)?.rows ?? []);
}

export async function withSession<T>(server: SandboxServer, work: (session: Session) => Promise<T>): Promise<T> {
  const session = await Session.connect(server.address);
  try {
    return await work(session);
  } finally {
    await session.close();
  }
}
