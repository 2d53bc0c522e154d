import { describe, expect, it } from "vitest";
import { COLUMN_TYPE as T } from "./types.ts";
import { decodeValue, type ValueFacts } from "./value.ts";

const decode = (type: number, metadata: number, hex: string, facts: ValueFacts = {}): (string | undefined)[] => {
  // In the middle of other bytes, as values are.
  const bytes = Buffer.from(`ff${hex}ff`, "hex");
  const { text, literal } = decodeValue(type, metadata, bytes, 1, bytes.length - 1, facts);
  return [text, literal];
};

describe("values of a row image; what servers of today write is tested against them", () => {
  it.each<[string, string, number, string]>([
    ["old TIME", "-02:40:00", T.TIME, "40a2ff"],
    ["old TIME", "838:59:59", T.TIME, "a7f57f"],
    ["old DATETIME", "2013-12-31 23:59:59", T.DATETIME, "77ffe22a4f120000"],
    ["old DATETIME", "0000-00-00 00:00:00", T.DATETIME, "0000000000000000"],
    ["old TIMESTAMP", "1970-01-01 00:00:01", T.TIMESTAMP, "01000000"],
    ["old TIMESTAMP", "0000-00-00 00:00:00", T.TIMESTAMP, "00000000"],
  ])("%s, which servers before 5.6.4 write: %s", (_name, text, type, hex) => {
    expect(decode(type, 0, hex)).toEqual([text, `'${text}'`]);
  });

  it("text of a character set that cannot be read here is shown as what it is in SQL", () => {
    expect(decode(T.VARCHAR, 20, "0283e8", { charset: "sjis" })).toEqual(["_sjis X'83E8'", "_sjis X'83E8'"]);
    expect(decode(T.VARCHAR, 20, "01ff", { charset: "utf8mb4" })).toEqual(["_utf8mb4 X'FF'", "_utf8mb4 X'FF'"]);
    expect(decode(T.VARCHAR, 20, "02c3a9", { charset: "utf8mb3" })).toEqual(["é", "_utf8mb4 X'C3A9'"]);
    expect(decode(T.VARCHAR, 20, "0280e9", { charset: "latin1" })).toEqual(["€é", "_latin1 X'80E9'"]);
  });

  it("of an unknown character set it is shown where it looks like text", () => {
    expect(decode(T.VARCHAR, 300, "02006162")).toEqual(["ab", "X'6162'"]);
    expect(decode(T.BLOB, 1, "02ff00")).toEqual(["0xFF00", "X'FF00'"]);
  });

  it("a BINARY gets back the zeros that the log cuts, a VARBINARY has none that are missing", () => {
    expect(decode(T.STRING, 0xfe04, "020102", { charset: "binary" })).toEqual(["0x01020000", "X'01020000'"]);
    expect(decode(T.VARCHAR, 4, "020102", { charset: "binary" })).toEqual(["0x0102", "X'0102'"]);
    expect(decode(T.STRING, 0xfe10, "00", { dataType: "uuid" })[0]).toBe("00000000-0000-0000-0000-000000000000");
  });

  it("without its members an ENUM or SET is its number", () => {
    expect(decode(T.STRING, 0xf701, "02")).toEqual(["2", "2"]);
    expect(decode(T.STRING, 0xf701, "02", { members: ["a", "b"] })).toEqual(["b", "2"]);
    expect(decode(T.STRING, 0xf701, "00", { members: ["a", "b"] })).toEqual(["", "0"]);
    expect(decode(T.STRING, 0xf801, "05", { members: ["a", "b", "c"] })).toEqual(["a,c", "5"]);
  });

  it("a FLOAT is shown by its fewest digits, and is exact in SQL", () => {
    expect(decode(T.FLOAT, 4, "c3f54840")).toEqual(["3.14", "3.140000104904175e0"]);
    expect(decode(T.DOUBLE, 8, "0000000000000080")).toEqual(["-0", "-0e0"]);
  });

  it("JSON has no literal", () => {
    expect(decode(T.JSON, 4, "0100000000")[1]).toBeUndefined();
  });

  it("a type that is not known is refused", () => {
    expect(() => decode(200, 0, "00")).toThrow(expect.objectContaining({ code: "UNSUPPORTED" }));
  });
});
