import { expect, test } from "vitest";
import { tableFilter } from "./filter.ts";

test("without names every table takes part", () => {
  expect(tableFilter({})({ schema: "a", name: "b" })).toBe(true);
});

test("names and patterns choose schemas and tables; a dot is a dot", () => {
  const takes = tableFilter({ schemas: ["shop_*", "one"], tables: ["*.orders", "one.t?"] });
  expect(takes({ schema: "shop_eu", name: "orders" })).toBe(true);
  expect(takes({ schema: "shop_eu", name: "items" })).toBe(false);
  expect(takes({ schema: "one", name: "t1" })).toBe(true);
  expect(takes({ schema: "two", name: "orders" })).toBe(false);
  expect(tableFilter({ tables: ["a.b"] })({ schema: "axb", name: "b" })).toBe(false);
});
