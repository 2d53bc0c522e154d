import { describe, expect, it } from "vitest";
import { lengthCode, UNKNOWN_LENGTH, valueEnd } from "./length.ts";
import { COLUMN_TYPE as T, realType, stringLengthMax } from "./types.ts";

describe("how long a value is in a row image", () => {
  it.each<[string, number, number, number]>([
    ["TINYINT", T.TINY, 0, 1],
    ["SMALLINT", T.SHORT, 0, 2],
    ["MEDIUMINT", T.INT24, 0, 3],
    ["INT", T.LONG, 0, 4],
    ["BIGINT", T.LONGLONG, 0, 8],
    ["FLOAT", T.FLOAT, 4, 4],
    ["DOUBLE", T.DOUBLE, 8, 8],
    ["YEAR", T.YEAR, 0, 1],
    ["DATE", T.DATE, 0, 3],
    ["NEWDATE", T.NEWDATE, 0, 3],
    ["old TIME", T.TIME, 0, 3],
    ["old TIMESTAMP", T.TIMESTAMP, 0, 4],
    ["old DATETIME", T.DATETIME, 0, 8],
    ["TIME(0)", T.TIME2, 0, 3],
    ["TIME(1)", T.TIME2, 1, 4],
    ["TIME(6)", T.TIME2, 6, 6],
    ["TIMESTAMP(3)", T.TIMESTAMP2, 3, 6],
    ["DATETIME(0)", T.DATETIME2, 0, 5],
    ["DATETIME(5)", T.DATETIME2, 5, 8],
    ["BIT(1)", T.BIT, 0x0001, 1],
    ["BIT(13)", T.BIT, 0x0105, 2],
    ["BIT(64)", T.BIT, 0x0800, 8],
    ["DECIMAL(1,0)", T.NEWDECIMAL, 0x0100, 1],
    ["DECIMAL(20,5)", T.NEWDECIMAL, 0x1405, 10],
    ["DECIMAL(65,30)", T.NEWDECIMAL, 0x411e, 30],
    ["DECIMAL(9,9)", T.NEWDECIMAL, 0x0909, 4],
    ["ENUM of few", T.STRING, 0xf701, 1],
    ["ENUM of many", T.STRING, 0xf702, 2],
    ["SET of 64", T.STRING, 0xf808, 8],
    ["bare ENUM", T.ENUM, 0xf702, 2],
    ["CHAR(10)", T.STRING, 0xfe0a, -1],
    ["CHAR(255) of utf8mb4: 1020 bytes", T.STRING, 0xcefc, -2],
    ["VARCHAR(255)", T.VARCHAR, 255, -1],
    ["VARCHAR(256)", T.VARCHAR, 256, -2],
    ["TINYTEXT", T.BLOB, 1, -1],
    ["TEXT", T.BLOB, 2, -2],
    ["MEDIUMTEXT", T.BLOB, 3, -3],
    ["LONGTEXT", T.BLOB, 4, -4],
    ["JSON", T.JSON, 4, -4],
    ["GEOMETRY", T.GEOMETRY, 4, -4],
    ["VECTOR", T.VECTOR, 4, -4],
    ["compressed VARCHAR", T.VARCHAR_COMPRESSED, 501, -2],
    ["compressed BLOB", T.BLOB_COMPRESSED, 2, -2],
    ["array for a multi-valued index", T.TYPED_ARRAY, 8, -4],
    ["NULL", T.NULL, 0, 0],
    ["BLOB with a broken width", T.BLOB, 9, UNKNOWN_LENGTH],
    ["old DECIMAL", T.DECIMAL, 0, UNKNOWN_LENGTH],
    ["type 200", 200, 0, UNKNOWN_LENGTH],
  ])("%s", (_name, type, metadata, code) => {
    expect(lengthCode(type, metadata)).toBe(code);
  });

  it("a CHAR's bytes, up to 1020, are spread over both bytes of its metadata", () => {
    expect([stringLengthMax(0xfe0a), stringLengthMax(0xcefc), stringLengthMax(0xfeff)]).toEqual([10, 1020, 255]);
    expect([
      realType(T.STRING, 0xf701),
      realType(T.STRING, 0xf808),
      realType(T.STRING, 0xcefc),
      realType(T.LONG, 0xf701),
    ]).toEqual([T.ENUM, T.SET, T.STRING, T.LONG]);
  });

  it("lengths before values have one to four bytes", () => {
    const bytes = Buffer.from([2, 0, 0, 0, 0xaa, 0xbb, 0xcc]);
    expect([-1, -2, -3, -4].map((code) => valueEnd(bytes, 0, bytes.length, code))).toEqual([3, 4, 5, 6]);
    const big = Buffer.from([0, 0, 0, 0x80]);
    expect(() => valueEnd(big, 0, big.length, -4)).toThrow(expect.objectContaining({ code: "CORRUPT_EVENT" }));
  });

  it.each([
    [5, 4],
    [4, -1],
    [7, -1],
    [6, -2],
  ])("a value at byte %i of 7 that does not fit (%i) is corrupt", (offset, code) => {
    const bytes = Buffer.from([0, 0, 0, 0, 9, 0, 0]);
    expect(() => valueEnd(bytes, offset, bytes.length, code)).toThrow(
      expect.objectContaining({ code: "CORRUPT_EVENT" }),
    );
  });

  it("a value of an unknown type cannot be walked over", () => {
    expect(() => valueEnd(Buffer.alloc(4), 0, 4, UNKNOWN_LENGTH)).toThrow(
      expect.objectContaining({ code: "UNSUPPORTED" }),
    );
  });
});
