import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FORMAT, le, makeEvent } from "../../test/helpers/binlog-event.ts";
import {
  appendChecksum,
  checksumMatches,
  contentEnd,
  renewChecksum,
  stripChecksum,
  verifyChecksum,
  withoutChecksums,
} from "./checksum.ts";
import { EVENT_FLAG, eventLength } from "./event.ts";
import type { BinlogFormat } from "./format.ts";

const SUMMED: BinlogFormat = { ...FORMAT, checksum: "crc32" };
const xid = makeEvent(16, [le(8, 42)]);

describe("an event's checksum", () => {
  it("is the CRC32 of zlib over all bytes before it", () => {
    // Taken from a file of MySQL 9.6: the Xid event at 0x1fe, its last four bytes the CRC.
    const event = Buffer.from("afae856910010000001f0000001d02000000002800000000000000b6602ab2", "hex");
    expect(checksumMatches(event)).toBe(true);
    event[20] = 0x29;
    expect(checksumMatches(event)).toBe(false);
  });

  it("comes off and goes on again, with the length field right both times", () => {
    const body = fc.uint8Array({ maxLength: 300 });
    fc.assert(
      fc.property(body, (bytes) => {
        const plain = makeEvent(29, [Buffer.from(bytes)]);
        const summed = appendChecksum(plain);
        expect(eventLength(summed)).toBe(plain.length + 4);
        expect(checksumMatches(summed)).toBe(true);
        expect(stripChecksum(summed)).toEqual(plain);
      }),
    );
  });

  it("of a format description does not count the flag that the file is in use", () => {
    const description = appendChecksum(makeEvent(15, [Buffer.alloc(80)]));
    description.writeUInt16LE(EVENT_FLAG.BINLOG_IN_USE, 17);
    expect(checksumMatches(description)).toBe(true);
    const other = appendChecksum(xid);
    other.writeUInt16LE(EVENT_FLAG.BINLOG_IN_USE, 17);
    expect(checksumMatches(other)).toBe(false);
  });

  it("is renewed in place after a change", () => {
    const event = appendChecksum(xid);
    event.writeUInt32LE(7, 5);
    expect(checksumMatches(event)).toBe(false);
    renewChecksum(event);
    expect(checksumMatches(event)).toBe(true);
  });

  it("that is wrong is told with the event's name, unless the format has none", () => {
    const event = appendChecksum(xid);
    event[19] = 1;
    expect(() => verifyChecksum(event, SUMMED)).toThrow(
      expect.objectContaining({ code: "CORRUPT_EVENT", message: expect.stringContaining("Xid"), retry: "later" }),
    );
    expect(() => verifyChecksum(event, FORMAT)).not.toThrow();
    expect(checksumMatches(Buffer.alloc(10))).toBe(false);
  });

  it("is left out of an event's content", () => {
    const event = appendChecksum(xid);
    expect(contentEnd(event, SUMMED)).toBe(xid.length);
    expect(contentEnd(xid, withoutChecksums(SUMMED))).toBe(xid.length);
    expect(withoutChecksums(SUMMED)).toBe(withoutChecksums(SUMMED));
  });
});
