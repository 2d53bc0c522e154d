import fc from "fast-check";
import { expect, test } from "vitest";
import { alignCurves, BoundedCurve } from "./curve.ts";

test("a curve stays short, and keeps its highest value however long it gets", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.integer({ min: 0, max: 100_000 }), fc.integer({ min: 0, max: 1_000 })), { minLength: 1 }),
      (points) => {
        const bounded = new BoundedCurve("max", { stepSeconds: 1, stepsMax: 8 });
        for (const [seconds, value] of points) bounded.add(seconds, value);
        const { values } = bounded.curve;
        expect(values.length).toBeLessThanOrEqual(8);
        expect(Math.max(...values.map((value) => value ?? 0))).toBe(Math.max(...points.map(([, value]) => value)));
      },
    ),
  );
});

test("a mean counts each value once, also when steps were put together", () => {
  const bounded = new BoundedCurve("mean", { stepSeconds: 1, stepsMax: 2 });
  for (const value of [1, 1, 1]) bounded.add(0, value);
  bounded.add(1, 5);
  bounded.add(2, 7);
  expect(bounded.curve).toEqual({ stepSeconds: 2, values: [2, 7] });
});

test("a step in which nothing was seen is a gap", () => {
  const bounded = new BoundedCurve("max", { stepSeconds: 1 });
  bounded.add(0, 3);
  bounded.add(2, 4);
  bounded.add(-1, 9);
  expect(bounded.curve.values).toEqual([3, null, 4]);
});

test("curves of unlike steps and lengths share the longest step", () => {
  const short = { stepSeconds: 0.5, values: [1, 2, 3] };
  const long = { stepSeconds: 1, values: [5, null, 6] };
  expect(alignCurves([short, long], "max")).toEqual({
    seconds: [0, 1, 2],
    values: [
      [2, 3, null],
      [5, null, 6],
    ],
  });
});
