import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createPrng } from "./prng.ts";

const take = (seed: number, stream?: number): number[] => {
  const prng = createPrng(seed, stream);
  return Array.from({ length: 20 }, () => prng.next());
};

describe("createPrng", () => {
  it("gives the same numbers for the same seed and stream, and others for another", () => {
    expect(take(7, 3)).toEqual(take(7, 3));
    expect(take(7, 3)).not.toEqual(take(7, 4));
    expect(take(7)).not.toEqual(take(8));
    expect(take(7)).not.toEqual(take(7 + 2 ** 32));
  });

  it("stays within the bounds, and reaches both", () => {
    fc.assert(
      fc.property(
        fc.nat(),
        fc.integer({ min: -1000, max: 1000 }),
        fc.integer({ min: 0, max: 3 }),
        (seed, min, width) => {
          const prng = createPrng(seed);
          const seen = new Set(Array.from({ length: 200 }, () => prng.integer(min, min + width)));
          expect([...seen].sort((a, b) => a - b)).toEqual(Array.from({ length: width + 1 }, (_, i) => min + i));
        },
      ),
    );
  });

  it("is uniform: each tenth of the range gets a tenth of the values", () => {
    const prng = createPrng(1);
    const buckets = Array.from({ length: 10 }, () => 0);
    for (let i = 0; i < 100_000; i++) buckets[prng.integer(0, 9)] = (buckets[prng.integer(0, 9)] ?? 0) + 1;
    for (const count of buckets) expect(Math.abs(count - 10_000)).toBeLessThan(600);
  });
});
