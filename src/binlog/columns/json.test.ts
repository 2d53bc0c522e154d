import fc from "fast-check";
import { expect, test } from "vitest";
import { applyDifferences, decodeJson, decodeJsonDifferences } from "./json.ts";

const fromHex = (hex: string): Buffer => Buffer.from(hex.replaceAll(" ", ""), "hex");

const json = (hex: string): ReturnType<typeof decodeJson> => {
  const bytes = fromHex(`ff${hex}`);
  return decodeJson(bytes, 1, bytes.length);
};

// What servers write is read in src/inspect/rows against them; here is the form itself.
test("scalars are the text that gives them back", () => {
  expect(json("").text).toBe("null");
  expect(json("0400").text).toBe("null");
  expect(json("0401").text).toBe("true");
  expect(json("05ffff").text).toBe("-1");
  expect(json("06ffff").text).toBe("65535");
  expect(json("09ffffffffffffff7f").text).toBe("9223372036854775807");
  expect(json("0affffffffffffffff").text).toBe("18446744073709551615");
  // A double that looks like an integer stays a double.
  expect(json("0b000000000000f03f").text).toBe("1.0");
  expect(json("0b0000000000000080").text).toBe("-0.0");
  expect(json("0c0361220a").text).toBe('"a\\"\\n"');
});

test("objects and arrays of both sizes", () => {
  // {"a": 1}: one member, 12 bytes, the key at 11.
  expect(json("0001000c000b00010005010061").text).toBe('{"a": 1}');
  expect(json("0202000e00050100 0c0a0003616263").text).toBe('[1, "abc"]');
  expect(json("0301000000 0d000000 07 feffffff").text).toBe("[-2]");
});

test("what JSON text cannot say becomes an expression", () => {
  // DECIMAL(3,2) 1.10
  expect(json("0ff604 0302 810a")).toEqual({
    text: "1.10",
    expression: "JSON_EXTRACT(JSON_ARRAY(CAST(1.10 AS DECIMAL(3,2))),'$[0]')",
  });
});

test.each(["00", "0001", "000100ff00", "0c05", "0e", "0404", "02010007000207000000", "0ff6"])(
  "bytes that are no document are a fault of the log: %s",
  (hex) => {
    expect(() => json(hex)).toThrow(expect.objectContaining({ code: "CORRUPT_EVENT" }));
  },
);

test("any bytes are read or refused, and it ends", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
      try {
        decodeJson(Buffer.from(bytes), 0, bytes.length);
        decodeJsonDifferences(Buffer.from(bytes), 0, bytes.length);
      } catch (error) {
        expect(error).toMatchObject({ code: "CORRUPT_EVENT" });
      }
    }),
  );
});

test("differences are applied one after another", () => {
  const bytes = fromHex("00 03242e61 03 050100 01 06242e625b305d 02 0401 02 03242e63");
  expect(applyDifferences("`j`", decodeJsonDifferences(bytes, 0, bytes.length))).toBe(
    "JSON_REMOVE(JSON_ARRAY_INSERT(JSON_REPLACE(`j`,'$.a',CAST('1' AS JSON)),'$.b[0]',CAST('true' AS JSON)),'$.c')",
  );
});
