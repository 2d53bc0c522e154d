import { expect, test } from "vitest";
import type { CellResult } from "./cell.ts";
import { bestOf, limitOf, recommend } from "./recommend.ts";

const QUIET: CellResult = {
  policy: "writeset",
  workers: 1,
  commitOrder: "preserve",
  packing: 1,
  transactions: 1_000,
  rows: 4_000,
  runs: 1_000,
  flushes: 1_000,
  flushSeconds: 1,
  lockBreaks: 0,
  predictedSeconds: 10,
  transactionsPerSecond: 100,
  meanBusyWorkers: 2,
  waits: { dependency: 0, commitOrder: 0, engine: 0, flush: 0, cores: 0, network: 0, locks: 0, emptyQueue: 0 },
  workSeconds: 5,
  engineCpuSeconds: 1,
  engineThreadSeconds: 1,
  targetCpuSeconds: 5,
  criticalPath: {
    seconds: 10,
    kinds: { feed: 1, execute: 4, commit: 5 },
    dependencies: { waits: 0, seconds: 0 },
    transactions: [],
    tables: [],
    keys: [],
  },
  lag: { lastSeconds: 0, maxSeconds: 0, points: [] },
};

const resultOf = (different: Partial<CellResult>): CellResult => ({ ...QUIET, ...different });
const runOf = (different: Partial<CellResult>) => ({ ...resultOf(different), speedup: 1 });

test("the fastest is best, unless fewer workers are as good", () => {
  const runs = [
    runOf({ workers: 1, predictedSeconds: 10 }),
    runOf({ workers: 4, predictedSeconds: 4.05 }),
    runOf({ workers: 8, predictedSeconds: 4 }),
    runOf({ workers: 4, predictedSeconds: 1, policy: "native logical-clock" }),
  ];
  expect(bestOf(runs)).toBe(1);
});

test("a policy that guesses must be much faster than those that know", () => {
  const knows = runOf({ workers: 4, predictedSeconds: 10 });
  const guesses = (predictedSeconds: number) => runOf({ policy: "optimistic", workers: 4, predictedSeconds });
  expect(bestOf([guesses(9), knows])).toBe(1);
  expect(bestOf([guesses(8), knows])).toBe(0);
  expect(bestOf([guesses(9)])).toBe(0);
});

test("the sentence says which setting, how much faster than what, and why not more", () => {
  const runs = [runOf({ predictedSeconds: 10 }), runOf({ workers: 4, predictedSeconds: 4, flushSeconds: 3.9 })];
  expect(recommend(runs, runs, 4)).toBe(
    "--policy writeset --workers 4 --pack-transactions 1 takes 4.00 s, 2.5 times as fast as one worker without packing; what limits it is flushing commits to disk, busy 98 % of the time.",
  );
});

test("without a choice and without transactions nothing is promised", () => {
  const runs = [runOf({})];
  expect(recommend(runs, runs, 4)).toContain("no other setting is faster");
  expect(recommend([], [], 4)).toBe("There are no transactions to apply.");
});

test("that nothing is faster is said only where it is so", () => {
  const runs = [
    runOf({ policy: "single", workers: 1, packing: 1_000, predictedSeconds: 0.622 }),
    runOf({ workers: 4, packing: 1_000, predictedSeconds: 0.61 }),
  ];
  expect(recommend(runs, runs, 4)).toContain(
    "--policy single --workers 1 --pack-transactions 1000 takes 0.622 s, and the fastest, writeset with 4 workers, runs of up to 1000, 0.610 s; what limits it",
  );
});

const share = { name: "x", seconds: 5, share: 0.5 };

test.each<[string, Partial<CellResult>]>([
  ["the 2 cores, busy 95 % of the time", { engineCpuSeconds: 8, targetCpuSeconds: 11 }],
  ["the engine's one thread, busy 96 % of the time", { engineThreadSeconds: 9.6, targetCpuSeconds: 1 }],
  [
    "one key of shop.stock, for which transactions wait 50 % of the time",
    { criticalPath: { ...QUIET.criticalPath, keys: [{ ...share, table: "shop.stock", hash: 1 }] } },
  ],
  [
    "one transaction, x, which takes 50 % of the time",
    { criticalPath: { ...QUIET.criticalPath, transactions: [{ ...share, transactions: 1 }] } },
  ],
  [
    "transactions that wait for each other, 40 % of the time",
    { criticalPath: { ...QUIET.criticalPath, dependencies: { waits: 10, seconds: 4 } } },
  ],
  ["commits that follow each other, 50 % of the time (10 % of it the disk)", {}],
])("what limits is %s", (words, different) => {
  expect(limitOf({ result: resultOf(different), cores: 2 })).toBe(words);
});
