import { expect, test } from "vitest";
import { costModelOf, DEFAULT_COSTS } from "./cost-model.ts";

test("a cost model survives JSON, and an empty one is the defaults", () => {
  expect(costModelOf(JSON.parse(JSON.stringify(DEFAULT_COSTS)))).toEqual(DEFAULT_COSTS);
  expect(costModelOf({})).toEqual(DEFAULT_COSTS);
});

test("what a file says replaces the defaults, also deep inside, and costs of tables", () => {
  const costs = costModelOf({ cores: 8, target: { insertUs: 3 }, tables: { "shop.orders": { deleteUs: 100 } } });
  expect(costs.cores).toBe(8);
  expect(costs.target).toEqual({ ...DEFAULT_COSTS.target, insertUs: 3 });
  expect(costs.tables).toEqual({ "shop.orders": { deleteUs: 100 } });
});

test.each([
  [{ flushMs: 3 }, "costs: flushMs is unknown"],
  [{ target: { insert: 3 } }, "costs: target.insert is unknown"],
  [{ target: 3 }, "costs: target is no object"],
  [{ flushUs: "300" }, "costs: flushUs is no number of at least 0"],
  [{ flushUs: -1 }, "costs: flushUs is no number of at least 0"],
  [{ cores: 0 }, "costs: cores is less than 0.1"],
  [{ flushUs: 1e308 }, "costs: flushUs is more than 1000000000"],
  [{ cpuFactor: 1_001 }, "costs: cpuFactor is more than 1000"],
  [{ tables: { t: { insert: 1 } } }, "costs: tables.t.insert is unknown"],
  [[], "costs: the cost model is no object"],
])("%j is refused", (json, message) => {
  expect(() => costModelOf(json)).toThrow(message);
});
