import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FORMAT, le, makeEvent, MARIADB_FORMAT } from "../../../test/helpers/binlog-event.ts";
import { ByteReader } from "../../base/reader.ts";
import { appendChecksum } from "../checksum.ts";
import { decodeGtid } from "./gtid.ts";
import { decodeMariadbGtid } from "./mariadb-gtid.ts";
import { varlen, varlenNumber, varlenSigned } from "./serialization.ts";

const UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
const uuidBytes = Buffer.from(UUID.replaceAll("-", ""), "hex");

const since56 = [1, uuidBytes, le(8, 23)];
const since57 = [...since56, 2, le(8, 5), le(8, 6)];

describe("a GTID event", () => {
  it("of MySQL 5.6 has an identity and nothing else", () => {
    expect(decodeGtid(makeEvent(33, since56), FORMAT)).toMatchObject({
      uuid: UUID,
      tag: "",
      gno: 23n,
      anonymous: false,
      mayHaveStatements: true,
      lastCommitted: 0,
      sequenceNumber: 0,
      immediateCommitUs: 0,
      transactionLength: 0,
      commitGroupTicket: undefined,
    });
  });

  it("of an early 5.7, with another clock, is read up to it", () => {
    expect(decodeGtid(makeEvent(33, [...since56, 1, Buffer.alloc(16, 9)]), FORMAT)).toMatchObject({
      gno: 23n,
      lastCommitted: 0,
    });
  });

  it("of 5.7 has the logical clock", () => {
    expect(decodeGtid(makeEvent(33, since57), FORMAT)).toMatchObject({
      lastCommitted: 5,
      sequenceNumber: 6,
      immediateCommitUs: 0,
    });
  });

  it("of 8.0 on its first server has one time and one version, and stands for both", () => {
    const time = 1_796_039_883_929_164;
    const event = makeEvent(33, [...since57, le(7, time), 0xfc, le(2, 300), le(4, 80_034)]);
    expect(decodeGtid(event, FORMAT)).toMatchObject({
      immediateCommitUs: time,
      originalCommitUs: time,
      transactionLength: 300,
      immediateServerVersion: 80_034,
      originalServerVersion: 80_034,
      commitGroupTicket: undefined,
    });
  });

  it("of 8.0 further down a chain has both, exact to the microsecond", () => {
    const event = makeEvent(33, [
      ...since57,
      le(7, 1_796_039_883_929_165n | (1n << 55n)),
      le(7, 1_796_039_883_000_001),
      99,
      le(4, (80_034 | 0x8000_0000) >>> 0),
      le(4, 50_744),
      le(8, 77),
    ]);
    expect(decodeGtid(event, FORMAT)).toMatchObject({
      immediateCommitUs: 1_796_039_883_929_165,
      originalCommitUs: 1_796_039_883_000_001,
      transactionLength: 99,
      immediateServerVersion: 80_034,
      originalServerVersion: 50_744,
      commitGroupTicket: 77n,
    });
  });

  it("that is anonymous says so", () => {
    expect(decodeGtid(makeEvent(34, [0, Buffer.alloc(16), le(8, 0), 2, le(8, 0), le(8, 1)]), FORMAT)).toMatchObject({
      anonymous: true,
      uuid: "00000000-0000-0000-0000-000000000000",
      gno: 0n,
      mayHaveStatements: false,
    });
  });

  it("keeps two sources apart that take turns", () => {
    const other = Buffer.from(uuidBytes);
    other[15] = 0x63;
    const uuids = [uuidBytes, other, uuidBytes, other].map(
      (uuid) => decodeGtid(makeEvent(33, [0, uuid, le(8, 1)]), FORMAT).uuid,
    );
    expect(uuids).toEqual([UUID, `${UUID.slice(0, -1)}3`, UUID, `${UUID.slice(0, -1)}3`]);
  });

  it("does not take its checksum for a field", () => {
    const event = appendChecksum(makeEvent(33, since57));
    expect(decodeGtid(event, { ...FORMAT, checksum: "crc32" })).toMatchObject({
      sequenceNumber: 6,
      transactionLength: 0,
    });
  });

  it.each([0, 10, 24])("of %i bytes is corrupt", (length) => {
    const body = Buffer.concat(since56.map((part) => (typeof part === "number" ? Buffer.from([part]) : part)));
    expect(() => decodeGtid(makeEvent(33, [body.subarray(0, length)]), FORMAT)).toThrow(
      expect.objectContaining({ code: "CORRUPT_EVENT" }),
    );
  });
});

describe("a tagged GTID event", () => {
  // The body of one that MySQL 9.6 wrote.
  const body = Buffer.from(
    "0278000000" +
      "02aaee2502080465" +
      "0222c503c502e1029cc103110355" +
      "02dead03" +
      "040c" +
      "060a6d79746167" +
      "0800" +
      "0a04" +
      "0c7f1cf3b814244a0610a10412430f0b",
    "hex",
  );

  it("has variable lengths and defaults for what is absent", () => {
    expect(decodeGtid(makeEvent(42, [body]), FORMAT)).toEqual({
      kind: "gtid",
      anonymous: false,
      uuid: "55778904-0299-11f1-b1b8-4ef0c4956feb",
      tag: "mytag",
      gno: 3n,
      mayHaveStatements: false,
      lastCommitted: 0,
      sequenceNumber: 1,
      immediateCommitUs: 1_770_368_687_207_196,
      originalCommitUs: 1_770_368_687_207_196,
      transactionLength: 296,
      originalServerVersion: 90_600,
      immediateServerVersion: 90_600,
      commitGroupTicket: undefined,
    });
  });

  it("with a field that it does not know is read when that field may be left out, and refused when not", () => {
    const more = Buffer.concat([body, Buffer.from([12 << 1, 5 << 1])]);
    more[1] = more.length << 1;
    expect(decodeGtid(makeEvent(42, [more]), FORMAT)).toMatchObject({ tag: "mytag", gno: 3n });
    more[2] = 12 << 1;
    expect(() => decodeGtid(makeEvent(42, [more]), FORMAT)).toThrow(expect.objectContaining({ code: "UNKNOWN_EVENT" }));
  });

  it.each([
    ["cut", body.subarray(0, 40)],
    ["of another form", Buffer.concat([Buffer.from([4]), body.subarray(1)])],
    ["without fields", Buffer.from([2, 6, 0])],
    ["out of order", Buffer.concat([Buffer.from([2, 16, 0, 4, 4, 0, 0, 0])])],
  ])("%s is corrupt", (_what, bytes) => {
    expect(() => decodeGtid(makeEvent(42, [bytes]), FORMAT)).toThrow(
      expect.objectContaining({ code: "CORRUPT_EVENT" }),
    );
  });

  it("has numbers whose first byte tells their length (examples of the server's own description)", () => {
    const read = (...bytes: number[]): ByteReader => new ByteReader(Buffer.from(bytes));
    expect(varlen(read(0xfb, 0xff, 0x07))).toBe(65_535n);
    expect(varlenNumber(read(0xfb, 0xff, 0x07))).toBe(65_535);
    expect(varlenSigned(read(0xf3, 0xff, 0x0f))).toBe(65_535n);
    expect(varlenSigned(read(0xeb, 0xff, 0x0f))).toBe(-65_535n);
    expect(varlenSigned(read(0xfb, 0xff, 0x0f))).toBe(-65_536n);
    expect(varlen(read(0xff, 1, 0, 0, 0, 0, 0, 0, 0x80))).toBe(0x8000_0000_0000_0001n);
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 0xffff_ffff_ffff_ffffn }), (value) => {
        const bytes = encodeVarlen(value);
        expect(varlen(new ByteReader(bytes))).toBe(value);
        if (value <= BigInt(Number.MAX_SAFE_INTEGER)) expect(varlenNumber(new ByteReader(bytes))).toBe(Number(value));
      }),
    );
  });
});

function encodeVarlen(value: bigint): Buffer {
  let more = 0;
  while (more < 8 && value >> BigInt(7 * (more + 1)) > 0n) more++;
  if (more === 8) return Buffer.concat([Buffer.from([0xff]), le(8, value)]);
  const whole = (value << BigInt(more + 1)) | BigInt((1 << more) - 1);
  return le(more + 1, whole);
}

describe("a MariaDB GTID event", () => {
  const gtid = (flags: number, ...rest: (Buffer | number | string)[]): Buffer =>
    makeEvent(162, [le(8, 77), le(4, 3), flags, ...rest], { serverId: 9 });

  it("of a transaction", () => {
    expect(decodeMariadbGtid(gtid(0x0c, Buffer.alloc(6)), MARIADB_FORMAT)).toEqual({
      kind: "mariadb-gtid",
      domainId: 3,
      serverId: 9,
      sequence: 77n,
      standalone: false,
      transactional: true,
      allowParallel: true,
      waited: false,
      ddl: false,
      commitId: undefined,
      xid: undefined,
      xa: undefined,
      alter: undefined,
      alterStartSequence: undefined,
      extraEngines: undefined,
      threadId: undefined,
    });
  });

  it("of a group commit has its id, with or without the extra flags behind it", () => {
    expect(decodeMariadbGtid(gtid(0x02, le(8, 5)), MARIADB_FORMAT).commitId).toBe(5n);
    expect(decodeMariadbGtid(gtid(0x12, le(8, 5), 0), MARIADB_FORMAT)).toMatchObject({ commitId: 5n, waited: true });
  });

  it("of all that can be in one", () => {
    const event = gtid(0xc2, le(8, 5), le(4, 7), 1, 2, "abc", 0x1d, 2, le(8, 70), le(4, 1234));
    expect(decodeMariadbGtid(event, MARIADB_FORMAT)).toMatchObject({
      commitId: 5n,
      xid: "X'61',X'6263',7",
      xa: "prepare",
      alter: "commit",
      alterStartSequence: 70n,
      extraEngines: 2,
      threadId: 1234,
    });
  });

  it.each([
    ["in the middle", makeEvent(162, [le(8, 77)])],
    ["in its XA identifier", gtid(0x40, le(4, 7), 60, 60, 1)],
    ["in the ALTER's sequence", gtid(0x20, 4, le(4, 0))],
  ])("that ends %s is corrupt", (_where, event) => {
    expect(() => decodeMariadbGtid(event, MARIADB_FORMAT)).toThrow(expect.objectContaining({ code: "CORRUPT_EVENT" }));
  });
});
