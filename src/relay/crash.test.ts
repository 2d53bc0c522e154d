import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "vite";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { silentLog } from "../base/log.ts";
import { EVENT_TYPE } from "../binlog/event-type.ts";
import { eventType } from "../binlog/event.ts";
import { RelayLog } from "./relay-log.ts";
import { UUID } from "../../test/helpers/relay-stream.ts";

/**
 * A receiver in a process of its own. It goes on where the log ends, and prints the gno of a transaction when a flush that covers it has resolved. The source's file changes
 * now and then, the log is purged now and then, and one time in ten the connection is lost in the middle of a transaction.
 */
const RECEIVER = `
import { writeSync } from "node:fs";
import { RelayLog } from ${JSON.stringify(join(import.meta.dirname, "relay-log.ts"))};
import { GtidSet } from ${JSON.stringify(join(import.meta.dirname, "../gtid/mysql.ts"))};
import { appendAll, TestSource, UUID } from ${JSON.stringify(join(import.meta.dirname, "../../test/helpers/relay-stream.ts"))};

const [folder, purges] = process.argv.slice(2);
const relay = await RelayLog.open({ folder, fileBytesMax: 30_000, log: { info() {}, warn() {} } });
if (relay.received.gtids.kind === "none") await relay.reset({ kind: "mysql", set: new GtidSet() });
const { source: resume, gtids } = relay.received;
const source = new TestSource();
let gno = Number(gtids.set.size);
appendAll(relay, source.start(resume?.file, resume?.position));
const random = (n) => Math.floor(Math.random() * n);
for (;;) {
  for (let left = random(8); left >= 0; left--) {
    const { file, position } = source;
    const transaction = source.transaction(gno + 1, { rowEvents: 1 + random(4), rowBytes: random(2000) });
    if (random(10) === 0) {
      appendAll(relay, transaction.slice(0, 1 + random(transaction.length - 1)));
      appendAll(relay, source.start(file, position));
      continue;
    }
    appendAll(relay, transaction);
    gno++;
    if (random(40) === 0) {
      appendAll(relay, [source.rotate("binlog." + String(gno).padStart(6, "0"))]);
      appendAll(relay, source.start());
    }
  }
  const covered = gno;
  const flushed = relay.flush().then(() => writeSync(1, covered + "\\n"));
  if (random(3) > 0) await flushed;
  else await new Promise(setImmediate);
  if (purges === "purges" && random(30) === 0) await relay.purge(relay.received.end);
}
`;

/** Fills the disk; makes room by deleting another file, by purging, or by lifting the limit; goes on. Prints what happened. */
const DISK_FILLER = `
import { execFileSync } from "node:child_process";
import { readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { RelayLog } from ${JSON.stringify(join(import.meta.dirname, "relay-log.ts"))};
import { GtidSet } from ${JSON.stringify(join(import.meta.dirname, "../gtid/mysql.ts"))};
import { appendAll, TestSource } from ${JSON.stringify(join(import.meta.dirname, "../../test/helpers/relay-stream.ts"))};

const [folder, kind, fileBytesMax] = process.argv.slice(2);
const ballast = folder + "/ballast";
if (kind === "full") writeFileSync(ballast, Buffer.alloc(300_000));
const relay = await RelayLog.open({ folder: folder + "/relay", fileBytesMax: Number(fileBytesMax), log: { info() {}, warn() {} } });
await relay.reset({ kind: "mysql", set: new GtidSet() });
const source = new TestSource();
appendAll(relay, source.start());
const codes = [];
let flushedTo = 0;
for (let gno = 1; gno <= 2000 && codes.length < 3; gno++) {
  appendAll(relay, source.transaction(gno, { rowEvents: 2, rowBytes: 3000 }));
  await relay.flush().then(() => (flushedTo = gno), (error) => codes.push(error.code + " " + error.retry));
}
const whenFull = relay.totalBytes;
const names = readdirSync(folder + "/relay").filter((name) => /\\.\\d+$/.test(name));
const onDisk = names.reduce((sum, name) => sum + statSync(folder + "/relay/" + name).size, 0);
const reader = relay.read();
let read = 0;
while (read < flushedTo) read += (await reader.next()).events.filter((event) => event[4] === 16).length;
await reader.close();
if (kind === "full") rmSync(ballast);
else if (kind === "purge") {
  // Not even one block for the index.
  try {
    for (let part = 0; ; part++) writeFileSync(ballast + part, Buffer.alloc(4096));
  } catch {}
  await relay.purge(relay.received.end);
}
else execFileSync("prlimit", ["--pid", String(process.pid), "--fsize=unlimited:unlimited"]);
await relay.flush();
const { gtids } = relay.received;
await relay.close();
const again = await RelayLog.open({ folder: folder + "/relay", log: { info() {}, warn: (text) => codes.push(text) } });
const recovered = again.recovered.gtids.set.toString();
await again.close();
console.log(JSON.stringify({ codes, flushedTo, read, whenFull, onDisk, received: gtids.set.toString(), recovered }));
`;

let programs = "";
let folder = "";

beforeAll(async () => {
  programs = await mkdtemp(join(tmpdir(), "abreast-relay-programs-"));
  // Node 20 runs no TypeScript.
  for (const [name, text] of Object.entries({ receiver: RECEIVER, filler: DISK_FILLER })) {
    const entry = join(programs, `${name}.ts`);
    await writeFile(entry, text);
    await build({
      logLevel: "error",
      configFile: false,
      root: programs,
      build: { ssr: entry, outDir: join(programs, name), target: "node20" },
    });
  }
});

afterAll(() => rm(programs, { recursive: true }));

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "abreast-relay-"));
});

afterEach(() => rm(folder, { recursive: true }));

const program = (name: string): string => join(programs, name, `${name}.mjs`);

/** Lets a receiver run for a while and kills it. The last gno that it had flushed; 0 when it had not come so far. */
async function receiveAndDie(runMs: number, purges: boolean): Promise<number> {
  const child = spawn(process.execPath, [program("receiver"), join(folder, "relay"), purges ? "purges" : ""]);
  let output = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  const closed = once(child, "close");
  await Promise.race([once(child.stdout, "data"), closed]);
  await new Promise((resolve) => setTimeout(resolve, runMs));
  child.kill("SIGKILL");
  await closed;
  expect(errors).toBe("");
  return Number(output.split("\n").at(-2) ?? 0);
}

/** The transactions in the log, in order, as a consumer takes them: an artificial Rotate voids what was begun. */
async function readGnos(relay: RelayLog): Promise<number[]> {
  const { end } = relay.recovered;
  const gnos: number[] = [];
  const reader = relay.read();
  let open = 0;
  for (let last = { file: 0, offset: 0 }; last.file < end.file || last.offset < end.offset;) {
    const batch = await reader.next();
    for (const event of batch?.events ?? []) {
      const type = eventType(event);
      if (type === EVENT_TYPE.GTID) open = Number(event.readBigInt64LE(36));
      if (type === EVENT_TYPE.ROTATE) open = 0;
      if (type !== EVENT_TYPE.XID) continue;
      expect(open).toBeGreaterThan(0);
      gnos.push(open);
      open = 0;
    }
    last = { file: batch?.file ?? 0, offset: batch?.ends.at(-1) ?? 0 };
  }
  await reader.close();
  return gnos;
}

test.each([{ purges: false }, { purges: true }])(
  "kill -9 at any instant loses nothing that was flushed and repeats nothing (%o)",
  { timeout: 120_000 },
  async ({ purges }) => {
    let flushed = 0;
    for (let round = 0; round < 10; round++) {
      flushed = Math.max(flushed, await receiveAndDie(Math.random() * 150, purges));
      const relay = await RelayLog.open({ folder: join(folder, "relay"), log: silentLog });
      const { gtids } = relay.recovered;
      const count = gtids.kind === "mysql" ? Number(gtids.set.size) : 0;
      expect(count).toBeGreaterThanOrEqual(flushed);
      expect(gtids.kind === "mysql" && gtids.set.toString()).toBe(setTo(count));
      const gnos = await readGnos(relay);
      const first = gnos[0] ?? count + 1;
      if (!purges) expect(first).toBe(1);
      expect(gnos).toEqual(Array.from({ length: count - first + 1 }, (_, index) => first + index));
      await relay.close();
    }
    expect(flushed).toBeGreaterThan(100);
  },
);

function setTo(count: number): string {
  if (count === 0) return "";
  return count === 1 ? `${UUID}:1` : `${UUID}:1-${count}`;
}

interface Filled {
  codes: string[];
  flushedTo: number;
  read: number;
  /** Bytes of the relay files as the log counts them, and as they are. */
  whenFull: number;
  onDisk: number;
  received: string;
  recovered: string;
}

function expectHealed({ codes, flushedTo, read, whenFull, onDisk, received, recovered }: Filled): void {
  // Full three times; nothing to repair afterwards.
  expect(codes).toEqual(["DISK_FULL later", "DISK_FULL later", "DISK_FULL later"]);
  expect(flushedTo).toBeGreaterThan(10);
  expect(read).toBe(flushedTo);
  expect(onDisk).toBe(whenFull);
  expect(received).toBe(`${UUID}:1-${flushedTo + 3}`);
  expect(recovered).toBe(received);
}

/** In a mount namespace of its own: what is mounted there ends with it. */
const isolated = (command: string): string[] => ["-c", `unshare -rm sh -c '${command}'`];
const canMount = spawnSync("sh", isolated("mount -t tmpfs none /tmp")).status === 0;

// A file for each transaction: the disk is full when a new one begins. Big files: in the middle of a write. Purge itself has to write an index, on a full disk.
test.skipIf(!canMount).each([
  { room: "full", fileBytesMax: 1 },
  { room: "full", fileBytesMax: 1_000_000_000 },
  { room: "purge", fileBytesMax: 1 },
])(
  "a full disk is told, costs nothing and tears nothing; with room again the log goes on (%o)",
  async ({ room, fileBytesMax }) => {
    const disk = join(folder, "disk");
    await mkdir(disk);
    const filler = `exec ${process.execPath} ${program("filler")} ${disk} ${room} ${fileBytesMax}`;
    const run = isolated(`mount -t tmpfs -o size=1m none ${disk} && ${filler}`);
    const { stdout, stderr } = spawnSync("sh", run, { encoding: "utf8" });
    expect(stderr).toBe("");
    expectHealed(JSON.parse(stdout) as Filled);
  },
);

test("a limit on the size of files is told like a full disk, and costs nothing", () => {
  const run = `ulimit -S -f 1000; exec ${process.execPath} ${program("filler")} ${folder} limit 1000000000`;
  const { stdout, stderr } = spawnSync("bash", ["-c", run], { encoding: "utf8" });
  expect(stderr).toBe("");
  const filled = JSON.parse(stdout) as Filled;
  expectHealed(filled);
  expect(filled.whenFull).toBeLessThanOrEqual(1000 * 1024);
});
