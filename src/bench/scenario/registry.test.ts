import { describe, expect, test } from "vitest";
import { FLAVOUR_NAMES } from "../../sandbox/flavours.ts";
import { findScenario, SCENARIOS } from "./registry.ts";
import { SCALES } from "./scenario.ts";

describe.each(SCENARIOS.map((scenario) => [scenario.name, scenario] as const))("%s", (name, scenario) => {
  test("has cells of both sides on every server at every scale, each name once", () => {
    for (const server of FLAVOUR_NAMES) {
      for (const scale of SCALES) {
        const cells = scenario.plan({ scale, server, seed: 1 }).groups.flatMap((group) => group.cells);
        const names = cells.map((cell) => cell.name);
        expect(new Set(names).size, `${server} ${scale}`).toBe(names.length);
        expect(new Set(cells.map((cell) => cell.contender.who))).toEqual(new Set(["native", "abreast"]));
        // They are given as a list with commas.
        expect(names.filter((each) => /[\s,]/.test(each))).toEqual([]);
      }
    }
  });

  test("names each metric once, and decides by one that has a better side", () => {
    const keys = scenario.metrics.map((metric) => metric.key);
    expect(new Set(keys).size).toBe(keys.length);
    expect(scenario.metrics[0]?.better).toBeDefined();
  });

  test("is found by its name, and draws nothing of nothing", () => {
    expect(findScenario(name)).toBe(scenario);
    expect(scenario.charts([]).every((chart) => chart.series.length === 0)).toBe(true);
  });
});

test("the plan fits: all small scales together end in 20 minutes", () => {
  expect(SCENARIOS.reduce((sum, scenario) => sum + scenario.minutesSmall, 0)).toBeLessThanOrEqual(20);
});

test("an unknown name is answered with those that there are", () => {
  expect(() => findScenario("no-such")).toThrow("there is no scenario called no-such");
});
