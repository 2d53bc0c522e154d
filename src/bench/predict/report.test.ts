import { expect, it } from "vitest";
import { type CellSettings, nameOf } from "./cells.ts";
import { inTurn } from "./measure.ts";
import type { Measured, MeasuredCell, MeasuredRun } from "./measured.ts";
import { compare, formatPredict, formatPredictMarkdown } from "./report.ts";

const run = (seconds: number, identical = true): MeasuredRun => ({
  seconds,
  targetCpuSeconds: 1,
  flushes: { binlog: 0, binlogSeconds: 0, redo: 0, redoSeconds: 0 },
  identical,
  engine: null,
});

const settings = (who: CellSettings["who"], workers: number, packTransactionsMax = 1): CellSettings => ({
  who,
  policy: "writeset",
  workers,
  commitOrder: "preserve",
  packTransactionsMax,
});

const cell = (of: CellSettings, ...seconds: number[]): MeasuredCell => ({
  ...of,
  runs: seconds.map((each) => run(each)),
});

const measured = (...cells: MeasuredCell[]): Measured => ({
  server: "mysql-9.7",
  serverVersion: "9.7.4",
  durability: "durable",
  cores: 2,
  seed: 1,
  loads: [{ name: "hot", transactions: 100, binlogBytes: 1e6, binlogFile: "hot.binlog", schemaFile: "hot.sql", cells }],
});

const predicted = (of: CellSettings, seconds: number) => ({ cell: nameOf(of), load: "hot", seconds });

it("errors are of the prediction against the median, and the runs' own spread stands beside them", () => {
  const one = settings("abreast", 1);
  const four = settings("abreast", 4);
  const packed = settings("abreast", 4, 500);
  const report = compare(
    measured(cell(one, 10, 8, 12), cell(four, 4, 4), cell(packed, 1)),
    [predicted(one, 11), predicted(four, 3), predicted(packed, 1.5)],
    "hot writeset-1",
  );
  expect(report.runs.map(({ secondsMedian, spread, error }) => [secondsMedian, spread, error])).toEqual([
    [10, 0.4, 0.1],
    [4, 0, -0.25],
    [1, 0, 0.5],
  ]);
  expect(report.errors.abreast).toEqual({
    cells: 2,
    median: 0.175,
    worst: 0.25,
    medianOfFastest: 0.313,
    worstOfFastest: 0.375,
    spreadMedian: 0.2,
    spreadMax: 0.4,
  });
  expect(report.errors.abreastPacked).toMatchObject({ cells: 1, median: 0.5 });
  expect(report.errors.byLoad["hot"]).toEqual(report.errors.abreast);
  expect(formatPredict(report)).toContain("Costs calibrated on one cell, hot writeset-1,");
  expect(formatPredictMarkdown(report)).toContain("| hot | writeset | 4 | preserve | 500 |");
});

it("the order of the server's own cells is wrong only where one stands before another that is clearly faster", () => {
  const [one, four, eight] = [1, 4, 8].map((workers) => settings("native", workers)) as [
    CellSettings,
    CellSettings,
    CellSettings,
  ];
  const cells = [cell(one, 10), cell(four, 5.1), cell(eight, 5)];
  const order = (...seconds: [number, number, number]) =>
    compare(
      measured(...cells),
      [predicted(one, seconds[0]), predicted(four, seconds[1]), predicted(eight, seconds[2])],
      null,
    ).nativeOrder[0];
  expect(order(9, 4, 4.1)).toEqual({ load: "hot", measured: [8, 4, 1], predicted: [4, 8, 1], right: true });
  expect(order(4, 5, 6)).toMatchObject({ predicted: [1, 4, 8], right: false });
});

it("a target that differs from the source is told in words too", () => {
  const wrong: MeasuredCell = { ...settings("abreast", 1), runs: [run(1), run(1, false)] };
  const report = compare(measured(wrong), [], null);
  expect(report.runs[0]).toMatchObject({ identical: false, predictedSeconds: null, error: null });
  expect(formatPredict(report)).toContain("NOT ALL TARGETS WERE IDENTICAL");
});

it("cells run forwards and backwards in turn", () => {
  expect(inTurn(["a", "b", "c"], 3).join("")).toBe("abccbaabc");
});
