import fc from "fast-check";
import { expect, test } from "vitest";
import { BACK_OFF_MS_MAX, backOffMs } from "./back-off.ts";

test("waits double from a tenth of a second up to the limit, and chance takes at most half away", () => {
  expect([0, 1, 2, 3].map((attempt) => backOffMs(attempt, 1))).toEqual([100, 200, 400, 800]);
  expect([0, 1, 2, 3].map((attempt) => backOffMs(attempt, 0))).toEqual([50, 100, 200, 400]);
  expect(backOffMs(1000, 1)).toBe(BACK_OFF_MS_MAX);
  expect(backOffMs(1000, 0, 200)).toBe(100);
});

test("no attempt and no chance gives a wait outside 50 ms and 30 s", () => {
  fc.assert(
    fc.property(fc.nat(), fc.double({ min: 0, max: 1, noNaN: true }), (attempt, random) => {
      const wait = backOffMs(attempt, random);
      expect(wait).toBeGreaterThanOrEqual(50);
      expect(wait).toBeLessThanOrEqual(BACK_OFF_MS_MAX);
    }),
  );
});
