import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FORMAT, le, makeEvent, makeFormatDescription, MARIADB_FORMAT } from "../../test/helpers/binlog-event.ts";
import { ReplicationError } from "../base/error.ts";
import { decodeEvent } from "./decode.ts";
import { EVENT_TYPE } from "./event-type.ts";
import { decodeFormatDescription } from "./events/format-description.ts";
import type { BinlogFormat } from "./format.ts";

describe("a format description", () => {
  it.each<[string, 0 | 1 | "unaware", Partial<BinlogFormat>]>([
    ["9.7.4", 1, { flavour: "mysql", checksum: "crc32" }],
    ["8.0.40-log", 0, { flavour: "mysql", checksum: "none" }],
    ["5.6.0-m4", "unaware", { flavour: "mysql", checksum: "none" }],
    ["5.5.62", "unaware", { flavour: "mysql", checksum: "none" }],
    ["10.11.19-MariaDB-log", 1, { flavour: "mariadb", checksum: "crc32" }],
    ["5.3.0-MariaDB", 0, { flavour: "mariadb", checksum: "none" }],
    ["5.2.0-MariaDB", "unaware", { flavour: "mariadb", checksum: "none" }],
  ])("of %s with checksum algorithm %s", (serverVersion, algorithm, expected) => {
    const { format, createdAt, inUse } = decodeFormatDescription(makeFormatDescription(serverVersion, algorithm));
    expect(format).toMatchObject({ binlogVersion: 4, serverVersion, headerLength: 19, ...expected });
    expect([format.postHeaderLengths[2], format.postHeaderLengths[19], format.postHeaderLengths[0]]).toEqual([
      13, 8, 0,
    ]);
    expect([createdAt, inUse]).toEqual([1_700_000_000, false]);
  });

  it("of an unknown binlog version, checksum or header length is corrupt", () => {
    for (const [offset, value] of [
      [19, 5],
      [19 + 56, 12],
    ] as const) {
      const event = makeFormatDescription("8.0.40");
      event[offset] = value;
      expect(() => decodeFormatDescription(event)).toThrow(expect.objectContaining({ code: "CORRUPT_EVENT" }));
    }
    const event = makeFormatDescription("8.0.40");
    event[event.length - 5] = 2;
    expect(() => decodeFormatDescription(event)).toThrow(expect.objectContaining({ code: "CORRUPT_EVENT" }));
  });
});

describe("small events", () => {
  it.each<[string, Buffer, BinlogFormat, unknown]>([
    [
      "Rotate",
      makeEvent(4, [le(8, 2 ** 33), "mysql-bin.000042"]),
      FORMAT,
      { kind: "rotate", file: "mysql-bin.000042", position: 2 ** 33 },
    ],
    [
      "Rotate of 3.23",
      makeEvent(4, ["bin.000042"]),
      { ...FORMAT, binlogVersion: 1 },
      { kind: "rotate", file: "bin.000042", position: 4 },
    ],
    [
      "Heartbeat",
      makeEvent(27, ["bin.000042"], { endPosition: 4711 }),
      FORMAT,
      { kind: "heartbeat", file: "bin.000042", position: 4711 },
    ],
    [
      "Heartbeat_v2 past 4 GiB, with a field of later days",
      makeEvent(41, [1, 10, "bin.000042", 2, 9, 0xfe, le(8, 2 ** 33), 7, 1, 9, 0]),
      FORMAT,
      { kind: "heartbeat", file: "bin.000042", position: 2 ** 33 },
    ],
    ["Incident", makeEvent(26, [le(2, 1), 4, "lost"]), FORMAT, { kind: "incident", incident: 1, message: "lost" }],
    ["Incident without a message", makeEvent(26, [le(2, 1)]), FORMAT, { kind: "incident", incident: 1, message: "" }],
    ["Xid", makeEvent(16, [le(8, 42)]), FORMAT, { kind: "xid", xid: 42n }],
    ["Stop", makeEvent(3, []), FORMAT, { kind: "stop" }],
    ["Intvar", makeEvent(5, [1, le(8, 42)]), FORMAT, { kind: "intvar", variable: "last-insert-id", value: 42n }],
    ["Rand", makeEvent(13, [le(8, 1), le(8, 2)]), FORMAT, { kind: "rand", seed1: 1n, seed2: 2n }],
    ["Rows_query", makeEvent(29, [3, "abc"]), FORMAT, { kind: "annotation", sql: Buffer.from("abc") }],
    ["Annotate_rows", makeEvent(160, ["abc"]), MARIADB_FORMAT, { kind: "annotation", sql: Buffer.from("abc") }],
    [
      "Binlog_checkpoint",
      makeEvent(161, [le(4, 3), "bin"]),
      MARIADB_FORMAT,
      { kind: "binlog-checkpoint", file: "bin" },
    ],
    [
      "Append_block",
      makeEvent(9, [le(4, 7), "data"]),
      FORMAT,
      { kind: "append-block", fileId: 7, data: Buffer.from("data") },
    ],
    ["Delete_file", makeEvent(11, [le(4, 7)]), FORMAT, { kind: "delete-file", fileId: 7 }],
    [
      "a user variable of a type of MariaDB's own",
      makeEvent(14, [le(4, 1), "a", 0, 0, le(4, 8), le(4, 3), "::1", 0, 2, 5, "inet6"]),
      MARIADB_FORMAT,
      {
        kind: "user-var",
        name: Buffer.from("a"),
        type: "string",
        collation: 8,
        unsigned: false,
        value: Buffer.from("::1"),
        dataType: "inet6",
      },
    ],
    [
      "View_change, named only",
      makeEvent(37, ["x"]),
      FORMAT,
      { kind: "opaque", type: 37, name: "View_change", body: Buffer.from("x") },
    ],
    [
      "an old row event, named only",
      makeEvent(20, ["x"]),
      FORMAT,
      { kind: "opaque", type: 20, name: "Write_rows_event_old", body: Buffer.from("x") },
    ],
    [
      "an unknown type",
      makeEvent(99, []),
      FORMAT,
      { kind: "opaque", type: 99, name: "Unknown(99)", body: Buffer.alloc(0) },
    ],
  ])("%s", (_name, event, format, expected) => {
    expect(decodeEvent(event, format)).toEqual(expected);
  });

  it.each<[string, Buffer]>([
    ["an Intvar of an unknown variable", makeEvent(5, [3, le(8, 1)])],
    ["a user variable of type row", makeEvent(14, [le(4, 1), "a", 0, 3, le(4, 8), le(4, 0)])],
    ["a number of 3 bytes in a user variable", makeEvent(14, [le(4, 1), "a", 0, 2, le(4, 8), le(4, 3), "abc"])],
    ["an XA identifier of 100 bytes", makeEvent(38, [0, le(4, 1), le(4, 100), le(4, 0), Buffer.alloc(100)])],
    [
      "a LOAD DATA whose file name is outside of its text",
      makeEvent(18, [Buffer.alloc(13), le(4, 1), le(4, 3), le(4, 90), 0, 0, "LOAD"]),
    ],
    ["a LOAD DATA with an unknown mode", makeEvent(18, [Buffer.alloc(13), le(4, 1), le(4, 0), le(4, 2), 9, 0, "LOAD"])],
  ])("%s is corrupt", (_what, event) => {
    expect(() => decodeEvent(event, FORMAT)).toThrow(expect.objectContaining({ code: "CORRUPT_EVENT" }));
  });
});

it("decodeEvent gives a result or a ReplicationError for any bytes under any type", () => {
  const types = [...Object.values(EVENT_TYPE), 99, 255];
  const small = fc.uint8Array({ maxLength: 120 });
  const sparse = fc.array(fc.constantFrom(0, 0, 0, 1, 2, 3, 8, 0x80, 0xfb, 0xfc, 0xff), { maxLength: 80 });
  fc.assert(
    fc.property(fc.constantFrom(...types), fc.oneof(small, sparse), fc.boolean(), (type, body, crc) => {
      const format: BinlogFormat = { ...MARIADB_FORMAT, checksum: crc ? "crc32" : "none" };
      try {
        decodeEvent(makeEvent(type, [Buffer.from(body)]), format);
      } catch (error) {
        expect(error).toBeInstanceOf(ReplicationError);
      }
    }),
    { numRuns: 5000 },
  );
});
