import { expect, test } from "vitest";
import { tableFilter } from "./table-filter.ts";

const SNAPSHOT = { file: "binlog.000003", position: 4711 };
const copied = tableFilter([{ schema: "shop", table: "orders", position: SNAPSHOT }]);

test("of a copied table, the first transaction behind its snapshot is applied, and none before", () => {
  const before = { file: "binlog.000003", position: 4200 };
  expect(copied("shop", "orders", before)).toBe(false);
  expect(copied("shop", "orders", { file: "binlog.000002", position: 9000 })).toBe(false);
  expect(copied("shop", "orders", SNAPSHOT)).toBe(true);
  expect(copied("shop", "orders", { file: "binlog.000004", position: 4 })).toBe(true);
  expect(copied("shop", "items", before)).toBe(true);
});

test("our own tables on the source are left to the engine that writes them", () => {
  expect(copied("abreast", "checkpoint", SNAPSHOT)).toBe(false);
  expect(tableFilter([])("abreast", "checkpoint", SNAPSHOT)).toBe(false);
  expect(tableFilter([])("shop", "orders", SNAPSHOT)).toBe(true);
});
