import * as fc from "fast-check";
import { expect, it } from "vitest";
import { createPrng } from "../../base/prng.ts";
import { type DistributionName, DISTRIBUTIONS } from "./distribution.ts";

const DRAWS = 20_000;

/** Which share of the values drawn from 1 … 10,000 lies in `from` … `to`. */
function share(name: DistributionName, from: number, to: number): number {
  const prng = createPrng(9);
  let hits = 0;
  for (let i = 0; i < DRAWS; i++) {
    const value = DISTRIBUTIONS[name](prng, 1, 10_000);
    if (value >= from && value <= to) hits++;
  }
  return hits / DRAWS;
}

it("every distribution stays within the range", () => {
  fc.assert(
    fc.property(fc.nat(), fc.integer({ min: 1, max: 50 }), fc.nat(5000), (seed, min, width) => {
      const prng = createPrng(seed);
      for (const draw of Object.values(DISTRIBUTIONS)) {
        for (let i = 0; i < 50; i++) {
          const value = draw(prng, min, min + width);
          expect(Number.isInteger(value) && value >= min && value <= min + width).toBe(true);
        }
      }
    }),
  );
});

it("special puts three quarters of the values into one hundredth of the range", () => {
  // 75 % by rule, and about 2 % of the bell-shaped rest fall into the same place.
  expect(share("special", 4950, 5051)).toBeGreaterThan(0.74);
  expect(share("special", 4950, 5051)).toBeLessThan(0.79);
});

it("gaussian gathers in the middle: the mean of twelve has a standard deviation of a twelfth of the range", () => {
  expect(share("gaussian", 5000 - 833, 5000 + 833)).toBeCloseTo(0.683, 1);
  expect(share("gaussian", 5000 - 1666, 5000 + 1666)).toBeCloseTo(0.954, 1);
});

it("pareto puts four fifths of the values into the lowest fifth", () => {
  expect(share("pareto", 1, 2000)).toBeCloseTo(0.8, 1);
  expect(share("pareto", 2001, 10_000)).toBeCloseTo(0.2, 1);
});

it("uniform gives each fifth a fifth", () => {
  for (let fifth = 0; fifth < 5; fifth++) {
    expect(share("uniform", fifth * 2000 + 1, (fifth + 1) * 2000)).toBeCloseTo(0.2, 1);
  }
});
