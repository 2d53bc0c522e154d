import { inWords } from "./quantity.js";
import { paint, seriesColour, textWidth } from "./theme.js";

/** @import { Chart } from "../sections.ts" */
/** @import { Theme } from "./theme.js" */

const WIDTH_MAX = 64;
/** Share of a category's room that its bars take. */
const FILLED = 0.78;

/** The end of the longest bar. */
export function barsMax(/** @type {Chart} */ chart) {
  const ends = [...chart.xs].map((_, index) => {
    const values = chart.series.map(({ values }) => values[index] ?? 0);
    return chart.stacked === true ? values.reduce((sum, value) => sum + value, 0) : Math.max(...values);
  });
  return Math.max(0, ...ends);
}

/** Draws the bars of a chart whose categories are the whole numbers from 0, or its own numbers. */
export function drawBars(/** @type {uPlot} */ plot, /** @type {Chart} */ chart, /** @type {Theme} */ colours) {
  const isLying = plot.scales.x?.ori === 1;
  const isStacked = chart.stacked === true;
  const isLog = chart.y.scale === "log";
  const [xs] = plot.data;
  const beside = isStacked ? 1 : chart.series.length;
  paint(plot, (context, { at }) => {
    const thickness = Math.max(1, Math.min(WIDTH_MAX, (roomOf(xs, at) * FILLED) / beside));
    const gap = beside > 1 && thickness > 4 ? 1 : 0;
    xs.forEach((x, category) => {
      const floor = isLog ? (plot.scales.y?.min ?? 0) : 0;
      let start = floor;
      let offset = at(x, "x") - (thickness * beside) / 2;
      chart.series.forEach(({ values }, index) => {
        const value = values[category] ?? 0;
        const end = isStacked ? start + value : value;
        if (value > 0) {
          const [from, to] = [at(start, "y"), at(end, "y")];
          context.fillStyle = seriesColour(colours, index);
          if (isLying) context.fillRect(from, offset, to - from, thickness - gap);
          else context.fillRect(offset, to, thickness - gap, from - to);
        }
        if (isStacked) start = end;
        const isEnd = !isStacked || index === chart.series.length - 1;
        const isKnown = isStacked || typeof values[category] === "number";
        if (isEnd && isKnown) {
          const to = at(Math.max(end, floor), "y");
          label(context, colours, inWords(end, chart.y.unit), { isLying, to, offset, thickness });
        }
        if (!isStacked) offset += thickness;
      });
    });
  });
}

/** What one category has along the axis. */
function roomOf(/** @type {ArrayLike<number>} */ xs, /** @type {(value: number, scale: string) => number} */ at) {
  let step = Infinity;
  for (let index = 1; index < xs.length; index += 1) step = Math.min(step, (xs[index] ?? 0) - (xs[index - 1] ?? 0));
  return Number.isFinite(step) ? Math.abs(at((xs[0] ?? 0) + step, "x") - at(xs[0] ?? 0, "x")) : WIDTH_MAX / FILLED;
}

/** The value at the end of its bar, where there is room for it. */
function label(
  /** @type {CanvasRenderingContext2D} */ context,
  /** @type {Theme} */ colours,
  /** @type {string} */ text,
  /** @type {{ isLying: boolean, to: number, offset: number, thickness: number }} */ { isLying, to, offset, thickness },
) {
  context.fillStyle = colours.ink;
  if (isLying && thickness >= 11) {
    context.textAlign = "left";
    context.fillText(text, to + 5, offset + thickness / 2);
  } else if (!isLying && textWidth(text) <= thickness + 4) {
    context.textAlign = "center";
    context.fillText(text, offset + thickness / 2, to - 8);
  }
}
