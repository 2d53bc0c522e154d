import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FORMAT, le, makeEvent, makeFormatDescription } from "../../test/helpers/binlog-event.ts";
import { ReplicationError } from "../base/error.ts";
import { appendChecksum, renewChecksum } from "./checksum.ts";
import { BinlogFileSplitter } from "./file-reader.ts";
import type { SplitterOptions } from "./file-reader.ts";

const MAGIC = Buffer.from([0xfe, 0x62, 0x69, 0x6e]);
const description = makeFormatDescription("8.0.40");
const events = [description, makeEvent(16, [le(8, 1)]), makeEvent(29, [0, "x".repeat(500)]), makeEvent(3, [])];
const file = Buffer.concat([MAGIC, ...events]);

interface Reading {
  events: Buffer[];
  offsets: number[];
  error: ReplicationError | undefined;
}

function readAll(bytes: Buffer, cuts: readonly number[] = [], options: SplitterOptions = {}): Reading {
  const splitter = new BinlogFileSplitter(options);
  const reading: Reading = { events: [], offsets: [], error: undefined };
  const edges = [0, ...cuts.filter((cut) => cut < bytes.length).toSorted((a, b) => a - b), bytes.length];
  try {
    for (const [i, from] of edges.slice(0, -1).entries()) {
      splitter.feed(bytes.subarray(from, edges[i + 1]));
      for (let event = splitter.next(); event !== undefined; event = splitter.next()) {
        reading.events.push(Buffer.from(event));
        reading.offsets.push(splitter.eventOffset);
      }
    }
    splitter.finish();
  } catch (error) {
    if (!(error instanceof ReplicationError)) throw error;
    reading.error = error;
  }
  return reading;
}

describe("a binlog file cut into events", () => {
  it("gives every event with its offset", () => {
    const reading = readAll(file);
    expect(reading.error).toBeUndefined();
    expect(reading.events).toEqual(events);
    const starts = events.map((_, i) => 4 + events.slice(0, i).reduce((sum, { length }) => sum + length, 0));
    expect(reading.offsets).toEqual(starts);
  });

  it("gives the same events however the bytes arrive", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: file.length }), { maxLength: 30 }), (cuts) => {
        expect(readAll(file, cuts)).toEqual(readAll(file));
      }),
    );
  });

  it("ends with the offset of the event that is cut off, wherever that is", () => {
    for (let length = 0; length < file.length; length++) {
      const { events: whole, offsets, error } = readAll(file.subarray(0, length));
      const last = whole.at(-1);
      const end = last === undefined ? (length < 4 ? 0 : 4) : (offsets.at(-1) ?? 0) + last.length;
      if (length === end && length > 4) expect(error).toBeUndefined();
      else if (length !== 4)
        expect(error).toMatchObject({ code: "CORRUPT_EVENT", where: { position: end }, hint: expect.any(String) });
    }
  });

  it.each([
    ["is something else", Buffer.from("PNG something"), "BINLOG_FORMAT", 0],
    [
      "is encrypted by MySQL",
      Buffer.concat([Buffer.from([0xfd, 0x62, 0x69, 0x6e]), Buffer.alloc(600)]),
      "ENCRYPTED",
      0,
    ],
    ["lacks a format description", Buffer.concat([MAGIC, makeEvent(16, [le(8, 1)])]), "BINLOG_FORMAT", 4],
    ["has an event of no length", Buffer.concat([file, Buffer.alloc(30)]), "CORRUPT_EVENT", file.length],
    [
      "has an event of gigabytes",
      Buffer.concat([file, makeEvent(16, []).fill(0xff, 9, 13)]),
      "CORRUPT_EVENT",
      file.length,
    ],
    ["is empty", Buffer.alloc(0), "CORRUPT_EVENT", 0],
  ])("that %s says so", (_what, bytes, code, position) => {
    expect(readAll(bytes).error).toMatchObject({ code, where: { position } });
  });

  it("stops where the encryption of MariaDB starts", () => {
    const start = makeEvent(164, [1, le(4, 1), Buffer.alloc(12)]);
    const encrypted = Buffer.concat([MAGIC, makeFormatDescription("10.11.19-MariaDB"), start]);
    const { events: clear, error } = readAll(Buffer.concat([encrypted, Buffer.alloc(100, 7)]));
    expect(clear).toHaveLength(2);
    expect(error).toMatchObject({ code: "ENCRYPTED", where: { position: encrypted.length } });
    expect(readAll(encrypted).error).toBeUndefined();
  });

  it("checks checksums when the file has some, and only when asked to", () => {
    const summed = makeFormatDescription("8.0.40", 1);
    renewChecksum(summed);
    const event = appendChecksum(makeEvent(16, [le(8, 1)]));
    const good = Buffer.concat([MAGIC, summed, event]);
    expect(readAll(good).error).toBeUndefined();
    const bad = Buffer.from(good);
    bad[good.length - 10] = 0xee;
    expect(readAll(bad).error).toMatchObject({ code: "CORRUPT_EVENT", where: { position: 4 + summed.length } });
    expect(readAll(bad, [], { verify: false }).events).toHaveLength(2);
  });

  it("gives nothing more after a fault", () => {
    const splitter = new BinlogFileSplitter();
    splitter.feed(Buffer.concat([MAGIC, description, Buffer.alloc(40)]));
    splitter.next();
    expect(() => splitter.next()).toThrow(ReplicationError);
    splitter.feed(file);
    expect(() => splitter.next()).toThrow(ReplicationError);
    expect(() => splitter.finish()).toThrow(ReplicationError);
  });

  it("can begin in the middle when the format is known", () => {
    const splitter = new BinlogFileSplitter({ offset: 1000, format: FORMAT });
    splitter.feed(events[1] as Buffer);
    expect(splitter.next()).toEqual(events[1]);
    expect([splitter.eventOffset, splitter.endOffset]).toEqual([1000, 1000 + (events[1]?.length ?? 0)]);
    expect(() => new BinlogFileSplitter({ offset: 1000 })).toThrow();
  });

  it("takes a new format wherever one comes: a relay log has several", () => {
    const summed = makeFormatDescription("8.0.40", 1);
    renewChecksum(summed);
    const tail = appendChecksum(makeEvent(16, [le(8, 1)]));
    const { events: read, error } = readAll(Buffer.concat([file, summed, tail]));
    expect(error).toBeUndefined();
    expect(read.at(-1)).toEqual(tail);
  });

  it("reads a file of MySQL 3.23, whose headers have 13 bytes", () => {
    const start = Buffer.alloc(13 + 56);
    start[4] = 1;
    start.writeUInt32LE(start.length, 9);
    start.writeUInt16LE(1, 13);
    start.write("3.23.58-log", 15);
    const query = Buffer.alloc(13 + 11 + 10);
    query[4] = 2;
    query.writeUInt32LE(query.length, 9);
    const splitter = new BinlogFileSplitter();
    splitter.feed(Buffer.concat([MAGIC, start, query]));
    expect(splitter.next()).toEqual(start);
    expect(splitter.format).toMatchObject({ binlogVersion: 1, headerLength: 13, serverVersion: "3.23.58-log" });
    expect(splitter.next()).toEqual(query);
    splitter.finish();
  });

  it("copies a big event that comes in many pieces once", () => {
    const big = makeEvent(29, [Buffer.alloc(4_000_000, 1)]);
    const splitter = new BinlogFileSplitter();
    splitter.feed(Buffer.concat([MAGIC, description]));
    expect(splitter.next()).toEqual(description);
    let asked = 0;
    for (let at = 0; at < big.length; at += 1000) {
      splitter.feed(big.subarray(at, at + 1000));
      const event = splitter.next();
      asked++;
      if (event !== undefined) expect(event.equals(big)).toBe(true);
    }
    expect(asked).toBe(Math.ceil(big.length / 1000));
    splitter.finish();
  });
});
