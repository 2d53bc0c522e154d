import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createPrng } from "../src/base/prng.ts";
import { BinlogFileSplitter } from "../src/binlog/file-reader.ts";
import { TemporaryFolder } from "../src/bench/temporary-folder.ts";
import { findInputs, type BinlogInput, type Fault } from "../src/inspect/input/input.ts";
import { inspect } from "../src/inspect/inspect.ts";
import type { InspectReport } from "../src/inspect/report.ts";
import { transactionsOf } from "../src/inspect/input/transactions.ts";
import { collectedCorpus, fileOf, keptSeeds } from "./helpers/inspect-fuzz.ts";
import { READERS } from "./helpers/inspect-readers.ts";
import { closeBinlog } from "./helpers/binlog-agreement.ts";
import { query, useServer } from "./helpers/servers.ts";

interface Reading {
  /** Where each whole transaction ends. */
  ends: number[];
  /** In whole transactions. */
  rows: number;
  faults: Fault[];
}

async function read(file: Buffer, verifyChecksums = false): Promise<Reading> {
  const chunks = async function* (): AsyncGenerator<Buffer> {
    yield file;
  };
  const input: BinlogInput = { name: "binlog.000002", bytes: file.length, chunks };
  const reading: Reading = { ends: [], rows: 0, faults: [] };
  const options = { onFault: (fault: Fault) => reading.faults.push(fault), verifyChecksums };
  for await (const { end, rows } of transactionsOf([input], options)) {
    reading.ends.push(end.position);
    reading.rows += rows;
  }
  return reading;
}

let folder: TemporaryFolder;
beforeAll(() => {
  folder = new TemporaryFolder("inspect-damaged");
});
afterAll(() => folder.remove());

async function inspected(file: Buffer): Promise<InspectReport> {
  const place = join(folder.path, "binlog.000002");
  writeFileSync(place, file);
  return inspect(await findInputs([place]));
}

/** Of all faults but the one that is no damage: the log ends with a transaction that is not whole. */
function offsetsOf({ faults }: InspectReport): number[] {
  return faults.filter(({ reason }) => !reason.includes("ends inside a transaction")).map(({ offset }) => offset);
}

function eventStarts(file: Buffer): number[] {
  const splitter = new BinlogFileSplitter();
  const starts: number[] = [];
  splitter.feed(file);
  while (splitter.next() !== undefined) starts.push(splitter.eventOffset);
  return starts;
}

/** A little of everything: each byte of the file is damaged in turn, and the file read each time. */
const LOG = [
  "CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20), j JSON)",
  `INSERT INTO t VALUES (1, 'one', '{"a": 1}'), (2, NULL, NULL)`,
  "SET binlog_transaction_compression=ON; UPDATE t SET v = 'two'; SET binlog_transaction_compression=OFF",
  "SET gtid_next='AUTOMATIC:tag'; DELETE FROM t WHERE id = 2; SET gtid_next='AUTOMATIC'",
  "SET binlog_format=STATEMENT; SET @u = 'x'; INSERT INTO t VALUES (3, @u, NULL); SET binlog_format=ROW",
  "XA START 'x'; INSERT INTO t VALUES (4, 'four', NULL); XA END 'x'; XA PREPARE 'x'; XA COMMIT 'x'",
  "SET binlog_row_value_options=PARTIAL_JSON; UPDATE t SET j = JSON_SET(j, '$.a', 2) WHERE id = 1",
];

describe("a binlog of mysql-9.7", () => {
  const server = useServer("mysql-9.7");
  let file: Buffer;
  let whole: Reading;
  let starts: number[];

  beforeAll(async () => {
    await closeBinlog(server());
    await query(server(), LOG.join(";"));
    file = readFileSync(join(server().dataFolder, await closeBinlog(server())));
    whole = await read(file);
    starts = eventStarts(file);
    expect(whole.faults).toEqual([]);
    expect(whole.ends.length).toBe(9);
  });

  it("cut at any byte has the transactions that end before it, and one fault where an event is cut", async () => {
    // The four bytes alone are a log that nothing was written to.
    const boundaries = new Set([...starts, file.length]);
    for (let cut = 0; cut < file.length; cut++) {
      const { ends, faults } = await read(file.subarray(0, cut));
      expect(ends).toEqual(whole.ends.filter((end) => end <= cut));
      const offset = cut < 4 ? 0 : starts.findLast((start) => start <= cut);
      const expected = boundaries.has(cut) ? [] : [{ file: "binlog.000002", offset }];
      expect(faults.map(({ file: name, offset: at }) => ({ file: name, offset: at }))).toEqual(expected);
    }
  });

  it("cut anywhere is counted by inspect as the applier's reader has it", async () => {
    const prng = createPrng(6);
    const cuts = [...starts, ...Array.from({ length: 100 }, () => prng.integer(0, file.length))];
    for (const cut of cuts) {
      const { ends, faults } = await read(file.subarray(0, cut));
      const report = await inspected(file.subarray(0, cut));
      expect(report.transactions).toBe(ends.length);
      expect(offsetsOf(report)).toEqual(faults.map(({ offset }) => offset));
    }
  });

  it("with events left out, doubled or moved is counted by inspect as far as it can be read", async () => {
    const events = starts.map((start, i) => file.subarray(start, starts[i + 1] ?? file.length));
    const prng = createPrng(9);
    for (let run = 0; run < 300; run++) {
      const mixed = [...events];
      const at = prng.integer(1, events.length - 1);
      const event = mixed[at] as Buffer;
      const [left, to] = [prng.integer(0, 3), prng.integer(1, mixed.length)];
      mixed.splice(at, left);
      if (left < 2) mixed.splice(to, 0, event);
      const damaged = Buffer.concat([file.subarray(0, 4), ...mixed]);
      const { ends, rows, faults } = await read(damaged);
      const report = await inspected(damaged);
      const { inserted, updated, deleted } = report.rows;
      const told = `event ${at}, ${left} left out, put to ${to}`;
      expect(offsetsOf(report)[0], told).toBe(faults[0]?.offset);
      // A table map is used wherever it stood, which the applier's reader does not do behind a fault.
      expect(report.transactions, told).toBeGreaterThanOrEqual(ends.length);
      expect(report.transactions - ends.length, told).toBeLessThanOrEqual(faults.length);
      if (report.faults.length === 0) expect(inserted + updated + deleted, told).toBe(rows);
    }
  });

  it("with one wrong bit anywhere tells so when checksums are checked, and has all that is before it", async () => {
    const prng = createPrng(7);
    // Not in the format description, which says whether there are checksums.
    for (let at = starts[1] as number; at < file.length; at++) {
      const damaged = Buffer.from(file);
      damaged[at] = (damaged[at] as number) ^ (1 << prng.integer(0, 7));
      const { ends, faults } = await read(damaged, true);
      const event = starts.findLast((start) => start <= at) as number;
      expect(faults[0]?.offset).toBe(event);
      expect(ends.filter((end) => end <= event)).toEqual(whole.ends.filter((end) => end <= event));
    }
  });

  it("with a wrong length in any event ends without an error of ours", async () => {
    const prng = createPrng(8);
    for (const start of starts) {
      for (const length of [0, 1, 18, 19, 23, prng.integer(0, file.length), 0x7fff_ffff, 0xffff_ffff]) {
        const damaged = Buffer.from(file);
        damaged.writeUInt32LE(length, start + 9);
        const { ends } = await read(damaged);
        expect(ends.filter((end) => end <= start)).toEqual(whole.ends.filter((end) => end <= start));
      }
    }
  });
});

describe("files that a reader once did not survive", () => {
  const collected = collectedCorpus();
  const seeds = [...keptSeeds()];

  it("are read by every reader", async () => {
    for (const [name, seed] of seeds) {
      const file = fileOf(seed, collected);
      if (file === undefined) continue;
      for (const [reader, readFile] of Object.entries(READERS)) {
        await expect(readFile(file), `${name} by ${reader}`).resolves.toBeUndefined();
      }
    }
  });

  it("are small", () => {
    for (const [name, seed] of seeds) expect(seed.file?.length ?? 0, name).toBeLessThan(40_000);
  });
});

describe("compressed files", () => {
  it("that are cut or broken anywhere end in a fault, and what comes before is read", async () => {
    const plain = Buffer.from(Array.from({ length: 3_000 }, (_, i) => (i * i) >> 3));
    const packed = gzipSync(plain);
    for (let at = 2; at < packed.length; at += 41) {
      const broken = Buffer.from(packed);
      broken[at] = (broken[at] as number) ^ 0xff;
      for (const file of [packed.subarray(0, at), broken]) {
        const report = await inspected(file);
        expect(report.faults.length, `byte ${at}`).toBe(1);
        expect(report.transactions).toBe(0);
      }
    }
  });
});
