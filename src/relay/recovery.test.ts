import { cp, mkdtemp, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog, type Log } from "../base/log.ts";
import { EVENT_TYPE } from "../binlog/event-type.ts";
import { eventType } from "../binlog/event.ts";
import { GtidSet } from "../gtid/mysql.ts";
import { RelayLog } from "./relay-log.ts";
import type { RelayReader } from "./relay-reader.ts";
import type { RelayState } from "./state.ts";
import { appendAll, TestSource, UUID } from "../../test/helpers/relay-stream.ts";

let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "abreast-relay-"));
});

afterEach(() => rm(folder, { recursive: true }));

const made = () => join(folder, "made");
const torn = () => join(folder, "torn");
const FILE = "relay-bin.000001";

/** A state to compare: what is in a set shows in its text only. */
function plain({ source, gtids, end }: RelayState) {
  return { source, gtids: gtids.kind === "mysql" ? gtids.set.toString() : gtids.kind, end };
}
type PlainState = ReturnType<typeof plain>;

/** A log of one file with `transactions` of them, closed; what it had received after each. */
async function make(source: TestSource, transactions: number, rowEvents = 1): Promise<PlainState[]> {
  const relay = await RelayLog.open({ folder: made(), log: silentLog });
  await relay.reset({ kind: "mysql", set: new GtidSet() });
  appendAll(relay, source.start());
  const states: PlainState[] = [];
  for (let gno = 1; gno <= transactions; gno++) {
    appendAll(relay, source.transaction(gno, { rowEvents }));
    states.push(plain(relay.received));
  }
  await relay.close();
  return states;
}

/** What recovery says of a copy of the log that `damage` has changed. */
async function recoverAfter(damage: (file: string) => Promise<void>, log: Log = silentLog): Promise<PlainState> {
  await rm(torn(), { recursive: true, force: true });
  await cp(made(), torn(), { recursive: true });
  await damage(join(torn(), FILE));
  const relay = await RelayLog.open({ folder: torn(), log });
  await relay.close();
  return plain(relay.recovered);
}

test.each([{ checksum: true }, { checksum: false }])(
  "a file cut at any byte of its last transaction ends after the one before (%o)",
  async ({ checksum }) => {
    const [, second, third] = (await make(new TestSource({ checksum }), 3)) as [PlainState, PlainState, PlainState];
    for (let bytes = second.end.offset; bytes < third.end.offset; bytes++) {
      expect(await recoverAfter((file) => truncate(file, bytes))).toEqual(second);
      expect((await stat(join(torn(), FILE))).size).toBe(second.end.offset);
    }
    expect(await recoverAfter(async () => {})).toEqual(third);
  },
);

test("a file with zeros in place of its end, as a power cut leaves it, ends after the last whole transaction", async () => {
  const states = await make(new TestSource(), 5, 3);
  const size = states[4]?.end.offset ?? 0;
  const first = states[0]?.end.offset ?? 0;
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: first, max: size - 1 }), async (from) => {
      const zeroed = async (file: string) => {
        const bytes = await readFile(file);
        await writeFile(file, bytes.fill(0, from));
      };
      expect(await recoverAfter(zeroed)).toEqual(states.findLast((state) => state.end.offset <= from));
    }),
    { numRuns: 40 },
  );
});

test("one wrong bit in the last transaction costs that transaction, and the log says how much was cut", async () => {
  const [, second, third] = (await make(new TestSource(), 3)) as [PlainState, PlainState, PlainState];
  const flips = fc.record({
    at: fc.integer({ min: second.end.offset, max: third.end.offset - 1 }),
    bit: fc.integer({ min: 0, max: 7 }),
  });
  await fc.assert(
    fc.asyncProperty(flips, async ({ at, bit }) => {
      const warnings: Record<string, unknown>[] = [];
      const log: Log = { info: () => {}, warn: (_message, fields) => warnings.push(fields ?? {}) };
      const flipped = async (file: string) => {
        const bytes = await readFile(file);
        bytes[at] = (bytes[at] as number) ^ (1 << bit);
        await writeFile(file, bytes);
      };
      expect(await recoverAfter(flipped, log)).toEqual(second);
      expect(warnings).toMatchObject([
        { file: FILE, offset: second.end.offset, bytes: third.end.offset - second.end.offset },
      ]);
    }),
    { numRuns: 60 },
  );
});

test("a last file whose beginning is torn is dropped, and the one before it is the end", async () => {
  const source = new TestSource();
  const [only] = (await make(source, 1)) as [PlainState];
  const relay = await RelayLog.open({ folder: made(), log: silentLog });
  appendAll(relay, [...source.start(source.file, source.position), ...source.transaction(2)]);
  await relay.close();
  for (const bytes of [0, 3, 50, 200]) {
    const recovered = await recoverAfter((file) => truncate(file.replace(FILE, "relay-bin.000002"), bytes));
    expect(recovered).toEqual(only);
    await expect(stat(join(torn(), "relay-bin.000002"))).rejects.toThrow("ENOENT");
  }
});

test("after recovery the stream goes on in a new file", async () => {
  const source = new TestSource();
  await make(source, 2);
  await recoverAfter(async (file) => truncate(file, (await stat(file)).size - 1));
  const relay = await RelayLog.open({ folder: torn(), log: silentLog });
  const { source: resume, gtids } = relay.received;
  expect(gtids.kind === "mysql" && gtids.set.toString()).toBe(`${UUID}:1`);
  appendAll(relay, [...source.start(resume?.file, resume?.position), ...source.transaction(2)]);
  await relay.close();
  const again = await RelayLog.open({ folder: torn(), log: silentLog });
  expect(plain(again.recovered)).toMatchObject({ gtids: `${UUID}:1-2`, end: { file: 2 } });
  await again.close();
});

test("an index that names a missing file stops the start with the file's name", async () => {
  await make(new TestSource(), 1);
  await expect(recoverAfter((file) => rm(file))).rejects.toMatchObject({ code: "RELAY_LOG", where: { file: FILE } });
});

test("files without an index stop the start, one leftover of a crash is deleted", async () => {
  await make(new TestSource(), 1);
  const index = join(torn(), "relay-bin.index");
  const second = join(torn(), "relay-bin.000002");
  await recoverAfter((file) => cp(file, second));
  await expect(stat(second)).rejects.toThrow("ENOENT");
  const strangers = async (file: string) => {
    await cp(file, second);
    await rm(index);
  };
  await expect(recoverAfter(strangers)).rejects.toMatchObject({
    code: "RELAY_LOG",
    where: { file: "relay-bin.index" },
  });
});

async function firstGno(reader: RelayReader): Promise<bigint | undefined> {
  for (;;) {
    const gtid = (await reader.next())?.events.find((event) => eventType(event) === EVENT_TYPE.GTID);
    if (gtid === undefined) continue;
    await reader.close();
    return gtid.readBigInt64LE(36);
  }
}

test("locate finds the first transaction that is not applied, by source position and by GTIDs", async () => {
  const relay = await RelayLog.open({ folder: made(), log: silentLog, fileBytesMax: 1200 });
  await relay.reset({ kind: "mysql", set: GtidSet.parse(`${UUID}:1-100`) });
  const source = new TestSource();
  appendAll(relay, source.start("binlog.000005", 700));
  const states = [relay.received];
  for (let gno = 101; gno <= 120; gno++) {
    appendAll(relay, source.transaction(gno));
    states.push(relay.received);
  }
  await relay.flush();
  expect(relay.fileCount).toBeGreaterThan(3);
  for (const [index, { source: applied, gtids }] of states.entries()) {
    const place = applied === undefined ? undefined : await relay.locate({ source: applied });
    expect(await relay.locate({ gtids })).toEqual(place);
    if (index < 20) expect(await firstGno(relay.read(place))).toBe(BigInt(101 + index));
  }
  const before = { file: "binlog.000005", position: 600 };
  expect(await relay.locate({ source: before })).toBeUndefined();
  expect(await relay.locate({ source: { file: "binlog.000005", position: source.position + 1 } })).toBeUndefined();
  expect(await relay.locate({ gtids: { kind: "mysql", set: GtidSet.parse(`${UUID}:1-99`) } })).toBeUndefined();
  await relay.close();
});

test("locate does not guess from GTIDs in a log that began at a file position", async () => {
  const relay = await RelayLog.open({ folder: made(), log: silentLog });
  const source = new TestSource();
  appendAll(relay, [...source.start("binlog.000005", 700), ...source.transaction(5)]);
  await relay.flush();
  expect(await relay.locate({ gtids: { kind: "mysql", set: GtidSet.parse(`${UUID}:1-5`) } })).toBeUndefined();
  expect(await relay.locate({ source: { file: "binlog.000005", position: 700 } })).toBeDefined();
  await relay.close();
});

test("an emptied first file was on its way out: a purge on a full disk was cut short", async () => {
  const source = new TestSource();
  await make(source, 1);
  const relay = await RelayLog.open({ folder: made(), log: silentLog });
  appendAll(relay, [...source.start(source.file, source.position), ...source.transaction(2)]);
  await relay.close();
  expect(await recoverAfter((file) => truncate(file))).toMatchObject({ gtids: `${UUID}:1-2` });
  await expect(stat(join(torn(), FILE))).rejects.toThrow("ENOENT");
});
