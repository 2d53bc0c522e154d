import type { Prng } from "../../base/prng.ts";

/** Draws a whole number from `min` … `max`, both included. */
export type Distribution = (prng: Prng, min: number, max: number) => number;

export type DistributionName = "uniform" | "special";

const uniform: Distribution = (prng, min, max) => prng.integer(min, max);

/**
 * sysbench's default up to 1.0 (`--rand-type=special`, src/sb_rand.c, 1.0.20): 75 of 100 values lie in the middle 1 % of the range, the others are the
 * mean of 12 uniform values. So a few rows are hot, as in most applications.
 */
const special: Distribution = (prng, min, max) => {
  const range = max - min;
  const drawn = prng.next();
  const scaled = drawn * range * (100 / (100 - SPECIAL_PERCENT_OF_VALUES));
  if (scaled < range) {
    let sum = 0;
    for (let i = 0; i < SPECIAL_ITERATIONS; i++) sum += prng.next();
    return Math.floor(min + (sum * range) / SPECIAL_ITERATIONS);
  }
  const hot = drawn * ((range * SPECIAL_PERCENT_OF_RANGE) / 100 + 1);
  return min + Math.floor(hot + range / 2 - (range * SPECIAL_PERCENT_OF_RANGE) / 200);
};

const SPECIAL_ITERATIONS = 12;
const SPECIAL_PERCENT_OF_RANGE = 1;
const SPECIAL_PERCENT_OF_VALUES = 75;

export const DISTRIBUTIONS: Readonly<Record<DistributionName, Distribution>> = { uniform, special };
