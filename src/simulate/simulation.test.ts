import fc from "fast-check";
import { expect, test } from "vitest";
import type { PolicyName } from "../schedule/policies/policies.ts";
import { Cell, type CellOptions } from "./cell.ts";
import { DEFAULT_COSTS } from "./cost-model.ts";
import { type Grid, type LogSource, planOf } from "./plan.ts";
import { CellGroup, Simulation } from "./simulation.ts";
import type { SimulatedTransaction } from "./simulated-transaction.ts";

const POLICY_NAMES: readonly PolicyName[] = [
  "single",
  "database",
  "logical-clock",
  "writeset",
  "writeset-session",
  "optimistic",
];

const SOURCE: LogSource = { flavour: "mysql", serverVersion: "9.7.0" };

const transaction = fc.record({
  rows: fc.integer({ min: 1, max: 200 }),
  // What is this large ends a batch after a few of them.
  bytes: fc.constantFrom(300, 3_000, 3_000_000),
  keys: fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 3 }),
  schema: fc.integer({ min: 1, max: 2 }),
  behind: fc.integer({ min: 0, max: 5 }),
  barrier: fc.integer({ min: 0, max: 20 }).map((number) => number === 0),
});

const logs = fc.array(transaction, { minLength: 1, maxLength: 60 }).map((all) =>
  all.map(({ rows, bytes, keys, schema, behind, barrier }, index): SimulatedTransaction => {
    const ordinal = index + 1;
    return {
      scheduler: {
        ordinal,
        bytes,
        rows: barrier ? 0 : rows,
        alone: barrier,
        barrier,
        startsRun: keys.length === 3,
        applied: false,
        file: "binlog.000001",
        lastCommitted: Math.max(0, ordinal - 1 - behind),
        sequenceNumber: ordinal,
        commitId: undefined,
        sessionId: schema * 10 + (rows % 3),
        schemas: new Set([`s${schema}`]),
        writeset: { writes: keys, reads: [], fallback: false, opaque: false },
      },
      committedAtUs: 1e12 + ordinal * 500,
      name: `u:${ordinal}`,
      rows: barrier ? [] : [{ table: `s${schema}.t`, inserts: rows, updates: 0, deletes: 0, bytes }],
    };
  }),
);

const grids = fc.record<Grid>({
  policies: fc.constant(POLICY_NAMES),
  workers: fc.constantFrom([1, 2, 5], [3]),
  commitOrders: fc.constant(["preserve", "relaxed"]),
  packing: fc.constantFrom([1, 8], [500]),
  dependency: fc.constantFrom("graph", "low-water-mark"),
  limits: fc.constant({}),
  native: fc.constant(false),
});

/** As if it were the only one in the world, with a policy of its own. */
function alone(log: readonly SimulatedTransaction[], options: CellOptions) {
  const cell = new Cell(options, DEFAULT_COSTS);
  for (const one of log) cell.push(one);
  return cell.end();
}

test("a cell that shares its log, policy and costs with others, or stands for several settings, answers as each of them does alone", () => {
  fc.assert(
    fc.property(logs, grids, (log, grid) => {
      const simulation = new Simulation(grid, SOURCE, DEFAULT_COSTS);
      for (const one of log) simulation.push(one);
      const { results, ofOneWorker } = simulation.end();
      for (const [index, result] of results.entries()) {
        const { workers, commitOrder, packing } = result;
        const policy = result.policy as PolicyName;
        const options: CellOptions = {
          policy,
          workers: policy === "single" ? 1 : workers,
          commitOrder,
          packTransactionsMax: packing,
          dependency: grid.dependency,
        };
        expect({ ...result, workers: options.workers }).toEqual(alone(log, options));
        expect({ ...ofOneWorker[index], policy }).toEqual(alone(log, { ...options, workers: 1 }));
      }
    }),
    { numRuns: 40 },
  );
});

test("settings that come to the same are computed once", () => {
  const grid: Grid = {
    policies: [...POLICY_NAMES, "commit-order", "auto"],
    workers: [1, 2, 4],
    commitOrders: ["preserve"],
    packing: [1],
    dependency: "graph",
    limits: {},
    native: true,
  };
  const { cells, wanted } = planOf(grid, SOURCE);
  expect(wanted).toHaveLength(1 + 7 * 3 + 3);
  expect(cells.map(({ key }) => key).sort()).toEqual([
    "database/preserve/1/2",
    "database/preserve/1/4",
    "logical-clock/preserve/1/2",
    "logical-clock/preserve/1/4",
    "native/1",
    "native/2",
    "native/4",
    "optimistic/preserve/1/2",
    "optimistic/preserve/1/4",
    "single/preserve/1/1",
    "writeset-session/preserve/1/2",
    "writeset-session/preserve/1/4",
    "writeset/preserve/1/1",
    "writeset/preserve/1/2",
    "writeset/preserve/1/4",
  ]);
});

test("a policy that needs one worker is never shown with more", () => {
  const grid: Grid = {
    policies: ["single", "writeset"],
    workers: [2, 8],
    commitOrders: ["preserve"],
    packing: [1],
    dependency: "graph",
    limits: {},
    native: false,
  };
  const { results } = new Simulation(grid, SOURCE, DEFAULT_COSTS).end();
  expect(results.map(({ policy, workers }) => `${policy} ${workers}`)).toEqual([
    "single 1",
    "writeset 2",
    "writeset 8",
  ]);
});

test("whoever shows how far it is hears of each cell, also within one batch", () => {
  const { cells } = planOf(
    {
      policies: POLICY_NAMES,
      workers: [4],
      commitOrders: ["preserve"],
      packing: [1],
      dependency: "graph",
      limits: {},
      native: false,
    },
    SOURCE,
  );
  let heard = 0;
  const group = new CellGroup(cells, DEFAULT_COSTS, () => heard++);
  group.push([]);
  expect(heard).toBe(cells.length);
});
