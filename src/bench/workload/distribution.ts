import type { Prng } from "../../base/prng.ts";

/** Draws a whole number from `min` … `max`, both included. */
export type Distribution = (prng: Prng, min: number, max: number) => number;

/** sysbench 1.0's own (`--rand-type`). */
export type DistributionName = "uniform" | "gaussian" | "special" | "pareto";

const uniform: Distribution = (prng, min, max) => prng.integer(min, max);

/** The mean of 12 uniform values (`--rand-spec-iter`). */
const gaussian: Distribution = (prng, min, max) => min + Math.floor(meanOfUniform(prng) * (max - min + 1));

/**
 * sysbench's default up to 1.0 (`--rand-type=special`, src/sb_rand.c, 1.0.20): 75 of 100 values lie in the middle 1 % of the range, the others are the
 * mean of 12 uniform values. So a few rows are hot, as in most applications.
 */
const special: Distribution = (prng, min, max) => {
  const range = max - min;
  const drawn = prng.next();
  const scaled = drawn * range * (100 / (100 - SPECIAL_PERCENT_OF_VALUES));
  if (scaled < range) return Math.floor(min + meanOfUniform(prng) * range);
  const hot = drawn * ((range * SPECIAL_PERCENT_OF_RANGE) / 100 + 1);
  return min + Math.floor(hot + range / 2 - (range * SPECIAL_PERCENT_OF_RANGE) / 200);
};

/** The lower, the more often: with h = 0.2 four values of five lie in the lowest fifth of the range (`--rand-pareto-h`). */
const pareto: Distribution = (prng, min, max) => min + Math.floor((max - min + 1) * prng.next() ** PARETO_POWER);

function meanOfUniform(prng: Prng): number {
  let sum = 0;
  for (let i = 0; i < ITERATIONS; i++) sum += prng.next();
  return sum / ITERATIONS;
}

const ITERATIONS = 12;
const SPECIAL_PERCENT_OF_RANGE = 1;
const SPECIAL_PERCENT_OF_VALUES = 75;
const PARETO_H = 0.2;
const PARETO_POWER = Math.log(PARETO_H) / Math.log(1 - PARETO_H);

export const DISTRIBUTIONS: Readonly<Record<DistributionName, Distribution>> = { uniform, gaussian, special, pareto };
