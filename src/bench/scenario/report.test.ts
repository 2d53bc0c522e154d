import { expect, test } from "vitest";
import { formatResult, resultPage } from "./report.ts";
import { METRICS, result, run } from "./result.fixture.ts";
import { warningsOf } from "./summary.ts";

test("a table shows one value of one run, the spread of several, and no column that nobody has", () => {
  const text = formatResult(result({ native: [run({ lag: 2 })], abreast: [run({ lag: 1 }), run({ lag: 3 })] }));
  expect(text).toContain("lag, s");
  expect(text).not.toContain("speed");
  expect(text).toMatch(/^native +4 +2\.00 /m);
  expect(text).toMatch(/^abreast +4 +2\.00 \(1\.00–3\.00\) /m);
});

test("settings of both servers are printed once when they are the same", () => {
  expect(formatResult(result({}))).toContain("both servers: sync_binlog 1");
  const unlike = result({}, { settings: { source: { sync_binlog: "0" }, target: { sync_binlog: "1" } } });
  expect(formatResult(unlike)).toContain("source: sync_binlog 0\ntarget: sync_binlog 1");
});

test("what makes figures less than they seem is a warning", () => {
  const warnings = (...runs: ReturnType<typeof run>[]): string[] => warningsOf(METRICS, result({ cell: runs }).cells);
  expect(warnings(run({ lag: 1 }))).toEqual([]);
  expect(warnings(run({ lag: 1 }, { machineBusy: 0.99 }))).toEqual([expect.stringContaining("busy")]);
  expect(warnings(run({ lag: 1 }, { isSourceLimit: true }))).toEqual([expect.stringContaining("source's speed")]);
  expect(warnings(run({ lag: 1 }, { identical: false }))).toEqual([expect.stringContaining("DIFFER")]);
  expect(warnings(run({ lag: 1 }), run({ lag: 2 }))).toEqual([expect.stringContaining("20 %")]);
  expect(warnings(run({ lag: 0.01 }), run({ lag: 0.1 }))).toEqual([]);
});

test("a page has the charts of its scenario, the table and the conditions", () => {
  const page = resultPage(result({ native: [run({ lag: 2 })] }), {
    charts: (cells) => [
      {
        kind: "bars",
        title: "A chart of the scenario",
        x: { title: "cell", unit: "text" },
        y: { title: "lag", unit: "seconds" },
        xs: cells.map((cell) => cell.name),
        series: [{ name: "lag", values: [2] }],
      },
    ],
  });
  for (const words of ["A chart of the scenario", "All cells", "sync_binlog 1"]) expect(page).toContain(words);
});
