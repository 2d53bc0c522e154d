import { deflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { le, makeEvent, makeQuery, MARIADB_FORMAT } from "../../test/helpers/binlog-event.ts";
import { appendChecksum } from "./checksum.ts";
import { eventLength } from "./event.ts";
import type { BinlogFormat } from "./format.ts";
import { isCompressed, uncompressEvent } from "./uncompress.ts";

/** As MariaDB writes it: the length with its high byte first. */
function compress(content: Buffer, said = content.length): Buffer {
  const width = said > 0xffff ? 3 : said > 0xff ? 2 : 1;
  const length = Buffer.from([...le(width, said)].toReversed());
  return Buffer.concat([Buffer.from([0x80 | width]), length, deflateSync(content)]);
}

const sql = `INSERT INTO t VALUES ('${"x".repeat(70_000)}')`;
const query = (compressed: Buffer): Buffer =>
  makeEvent(165, [le(4, 7), le(4, 0), 1, le(2, 0), le(2, 0), "d", 0, compressed], { flags: 8, endPosition: 4711 });

describe("a compressed event of MariaDB", () => {
  it("with a query unpacks to the plain event, header kept", () => {
    const plain = uncompressEvent(query(compress(Buffer.from(sql))), MARIADB_FORMAT);
    const expected = makeQuery(sql);
    expected.writeUInt16LE(8, 17);
    expected.writeUInt32LE(4711, 13);
    expect(plain.equals(expected)).toBe(true);
    expect(eventLength(plain)).toBe(plain.length);
  });

  it.each([
    [166, 23],
    [167, 24],
    [168, 25],
    [169, 30],
    [170, 31],
    [171, 32],
  ])("of type %i becomes one of type %i, its bitmaps untouched", (type, plainType) => {
    const bitmaps = type === 167 || type === 170 ? [1, 1] : [1];
    const head = [le(6, 5), le(2, 1), ...(type >= 169 ? [le(2, 4), "ab"] : []), 1, ...bitmaps];
    const images = Buffer.from([0, 1, 0, 2]);
    const plain = uncompressEvent(makeEvent(type, [...head, compress(images)]), MARIADB_FORMAT);
    expect(plain).toEqual(makeEvent(plainType, [...head, images]));
  });

  it("loses its checksum", () => {
    const summed: BinlogFormat = { ...MARIADB_FORMAT, checksum: "crc32" };
    const plain = uncompressEvent(appendChecksum(query(compress(Buffer.from("SELECT 1")))), summed);
    expect(plain.subarray(-8).toString()).toBe("SELECT 1");
  });

  it.each([
    ["of an unknown algorithm", query(Buffer.from([0x91, 5, 0, 0]))],
    ["without a length", query(Buffer.from([0x80]))],
    ["that lies about its length, short", query(compress(Buffer.from("SELECT 1"), 5))],
    ["that lies about its length, long", query(compress(Buffer.from("SELECT 1"), 9))],
    ["of garbage", query(Buffer.from([0x81, 5, 1, 2, 3, 4]))],
    ["that is cut before its content", makeEvent(166, [le(6, 5)])],
  ])("%s is corrupt", (_what, event) => {
    expect(() => uncompressEvent(event, MARIADB_FORMAT)).toThrow(expect.objectContaining({ code: "CORRUPT_EVENT" }));
  });

  it("bigger than memory allows is refused before it is unpacked", () => {
    expect(() => uncompressEvent(query(compress(Buffer.from(sql))), MARIADB_FORMAT, 1000)).toThrow(
      expect.objectContaining({ code: "UNSUPPORTED" }),
    );
  });

  it("is of a type from 165 to 171", () => {
    expect([164, 165, 171, 172].map(isCompressed)).toEqual([false, true, true, false]);
    expect(() => uncompressEvent(makeQuery("x"), MARIADB_FORMAT)).toThrow(/compressed/);
  });
});
