import { expect, test } from "vitest";
import { DEFAULT_COSTS } from "../../simulate/cost-model.ts";
import { LogSimulation } from "../../simulate/log-simulation.ts";
import type { SimulatedTransaction } from "../../simulate/simulated-transaction.ts";
import { gridOf } from "../simulate-options.ts";
import { renderSimulate } from "./simulate.ts";

function transactionOf(ordinal: number): SimulatedTransaction {
  return {
    scheduler: {
      ordinal,
      bytes: 900,
      rows: 4,
      alone: false,
      barrier: false,
      startsRun: false,
      applied: false,
      file: "binlog.000001",
      lastCommitted: Math.max(0, ordinal - 4),
      sequenceNumber: ordinal,
      commitId: undefined,
      sessionId: ordinal % 8,
      schemas: new Set(["shop"]),
      writeset: { writes: [ordinal, 1_000_000 + (ordinal % 50)], reads: [], fallback: false, opaque: false },
    },
    committedAtUs: 1_800_000_000_000_000 + ordinal * 200,
    name: `3e11fa47-71ca-11e1-9e33-c80aa9429562:${ordinal}`,
    rows: [{ table: "shop.orders", inserts: 2, updates: 2, deletes: 0, bytes: 800 }],
  };
}

test("policies stand beside workers, and below them what holds up the best of them", () => {
  const grid = gridOf({ policies: "single,logical-clock,writeset", workers: "1,4", packing: "off", native: true });
  const simulation = new LogSimulation({ grid, costs: DEFAULT_COSTS, splitRowsMax: undefined });
  for (let ordinal = 1; ordinal <= 2_000; ordinal++) {
    simulation.push(transactionOf(ordinal), { flavour: "mysql", serverVersion: "9.7.0" });
  }
  const text = renderSimulate(simulation.report({ files: ["binlog.000001"], whatIf: [], faults: [] }), 100);
  expect(text).toContain("2,000 transactions, 8,000 rows, 1.7 MiB, as a backlog on 2 cores");
  expect(text).toMatch(/\| single {8}\| +[\d.]+ \| +\|/);
  expect(text).toMatch(/\| writeset {6}\| +[\d.]+ \| +[\d.]+ \([\d.]+×\) \|/);
  expect(text).toContain("the server's own replica");
  expect(text).toContain("| native logical-clock |");
  expect(text).toMatch(/^Critical path: executing \d+ %, committing \d+ %/m);
  expect(text).toMatch(/^Lag, had the load come in its own rhythm: at most [\d.]+ s/m);
  expect(text).toMatch(/^--policy \S+ --workers \d+ --pack-transactions 1 takes /m);
  for (const line of text.split("\n")) if (/^[+|]/.test(line)) expect(line.length).toBeLessThanOrEqual(100);
});

test("an empty log says so", () => {
  const simulation = new LogSimulation({ grid: gridOf({}), costs: DEFAULT_COSTS, splitRowsMax: undefined });
  const report = simulation.report({ files: [], whatIf: [], faults: [{ file: "x", offset: 4, reason: "cut" }] });
  expect(renderSimulate(report, 80)).toContain("There are no transactions to apply.");
  expect(renderSimulate(report, 80)).toContain("could not be read: x:4: cut");
});

test.each([
  [{ workers: "0" }, "--workers"],
  [{ workers: "4,x" }, "--workers"],
  [{ policies: "writesets" }, "--policies"],
  [{ packing: "maybe" }, "--packing"],
  [{ commitOrder: "any" }, "--commit-order"],
  [{ dependency: "tree" }, "--dependency"],
  [{ policies: "optimistic", commitOrder: "relaxed" }, "optimistic"],
])("%j is refused", (flags, words) => {
  expect(() => gridOf(flags)).toThrow(words);
});
