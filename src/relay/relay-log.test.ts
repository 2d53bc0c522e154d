import { mkdtemp, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { ReplicationError } from "../base/error.ts";
import { silentLog } from "../base/log.ts";
import { EVENT_TYPE } from "../binlog/event-type.ts";
import { eventType } from "../binlog/event.ts";
import { GtidSet } from "../gtid/mysql.ts";
import type { RelayPosition } from "../transaction/transaction.ts";
import { RelayLog, type RelayLogOptions } from "./relay-log.ts";
import type { RelayReader } from "./relay-reader.ts";
import { appendAll, TestSource, UUID, type Received } from "../../test/helpers/relay-stream.ts";

let folder = "";
let logs: RelayLog[] = [];
let readers: RelayReader[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "abreast-relay-"));
});

afterEach(async () => {
  for (const reader of readers) await reader.close();
  for (const log of logs) await log.close();
  readers = [];
  logs = [];
  await rm(folder, { recursive: true });
});

async function open(options: Partial<RelayLogOptions> = {}): Promise<RelayLog> {
  const relay = await RelayLog.open({ folder, log: silentLog, ...options });
  logs.push(relay);
  return relay;
}

function read(relay: RelayLog, from?: RelayPosition): RelayReader {
  const reader = relay.read(from);
  readers.push(reader);
  return reader;
}

const mysqlGtids = (text: string) => ({ kind: "mysql" as const, set: GtidSet.parse(text) });

function gtidsOf(relay: RelayLog): string | undefined {
  const { gtids } = relay.received;
  return gtids.kind === "mysql" ? gtids.set.toString() : undefined;
}

/** Reads events until `count` have come, without the files' own. */
async function readEvents(reader: RelayReader, count: number): Promise<Buffer[]> {
  const events: Buffer[] = [];
  while (events.length < count) {
    const batch = await reader.next();
    if (batch === undefined) break;
    events.push(...batch.events.filter((event) => !isControl(event)));
  }
  return events;
}

const isControl = (event: Buffer): boolean =>
  ([EVENT_TYPE.FORMAT_DESCRIPTION, EVENT_TYPE.ROTATE, EVENT_TYPE.PREVIOUS_GTIDS] as number[]).includes(
    eventType(event),
  );

const bytesOf = (events: readonly Buffer[]): string => Buffer.concat(events).toString("hex");
const sent = (received: readonly Received[]): Buffer[] => received.map(({ event }) => event);

test("what is appended and flushed comes back byte for byte, after the file's own events", async () => {
  const relay = await open();
  await relay.reset(mysqlGtids(`${UUID}:1-10`));
  const source = new TestSource();
  const start = source.start("binlog.000007", 500);
  const transactions = [...source.transaction(11), ...source.transaction(12, { rowEvents: 5 })];
  appendAll(relay, [...start, ...transactions]);
  await relay.flush();

  const reader = read(relay);
  const batch = await reader.next();
  expect(batch?.file).toBe(1);
  const events = batch?.events ?? [];
  expect(events.slice(0, 3).map(eventType)).toEqual([
    EVENT_TYPE.FORMAT_DESCRIPTION,
    EVENT_TYPE.PREVIOUS_GTIDS,
    EVENT_TYPE.ROTATE,
  ]);
  expect(events[0]).toEqual(start[1]?.event);
  expect(bytesOf(events.slice(3))).toBe(bytesOf(sent(transactions)));
  expect(batch?.offsets.slice(1)).toEqual(batch?.ends.slice(0, -1));
  expect(batch?.offsets[0]).toBe(4);
});

test("the position to resume from moves only when a transaction ends", async () => {
  const relay = await open();
  await relay.reset(mysqlGtids(""));
  const source = new TestSource();
  appendAll(relay, source.start("binlog.000007", 500));
  const first = source.transaction(1);
  appendAll(relay, first.slice(0, -1));
  expect(relay.received.source).toEqual({ file: "binlog.000007", position: 500 });
  expect(gtidsOf(relay)).toBe("");
  appendAll(relay, first.slice(-1));
  expect(relay.received.source).toEqual({ file: "binlog.000007", position: source.position });
  expect(gtidsOf(relay)).toBe(`${UUID}:1`);
});

test("a log that begins at a file position counts no GTIDs: those before are unknown", async () => {
  const relay = await open();
  const source = new TestSource();
  appendAll(relay, [...source.start("binlog.000007", 500), ...source.transaction(11)]);
  expect(relay.received.gtids).toEqual({ kind: "none" });
});

test("readers tail the log while it is written, from several files", async () => {
  const relay = await open({ fileBytesMax: 4000 });
  const source = new TestSource();
  const all: Buffer[] = [];
  appendAll(relay, source.start());
  const reading = [read(relay), read(relay)].map((reader) => readEvents(reader, 200 * 6));
  for (let gno = 1; gno <= 200; gno++) {
    const transaction = source.transaction(gno, { rowEvents: 2, rowBytes: gno });
    all.push(...sent(transaction));
    appendAll(relay, transaction);
    if (gno % 3 === 0) await relay.flush();
  }
  await relay.flush();
  for (const events of await Promise.all(reading)) expect(bytesOf(events)).toBe(bytesOf(all));
  expect(relay.fileCount).toBeGreaterThan(5);
  expect(bytesOf(await readEvents(read(relay), all.length))).toBe(bytesOf(all));
});

test("a reader far behind what memory keeps reads the rest from disk", async () => {
  const relay = await open();
  const source = new TestSource();
  const all: Buffer[] = [];
  appendAll(relay, source.start());
  for (let gno = 1; gno <= 24; gno++) {
    const transaction = source.transaction(gno, { rowEvents: 3, rowBytes: 200_000 });
    all.push(...sent(transaction));
    if (!appendAll(relay, transaction)) await relay.flush();
  }
  await relay.flush();
  const reader = read(relay);
  expect(bytesOf(await readEvents(reader, all.length))).toBe(bytesOf(all));
});

test("an event far bigger than a chunk travels whole", async () => {
  const relay = await open();
  const source = new TestSource();
  appendAll(relay, source.start());
  const all = [
    ...source.transaction(1),
    ...source.transaction(2, { rowBytes: 40 << 20 }),
    ...source.transaction(3, { rowBytes: 300 << 10 }),
    ...source.transaction(4),
  ];
  appendAll(relay, all);
  await relay.flush();
  const reader = read(relay);
  const events = await readEvents(reader, all.length);
  expect(Buffer.concat(events).equals(Buffer.concat(sent(all)))).toBe(true);
});

test("a reader sees nothing that is not written", async () => {
  const relay = await open();
  const source = new TestSource();
  appendAll(relay, [...source.start(), ...source.transaction(1)]);
  await relay.flush();
  appendAll(relay, source.transaction(2));
  const reader = read(relay);
  expect((await reader.next())?.events.filter((event) => !isControl(event))).toHaveLength(5);
  let answered = false;
  const waiting = reader.next().finally(() => (answered = true));
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(answered).toBe(false);
  await relay.flush();
  expect((await waiting)?.events).toHaveLength(5);
});

test("reading from a place inside a file begins with the format and a Rotate that names that place in the source", async () => {
  const relay = await open();
  const source = new TestSource();
  appendAll(relay, [...source.start("binlog.000003", 4), ...source.transaction(1), ...source.transaction(2)]);
  const from = relay.received.end;
  const position = source.position;
  const third = source.transaction(3);
  appendAll(relay, third);
  await relay.flush();
  const reader = read(relay, from);
  const head = await reader.next();
  expect(head?.events.map(eventType)).toEqual([EVENT_TYPE.FORMAT_DESCRIPTION, EVENT_TYPE.ROTATE]);
  expect(head?.events[1]?.readBigUInt64LE(19)).toBe(BigInt(position));
  const batch = await reader.next();
  expect(bytesOf(batch?.events ?? [])).toBe(bytesOf(sent(third)));
  expect(batch?.offsets[0]).toBe(from.offset);
});

test("reading from a place where no event starts says so", async () => {
  const relay = await open();
  const source = new TestSource();
  appendAll(relay, [...source.start(), ...source.transaction(1)]);
  await relay.flush();
  const { file, offset } = relay.received.end;
  await expect(read(relay, { file, offset: offset - 1 }).next()).rejects.toMatchObject({ code: "RELAY_LOG" });
});

test("a range is one transaction and ends by itself", async () => {
  const relay = await open();
  const source = new TestSource();
  appendAll(relay, [...source.start(), ...source.transaction(1)]);
  const from = relay.received.end;
  const big = source.transaction(2, { rowEvents: 40, rowBytes: 30_000 });
  appendAll(relay, big);
  const to = relay.received.end;
  appendAll(relay, source.transaction(3));
  await relay.flush();
  const reader = relay.readRange(from, to);
  readers.push(reader);
  const events: Buffer[] = [];
  let batches = 0;
  for (let batch = await reader.next(); batch !== undefined; batch = await reader.next()) {
    events.push(...batch.events);
    batches++;
  }
  expect(bytesOf(events)).toBe(bytesOf(sent(big)));
  expect(batches).toBeGreaterThan(3);
});

test("closing a reader ends its waiting next, and so does closing the log", async () => {
  const relay = await open();
  const [one, two] = [read(relay), read(relay)];
  const waiting = [one.next(), two.next()];
  await one.close();
  expect(await waiting[0]).toBeUndefined();
  await relay.close();
  expect(await waiting[1]).toBeUndefined();
});

test("each file of the source gets relay files of its own, each with the GTIDs before it", async () => {
  const relay = await open();
  await relay.reset(mysqlGtids(`${UUID}:1-3`));
  const source = new TestSource();
  appendAll(relay, [...source.start(), ...source.transaction(4), source.rotate("binlog.000002")]);
  expect(relay.received.source).toEqual({ file: "binlog.000002", position: 4 });
  appendAll(relay, [...source.start(), ...source.transaction(5)]);
  await relay.flush();
  expect(relay.fileCount).toBe(2);
  const reader = read(relay, { file: 2, offset: 0 });
  const events = (await reader.next())?.events ?? [];
  expect(events[2]?.toString("latin1", 27, 27 + 13)).toBe("binlog.000002");
  const gtids = events[1] as Buffer;
  expect(GtidSet.decode(gtids.subarray(19, -4)).toString()).toBe(`${UUID}:1-4`);
});

test("a reconnect inside a transaction begins a new file, and the transaction counts once, when it is complete", async () => {
  const relay = await open();
  await relay.reset(mysqlGtids(""));
  const source = new TestSource();
  appendAll(relay, [...source.start(), ...source.transaction(1)]);
  const position = source.position;
  appendAll(relay, source.transaction(2).slice(0, 3));
  appendAll(relay, source.start("binlog.000001", position));
  expect(gtidsOf(relay)).toBe(`${UUID}:1`);
  expect(relay.received.source?.position).toBe(position);
  appendAll(relay, source.transaction(2));
  expect(gtidsOf(relay)).toBe(`${UUID}:1-2`);
  await relay.flush();
  expect(relay.fileCount).toBe(2);
});

test("a jump of the source past 4 GiB is written down where the 32 bits of the headers cannot tell it", async () => {
  const relay = await open();
  const source = new TestSource();
  appendAll(relay, [...source.start(), ...source.transaction(1)]);
  source.position += 5 * 2 ** 32;
  const start = source.position;
  appendAll(relay, source.transaction(2));
  await relay.flush();
  expect(relay.received.source?.position).toBe(source.position);
  const reader = read(relay);
  const events = (await reader.next())?.events ?? [];
  const rotates = events.filter((event) => eventType(event) === EVENT_TYPE.ROTATE);
  expect(rotates.map((event) => event.readBigUInt64LE(19))).toContain(BigInt(start));
});

test("purge deletes the files whose transactions all lie before, and never the last", async () => {
  const relay = await open({ fileBytesMax: 1500 });
  const source = new TestSource();
  appendAll(relay, source.start());
  const ends = [];
  for (let gno = 1; gno <= 30; gno++) {
    appendAll(relay, source.transaction(gno));
    ends.push(relay.received.end);
  }
  await relay.flush();
  const files = relay.fileCount;
  expect(files).toBeGreaterThan(4);
  const lastOfFirst = ends.filter(({ file }) => file === 1).at(-1) ?? { file: 0, offset: 0 };
  await relay.purge({ file: 1, offset: lastOfFirst.offset - 1 });
  expect(relay.fileCount).toBe(files);
  await relay.purge(lastOfFirst);
  expect(relay.fileCount).toBe(files - 1);
  expect(await readFile(join(folder, "relay-bin.index"), "utf8")).toMatch(/^\.\/relay-bin\.000002\n/);
  await expect(stat(join(folder, "relay-bin.000001"))).rejects.toThrow("ENOENT");
  await relay.purge(relay.received.end);
  expect(relay.fileCount).toBe(1);
});

test("a file that ends in control events is purged once its transactions are done", async () => {
  const relay = await open();
  const source = new TestSource();
  appendAll(relay, [...source.start(), ...source.transaction(1)]);
  const end = relay.received.end;
  appendAll(relay, [source.rotate("binlog.000002"), ...source.start(), ...source.transaction(2)]);
  await relay.flush();
  await relay.purge(end);
  expect(relay.fileCount).toBe(1);
});

test("a full log has no room until purge makes some", async () => {
  const relay = await open({ fileBytesMax: 2000, totalBytesMax: 10_000 });
  const source = new TestSource();
  appendAll(relay, source.start());
  let gno = 0;
  while (relay.totalBytes < 10_000) {
    await relay.waitForRoom();
    appendAll(relay, source.transaction(++gno));
    await relay.flush();
  }
  const half = { file: Math.ceil(relay.fileCount / 2), offset: 0 };
  let room = false;
  const waiting = relay.waitForRoom().then(() => (room = true));
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(room).toBe(false);
  await relay.purge(half);
  await waiting;
  expect(relay.totalBytes).toBeLessThan(10_000);
});

test("one transaction bigger than the limit does not wait for itself once it is applied", async () => {
  const relay = await open({ fileBytesMax: 2000, totalBytesMax: 10_000 });
  const source = new TestSource();
  appendAll(relay, [...source.start(), ...source.transaction(1, { rowBytes: 50_000 })]);
  await relay.flush();
  await relay.purge(relay.received.end);
  await relay.waitForRoom();
  appendAll(relay, source.transaction(2));
  await relay.flush();
  await relay.purge({ file: 2, offset: 0 });
  expect(relay.totalBytes).toBeLessThan(2000);
});

test("append says no when too much waits to be written, and yes again after a flush", async () => {
  const relay = await open();
  const source = new TestSource();
  appendAll(relay, source.start());
  expect(appendAll(relay, source.transaction(1, { rowBytes: 31 << 20 }))).toBe(true);
  expect(appendAll(relay, source.transaction(2, { rowBytes: 2 << 20 }))).toBe(false);
  await relay.flush();
  expect(appendAll(relay, source.transaction(3))).toBe(true);
});

test("reset forgets everything and goes on from other GTIDs", async () => {
  const relay = await open();
  const source = new TestSource();
  appendAll(relay, [...source.start(), ...source.transaction(1)]);
  await relay.flush();
  appendAll(relay, source.transaction(2).slice(0, 2));
  await relay.reset(mysqlGtids(`${UUID}:1-40`));
  expect(relay.fileCount).toBe(0);
  expect(gtidsOf(relay)).toBe(`${UUID}:1-40`);
  expect(relay.received).toMatchObject({ source: undefined, end: { file: 0, offset: 0 } });
  const reader = read(relay, relay.received.end);
  const transaction = source.transaction(41);
  appendAll(relay, [...source.start(), ...transaction]);
  await relay.flush();
  expect(bytesOf(await readEvents(reader, transaction.length))).toBe(bytesOf(sent(transaction)));
});

test("a second engine on the same folder is refused, also in the same process", async () => {
  await open();
  await expect(open()).rejects.toMatchObject({ code: "RELAY_LOG", hint: expect.stringContaining("stop that engine") });
});

test("the lock of a process that is gone is taken over", async () => {
  const mine = await open();
  const lock = JSON.parse(await readFile(join(folder, "relay-bin.lock"), "utf8")) as Record<string, unknown>;
  await mine.close();
  // The same pid, started at another time: it was somebody else's.
  await writeFile(join(folder, "relay-bin.lock"), JSON.stringify({ ...lock, startTime: "1" }));
  const relay = await open();
  expect(relay.fileCount).toBe(0);
});

test("damage in the middle of an older file is found when it is read: file, offset and what to do", async () => {
  const relay = await open();
  const source = new TestSource();
  appendAll(relay, source.start());
  for (let gno = 1; gno <= 12; gno++) appendAll(relay, source.transaction(gno, { rowBytes: 1 << 20 }));
  const place = relay.received.end.offset;
  appendAll(relay, [source.rotate("binlog.000002"), ...source.start(), ...source.transaction(13)]);
  await relay.flush();
  const path = join(folder, "relay-bin.000001");
  const bytes = await readFile(path);
  bytes[5_000_000] = ~(bytes[5_000_000] as number) & 0xff;
  await writeFile(path, bytes);
  const reader = read(relay);
  await expect(readEvents(reader, 1000)).rejects.toMatchObject({
    code: "RELAY_LOG",
    where: { file: "relay-bin.000001", position: expect.any(Number) },
    hint: expect.stringContaining("empty the folder"),
  });
  expect(place).toBeGreaterThan(5_000_000);
  await truncate(path, 4);
});

test("damage in what this process wrote itself is found as well, at its event, after all events before it", async () => {
  const relay = await open();
  const source = new TestSource();
  appendAll(relay, source.start());
  const all: Buffer[] = [];
  for (let gno = 1; gno <= 600; gno++) {
    const transaction = source.transaction(gno, { rowBytes: 30_000 });
    all.push(...sent(transaction));
    if (!appendAll(relay, transaction)) await relay.flush();
  }
  await relay.flush();
  const path = join(folder, "relay-bin.000001");
  const bytes = await readFile(path);
  bytes[5_000_000] = ~(bytes[5_000_000] as number) & 0xff;
  await writeFile(path, bytes);
  const reader = read(relay);
  const got: Buffer[] = [];
  const position = await readUntilError(reader, got);
  expect(position).toBeLessThanOrEqual(5_000_000);
  expect(position).toBeGreaterThan(5_000_000 - 31_000);
  const before = bytesOf(got);
  expect(before).toBe(bytesOf(all).slice(0, before.length));
  expect(before.length / 2).toBeGreaterThan(5_000_000 - 32_000);
});

/** @returns where the relay log is damaged */
async function readUntilError(reader: RelayReader, events: Buffer[]): Promise<number | undefined> {
  try {
    for (;;) {
      const batch = await reader.next();
      events.push(...(batch?.events ?? []).filter((event) => !isControl(event)));
    }
  } catch (error) {
    expect(error).toMatchObject({ code: "RELAY_LOG", where: { file: "relay-bin.000001" } });
    return (error as ReplicationError).where.position;
  }
}
