import { barsMax } from "./bars.js";

/** @import { Axis, Chart } from "../sections.ts" */

/** The scale of categories, or of the numbers below. */
export function scaleOfX(/** @type {Chart} */ chart, /** @type {boolean} */ isLying) {
  const { xs } = chart;
  /** @type {unknown} */
  const scale = {
    time: chart.x.unit === "time",
    ...(isLying ? { ori: 1, dir: -1 } : {}),
    ...(isNumbers(xs) ? logarithmic(chart.x, xs) : { range: [-0.5, xs.length - 0.5] }),
    ...(isNumbers(xs) && chart.kind === "bars" ? { range: aroundBars(xs) } : {}),
  };
  return /** @type {uPlot.Scale} */ (scale);
}

/** From zero, so that a length is a value; over powers of ten from where the least value still has a length. */
export function scaleOfY(/** @type {Chart} */ chart, /** @type {boolean} */ isLying) {
  const values = chart.series.flatMap((series) => series.values).filter((value) => value !== null);
  /** @type {unknown} */
  const scale = {
    ...(isLying ? { ori: 0 } : {}),
    ...(chart.y.scale === "log"
      ? { ...logarithmic(chart.y, values), ...(chart.kind === "bars" ? { range: aboveBars } : {}) }
      : { range: fromZero(chart) }),
  };
  return /** @type {uPlot.Scale} */ (scale);
}

/** @returns {xs is readonly number[]} */
export function isNumbers(/** @type {readonly number[] | readonly string[]} */ xs) {
  return typeof xs[0] !== "string";
}

/** Powers of ten, or of two where there are few of them. */
function logarithmic(/** @type {Axis} */ axis, /** @type {readonly number[]} */ values) {
  if (axis.scale !== "log") return {};
  const positive = values.filter((value) => value > 0);
  const least = positive.reduce((a, b) => Math.min(a, b), Infinity);
  const most = positive.reduce((a, b) => Math.max(a, b), 0);
  return { distr: 3, log: most / least <= 128 ? 2 : 10 };
}

function fromZero(/** @type {Chart} */ chart) {
  return (/** @type {uPlot} */ _, /** @type {number | null} */ min, /** @type {number | null} */ max) => {
    const least = Math.min(0, min ?? 0);
    const most = chart.kind === "bars" ? barsMax(chart) : (max ?? 0);
    if (most <= 0 && least === 0) return [0, 1];
    const [low, high] = uPlot.rangeNum(least, most, 0.08, true);
    return [least < 0 ? low : 0, high];
  };
}

function aboveBars(/** @type {uPlot} */ _, /** @type {number | null} */ min, /** @type {number | null} */ max) {
  if (min === null || max === null) return [0.5, 10];
  return [10 ** Math.floor(Math.log10(min)) / 2, 10 ** Math.ceil(Math.log10(max * 1.5))];
}

function aroundBars(/** @type {readonly number[]} */ xs) {
  const [first = 0, second = first + 1] = xs;
  const half = (second - first) / 2;
  return [first - half, (xs.at(-1) ?? first) + half];
}
