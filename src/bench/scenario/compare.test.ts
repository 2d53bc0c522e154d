import { expect, test } from "vitest";
import { compareResults, formatComparison } from "./compare.ts";
import { result, run } from "./result.fixture.ts";

const lag = (seconds: number): ReturnType<typeof run> => run({ lag: seconds });
const slowerOf = (a: number[], b: number[]): string[] =>
  compareResults(result({ one: a.map(lag) }), result({ one: b.map(lag) })).slower;

test("B is slower when it is beyond what runs of one cell differ by", () => {
  expect(slowerOf([4, 4, 4], [4.4, 4.4, 4.4])).toEqual(["one"]);
  expect(slowerOf([4, 4, 5], [4.4, 4.4, 4.4])).toEqual([]);
  expect(slowerOf([4.4, 4.4, 4.4], [4, 4, 4])).toEqual([]);
});

test("single runs say nothing below 20 %", () => {
  expect(slowerOf([4], [4.7])).toEqual([]);
  expect(slowerOf([4], [4.9])).toEqual(["one"]);
});

test("lags below the interval of the heartbeat are alike, also when one is several times the other", () => {
  expect(slowerOf([0.05], [0.2])).toEqual([]);
});

test("only the first metric decides, and a speed is worse when it is lower", () => {
  const comparison = compareResults(
    result({ one: [run({ lag: 1, speed: 900, cpu: 1 })] }),
    result({ one: [run({ lag: 1, speed: 300, cpu: 2 })] }),
  );
  expect(comparison.cells[0]?.values.map(({ metric, verdict }) => [metric.key, verdict])).toEqual([
    ["lag", "alike"],
    ["speed", "worse"],
  ]);
  expect(comparison.slower).toEqual([]);
});

test("what differs besides is said first, and cells of one side only are named", () => {
  const text = formatComparison(
    compareResults(
      result({ one: [lag(1)], old: [lag(1)] }),
      result({ one: [lag(1)], new: [lag(1)] }, { durability: "relaxed", load: { threads: 8 } }),
    ),
  );
  expect(text).toMatch(/^What differs besides:\n {2}durability: durable → relaxed\n {2}load: threads: 4 → 8\n/);
  expect(text).toContain("Only in A: old.");
  expect(text).toContain("Only in B: new.");
});
