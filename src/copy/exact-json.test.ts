import { expect, test } from "vitest";
import { exactDecimals, withExactDecimals } from "./exact-json.ts";

test("numbers that only DECIMAL prints so are found with their paths", () => {
  const json =
    '{"a": 1.10, "b": [1.1, {"deep \\"q\\" é": -0.10}, 2.50], "": 123456789012345678901234567890, "s": "1.10", "e": 1e100, "n": null}';
  expect(exactDecimals(json)).toEqual([
    { path: '$."a"', text: "1.10" },
    { path: '$."b"[1]."deep \\"q\\" é"', text: "-0.10" },
    { path: '$."b"[2]', text: "2.50" },
    { path: '$.""', text: "123456789012345678901234567890" },
  ]);
});

test("numbers that DOUBLE or BIGINT print alike are left alone", () => {
  for (const json of ["1.5", "[1.0, -2.25, 18446744073709551615, -9223372036854775808]", '"3.10"', "{}", "[]", "9.9"]) {
    expect(exactDecimals(json), json).toEqual([]);
  }
});

test("a scalar document is a decimal itself", () => {
  expect(exactDecimals("9.90")).toEqual([{ path: "$", text: "9.90" }]);
});

test("each decimal is set with exactly its digits", () => {
  expect(withExactDecimals("d", [{ path: "$", text: "-0.10" }])).toBe(
    "JSON_SET(d,_utf8mb4 X'24',CAST('-0.10' AS DECIMAL(2,2)))",
  );
  expect(withExactDecimals("d", [{ path: "$", text: "12.340" }])).toContain("DECIMAL(5,3)");
});
