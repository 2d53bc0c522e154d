import { expect, test } from "vitest";
import { elementsOf, foreignIn } from "../chart/html.fixture.ts";
import type { Chart } from "../chart/page.ts";
import { DEFAULT_COSTS } from "./cost-model.ts";
import { simulatePage } from "./html.ts";
import type { SimulatedRun, SimulateReport } from "./report.ts";

const NASTY = "<script>alert(1)</script>";
const WORKERS = [1, 2, 4, 8, 16];
/** One worker takes 40 s; so many can work at a time. */
const PARALLELISM = { database: 1.2, "commit-order": 3, writeset: 9, auto: 8.7 };

function runOf(policy: keyof typeof PARALLELISM, workers: number): SimulatedRun {
  const speedup = Math.min(workers, PARALLELISM[policy]);
  const seconds = 40 / speedup;
  const idle = seconds * (workers - speedup);
  return {
    policy,
    workers,
    commitOrder: "preserve",
    packing: 50,
    transactions: 60_000,
    rows: 1_200_000,
    runs: 1200,
    flushes: 1200,
    flushSeconds: 2,
    lockBreaks: 0,
    predictedSeconds: seconds,
    transactionsPerSecond: 60_000 / seconds,
    speedup,
    meanBusyWorkers: speedup,
    waits: {
      dependency: idle * 0.6,
      commitOrder: idle * 0.2,
      engine: idle * 0.1,
      flush: idle * 0.05,
      cores: idle * 0.05,
      network: 0,
      locks: 0,
      emptyQueue: 0,
    },
    workSeconds: 40,
    engineCpuSeconds: 3,
    engineThreadSeconds: 2.5,
    targetCpuSeconds: 37,
  };
}

const RUNS = (["database", "commit-order", "writeset", "auto"] as const).flatMap((policy) =>
  WORKERS.map((workers) => runOf(policy, workers)),
);
const RECOMMENDATION = `Take writeset with 16 workers: nine times as fast as one; ${NASTY} holds up more.`;

function lagOf(seconds: number): SimulateReport["lag"] {
  const points = Array.from({ length: 60 }, (_, index) => ({
    seconds: index * 60,
    lagSeconds: Math.max(0, seconds * Math.sin(index / 10)),
  }));
  return { lastSeconds: 0, maxSeconds: seconds, points };
}

function reportOf(different: Partial<SimulateReport> = {}): SimulateReport {
  return {
    files: ["binlog.000001", "binlog.000002"],
    transactions: 60_000,
    rows: 1_200_000,
    bytes: 104_857_600,
    firstAt: undefined,
    lastAt: undefined,
    whatIf: [],
    source: undefined,
    runs: RUNS,
    best: RUNS.findIndex(({ policy, workers }) => policy === "writeset" && workers === 16),
    recommendation: RECOMMENDATION,
    criticalPath: {
      seconds: 4.44,
      kinds: { feed: 0.444, execute: 3.108, commit: 0.888 },
      dependencies: { waits: 410, seconds: 2 },
      transactions: [{ name: "uuid:4711", seconds: 1.332, share: 0.3, transactions: 1 }],
      tables: [{ name: "shop.orders", seconds: 2.664, share: 0.6 }],
      keys: [{ name: NASTY, seconds: 0.888, share: 0.2, table: "shop.orders", hash: 17 }],
    },
    lag: lagOf(1.25),
    lagOfOneWorker: lagOf(30),
    costs: DEFAULT_COSTS,
    faults: [],
    ...different,
  };
}

function chartsOf(html: string): Chart[] {
  const data = elementsOf(html).find(({ attributes }) => attributes.includes('id="charts"'));
  return JSON.parse(data?.text ?? "") as Chart[];
}

test("a page begins with the recommendation and has a line for each policy over the workers", () => {
  const html = simulatePage(reportOf());
  const [title, subtitle] = elementsOf(html).filter(({ name }) => name === "h1" || name === "p");
  expect([title?.text, subtitle?.text]).toEqual([
    "What other settings would do",
    "binlog.000001 to binlog.000002: 60,000 transactions, 1,200,000 changed rows, 100 MiB, applied in virtual time.",
  ]);
  const [speedup, seconds] = chartsOf(html);
  expect(speedup?.xs).toEqual(WORKERS);
  expect(speedup?.series).toEqual([
    { name: "database", values: [1, 1.2, 1.2, 1.2, 1.2] },
    { name: "commit-order", values: [1, 2, 3, 3, 3] },
    { name: "writeset", values: [1, 2, 4, 8, 9] },
    { name: "auto", values: [1, 2, 4, 8, 8.7] },
  ]);
  expect(seconds?.series[1]?.values).toEqual([40, 20, 40 / 3, 40 / 3, 40 / 3]);
});

test("waits are parts of the workers' time, of each setting with the fewest workers that are as fast as any", () => {
  const waits = chartsOf(simulatePage(reportOf())).find(({ stacked }) => stacked === true);
  expect(waits?.xs).toEqual(["database × 2", "commit-order × 4", "writeset × 16", "auto × 16"]);
  expect(waits?.series.map(({ name }) => name)).toEqual(["dependency", "commit order", "engine", "flush", "cores"]);
  // Two workers, of whose time 0.8 of 2 is idle.
  expect(waits?.series[0]?.values[0]).toBeCloseTo(0.4 * 0.6);
});

test("settings are named by what tells them apart, and beyond eight only the fastest have lines", () => {
  const runs = RUNS.flatMap((run): SimulatedRun[] => [
    run,
    { ...run, packing: 1, predictedSeconds: run.predictedSeconds * 2 },
    { ...run, packing: 1, commitOrder: "relaxed", predictedSeconds: run.predictedSeconds * 1.5 },
  ]);
  const html = simulatePage(reportOf({ runs }));
  const [, seconds] = chartsOf(html);
  expect(seconds?.series.map(({ name }) => name)).toHaveLength(8);
  expect(seconds?.series.map(({ name }) => name)).toContain("writeset, relaxed, unpacked");
  expect(seconds?.series.map(({ name }) => name)).not.toContain("database, preserve, unpacked");
  expect(elementsOf(html).filter(({ text }) => text === "database, preserve, unpacked")).toHaveLength(1);
});

test("what holds up the fastest setting has its tables, and names stay text", () => {
  const html = simulatePage(reportOf());
  const elements = elementsOf(html);
  expect(elements.filter(({ name }) => name === "script")).toHaveLength(3);
  expect(foreignIn(html)).toEqual([]);
  const cells = elements.filter(({ name }) => name === "td").map(({ text }) => text);
  expect(cells).toContain("&lt;script&gt;alert(1)&lt;/script&gt;");
  expect(cells).toContain("30 %");
  expect(elements.find(({ text }) => text.startsWith("The critical path"))?.text).toContain(
    "With writeset and 16 workers it takes 4.44 s: 70 % of it are execution, 20 % commits, 10 % reading. 410 times",
  );
});

test("lag is shown beside that of one worker, by the time of the log", () => {
  const lag = chartsOf(simulatePage(reportOf())).at(-1);
  expect(lag?.series.map(({ name }) => name)).toEqual(["writeset × 16", "one worker"]);
  expect(lag?.xs[1]).toBe(60);
  expect(lag?.series[1]?.values[1]).toBeCloseTo(30 * Math.sin(0.1));
});

test("what was assumed and what could not be read stands at the top", () => {
  const faults = [{ file: "binlog.000002", offset: 1234, reason: "the file ends inside an event" }];
  const html = simulatePage(reportOf({ whatIf: ["shop.log had the key (id)", "without shop.audit"], faults }));
  const elements = elementsOf(html);
  const paragraphs = elements.filter(({ name }) => name === "p").map(({ text }) => text);
  expect(paragraphs).toContain("As if: shop.log had the key (id); without shop.audit.");
  expect(paragraphs).toContain("1 place of the log could not be read: the figures lack them.");
  expect(elements.filter(({ name }) => name === "td").map(({ text }) => text)).toContain("1,234");
});

test("one cell has a page without lines, and none has one too", () => {
  const titles = (runs: readonly SimulatedRun[]): string[] =>
    chartsOf(simulatePage(reportOf({ runs, best: 0 }))).map(({ title }) => title);
  expect(titles([runOf("auto", 4)])).toEqual(["What workers wait for", "Lag in the original rhythm"]);
  expect(titles([])).toEqual([]);
});
