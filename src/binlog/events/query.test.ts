import { describe, expect, it } from "vitest";
import { FORMAT, le, makeEvent, makeQuery } from "../../../test/helpers/binlog-event.ts";
import { appendChecksum } from "../checksum.ts";
import type { BinlogFormat } from "../format.ts";
import { decodeQuery, querySqlOffset } from "./query.ts";

const status = (...parts: (Buffer | number | string)[]): Buffer => makeEvent(0, parts).subarray(19);
const decode = (...parts: (Buffer | number | string)[]) => decodeQuery(makeQuery("SELECT 1", status(...parts)), FORMAT);

describe("a query event", () => {
  it("has a statement in bytes, whatever its character set, and a schema", () => {
    const query = decodeQuery(makeQuery("SELECT 1"), FORMAT);
    expect(query).toMatchObject({ threadId: 7, executionSeconds: 0, errorCode: 0, schema: "d", status: {} });
    expect(query.sql.toString()).toBe("SELECT 1");
  });

  it("tells where its statement begins without decoding the rest", () => {
    const event = makeQuery("SELECT 1", status(1, le(8, 3)));
    expect(event.subarray(querySqlOffset(event, FORMAT)).toString()).toBe("SELECT 1");
  });

  it("keeps its checksum out of the statement", () => {
    const summed: BinlogFormat = { ...FORMAT, checksum: "crc32" };
    expect(decodeQuery(appendChecksum(makeQuery("COMMIT")), summed).sql.toString()).toBe("COMMIT");
  });

  it("of MySQL 4.1 has no status variables", () => {
    const old: BinlogFormat = { ...FORMAT, binlogVersion: 3, postHeaderLengths: Uint8Array.from([0, 56, 11]) };
    const event = makeEvent(2, [le(4, 7), le(4, 0), 1, le(2, 0), "d", 0, "DROP TABLE t"]);
    expect(decodeQuery(event, old).sql.toString()).toBe("DROP TABLE t");
    expect(event.subarray(querySqlOffset(event, old)).toString()).toBe("DROP TABLE t");
  });

  it("of a later version may have a longer fixed part", () => {
    const later: BinlogFormat = { ...FORMAT, postHeaderLengths: Uint8Array.from([0, 0, 15]) };
    const event = makeEvent(2, [le(4, 7), le(4, 0), 1, le(2, 0), le(2, 0), 9, 9, "d", 0, "SELECT 2"]);
    expect(decodeQuery(event, later).sql.toString()).toBe("SELECT 2");
  });
});

describe("status variables", () => {
  it("of every code are read, in any order", () => {
    const variables = [
      [20, 1],
      [131, 2, le(2, 45), le(2, 46), le(2, 8), le(2, 47)],
      [0, le(4, 0x0400_4000)],
      [1, le(8, 0x1_2000_0000n)],
      [6, 3, "std"],
      [3, le(2, 5), le(2, 2)],
      [4, le(2, 224), le(2, 225), le(2, 255)],
      [5, 6, "+03:00"],
      [7, le(2, 4)],
      [8, le(2, 33)],
      [9, le(8, 6)],
      [10, le(4, 99)],
      [11, 4, "user", 4, "host"],
      [12, 2, "one\0two\0"],
      [13, le(3, 999_999)],
      [14, le(8, 0)],
      [15, Buffer.alloc(16)],
      [16, 1],
      [17, le(8, 88)],
      [18, le(2, 255)],
      [19, 1],
      [21, 1],
      [129, le(8, 55)],
      [130, 4, le(8, 18)],
      [255],
    ];
    const query = decode(...variables.flat());
    expect(query.status).toEqual({
      defaultTableEncryption: 1,
      characterSetCollations: [
        { characterSet: 45, collation: 46 },
        { characterSet: 8, collation: 47 },
      ],
      flags2: 0x0400_4000,
      sqlMode: 0x1_2000_0000n,
      catalog: "std",
      autoIncrementIncrement: 5,
      autoIncrementOffset: 2,
      characterSetClient: 224,
      collationConnection: 225,
      collationServer: 255,
      timeZone: "+03:00",
      lcTimeNames: 4,
      collationDatabase: 33,
      tableMapForUpdate: 6n,
      masterDataWritten: 99,
      invokerUser: "user",
      invokerHost: "host",
      updatedSchemas: ["one", "two"],
      microseconds: 999_999,
      explicitDefaultsForTimestamp: true,
      ddlXid: 88n,
      defaultCollationForUtf8mb4: 255,
      sqlRequirePrimaryKey: 1,
      enableCascadeTriggers: 1,
      xid: 55n,
      gtidFlagsExtra: 4,
      alterStartSequence: 18n,
    });
    expect(query.sql.toString()).toBe("SELECT 1");
  });

  it("of 5.0.0 to 5.0.3 have a catalog with a zero behind it", () => {
    expect(decode(2, 3, "std", 0, 7, le(2, 1)).status).toEqual({ catalog: "std", lcTimeNames: 1 });
  });

  it("of MariaDB tell microseconds and an ALTER that only starts", () => {
    expect(decode(128, le(3, 12), 130, 2).status).toEqual({ microseconds: 12, gtidFlagsExtra: 2 });
  });

  it("say that more schemas were changed than they can name", () => {
    expect(decode(12, 254, 13, le(3, 1)).status).toEqual({ updatedSchemas: "*", microseconds: 1 });
  });

  it("behind an unknown one are left out, the statement is not", () => {
    const query = decode(16, 1, 77, 1, 2, 3);
    expect(query.status).toEqual({ explicitDefaultsForTimestamp: true });
    expect(query.sql.toString()).toBe("SELECT 1");
  });

  it.each([
    ["that end in the middle of a value", [1, le(4, 0)]],
    ["with a time zone longer than themselves", [5, 200, "x"]],
  ])("%s are corrupt", (_what, parts) => {
    expect(() => decode(...(parts as (Buffer | number | string)[]))).toThrow(
      expect.objectContaining({ code: "CORRUPT_EVENT" }),
    );
  });

  it("longer than the event are corrupt", () => {
    const event = makeQuery("x");
    event.writeUInt16LE(5000, 19 + 11);
    expect(() => decodeQuery(event, FORMAT)).toThrow(expect.objectContaining({ code: "CORRUPT_EVENT" }));
    expect(() => querySqlOffset(event, FORMAT)).toThrow(expect.objectContaining({ code: "CORRUPT_EVENT" }));
    expect(() => querySqlOffset(event.subarray(0, 25), FORMAT)).toThrow(
      expect.objectContaining({ code: "CORRUPT_EVENT" }),
    );
  });
});
