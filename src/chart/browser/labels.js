import { paint, seriesColour, seriesDash, textWidth } from "./theme.js";

/** @import { Chart } from "../sections.ts" */
/** @import { Theme } from "./theme.js" */

const LINE_HEIGHT = 16;
const SWATCH = 22;
/** Below this width lines need all of it for themselves. */
const DIRECT_WIDTH_MIN = 560;

/** How the series of a chart are named: at the ends of their lines, in a legend above, or not at all where there is but one. */
export function namingOf(/** @type {Chart} */ chart, /** @type {number} */ width) {
  if (chart.series.length < 2) return { kind: "none", room: 0 };
  const room = SWATCH / 2 + Math.max(...chart.series.map(({ name }) => textWidth(name)));
  if (chart.kind !== "bars" && width >= DIRECT_WIDTH_MIN && chart.series.length <= 8 && room <= width / 4) {
    return { kind: "direct", room };
  }
  return { kind: "legend", room: legendRows(chart, width).length * LINE_HEIGHT + 6 };
}

/** The names in rows of at most `width`, each with where it begins. */
function legendRows(/** @type {Chart} */ chart, /** @type {number} */ width) {
  /** @type {{ name: string, index: number, left: number }[][]} */
  const rows = [[]];
  let left = 0;
  chart.series.forEach(({ name }, index) => {
    const needed = SWATCH + textWidth(name) + 14;
    if (left > 0 && left + needed > width) {
      rows.push([]);
      left = 0;
    }
    rows.at(-1)?.push({ name, index, left });
    left += needed;
  });
  return rows;
}

export function drawLegend(/** @type {uPlot} */ plot, /** @type {Chart} */ chart, /** @type {Theme} */ colours) {
  paint(plot, (context) => {
    context.textAlign = "left";
    legendRows(chart, plot.width).forEach((row, line) => {
      const middle = line * LINE_HEIGHT + LINE_HEIGHT / 2;
      for (const { name, index, left } of row) {
        swatch(context, {
          colour: seriesColour(colours, index),
          left,
          middle,
          dash: seriesDash(index),
          isBar: chart.kind === "bars",
        });
        context.fillStyle = colours.ink;
        context.fillText(name, left + SWATCH, middle);
      }
    });
  });
}

function swatch(
  /** @type {CanvasRenderingContext2D} */ context,
  /** @type {{ colour: string, left: number, middle: number, dash: number[], isBar: boolean }} */ {
    colour,
    left,
    middle,
    dash,
    isBar,
  },
) {
  context.fillStyle = context.strokeStyle = colour;
  if (isBar) {
    context.fillRect(left, middle - 5, 11, 11);
    return;
  }
  context.lineWidth = 2;
  context.setLineDash(dash);
  context.beginPath();
  context.moveTo(left, middle);
  context.lineTo(left + 16, middle);
  context.stroke();
  context.setLineDash([]);
}

/** Names beside the last points of their lines, pushed apart where those are close, in the order of the lines. */
export function drawEndLabels(/** @type {uPlot} */ plot, /** @type {Chart} */ chart, /** @type {Theme} */ colours) {
  paint(plot, (context, { left, top, width, height, at }) => {
    const labels = chart.series.flatMap(({ name }, series) => {
      const values = /** @type {readonly (number | null | undefined)[]} */ (plot.data[series + 1]);
      const last = values.findLastIndex((value) => value !== null && value !== undefined);
      const value = values[last];
      if (value === null || value === undefined) return [];
      const wanted = Math.min(top + height, Math.max(top, at(value, "y")));
      return [{ name, series, wanted, middle: wanted, end: at(plot.data[0][last] ?? 0, "x") }];
    });
    labels.sort((a, b) => a.wanted - b.wanted);
    let free = -Infinity;
    for (const label of labels) {
      label.middle = Math.max(label.wanted, free);
      free = label.middle + LINE_HEIGHT - 2;
    }
    let limit = top + height;
    for (const label of labels.toReversed()) {
      label.middle = Math.min(label.middle, limit);
      limit = label.middle - LINE_HEIGHT + 2;
    }
    context.textAlign = "left";
    for (const { name, series, wanted, middle, end } of labels) {
      const beside = left + width;
      context.strokeStyle = context.fillStyle = seriesColour(colours, series);
      context.beginPath();
      context.moveTo(Math.min(end, beside) + 3, wanted);
      context.lineTo(beside + 14, middle);
      context.stroke();
      context.fillStyle = colours.ink;
      context.fillText(name, beside + 17, middle);
    }
  });
}

/** Above the upper left corner, where it can be read without turning the head. */
export function drawTitleOfY(/** @type {uPlot} */ plot, /** @type {string} */ title, /** @type {Theme} */ colours) {
  paint(plot, (context, { top }) => {
    context.textAlign = "left";
    context.fillStyle = colours.quiet;
    context.fillText(title, 0, top - 17);
  });
}

/** Upright lines, and their words where no other word stands already. */
export function drawMarks(/** @type {uPlot} */ plot, /** @type {Chart} */ chart, /** @type {Theme} */ colours) {
  paint(plot, (context, { left, top, width, height, at }) => {
    const right = left + width;
    const marks = (chart.marks ?? [])
      .map(({ x, text }) => ({ position: at(x, "x"), text }))
      .filter(({ position }) => position >= left && position <= right)
      .sort((a, b) => a.position - b.position);
    context.strokeStyle = colours.quiet;
    context.lineWidth = 1;
    context.setLineDash([3, 3]);
    for (const { position } of marks) {
      context.beginPath();
      context.moveTo(position, top);
      context.lineTo(position, top + height);
      context.stroke();
    }
    context.setLineDash([]);
    context.textAlign = "left";
    context.fillStyle = colours.quiet;
    context.strokeStyle = colours.ground;
    context.lineWidth = 4;
    context.lineJoin = "round";
    const rows = [-Infinity, -Infinity, -Infinity];
    for (const { position, text } of marks) {
      const needed = textWidth(text);
      const begin = position + 4 + needed > right ? position - 4 - needed : position + 4;
      const row = rows.findIndex((end) => end < begin);
      if (row === -1 || begin < left) continue;
      rows[row] = begin + needed + 6;
      const middle = top + 8 + row * LINE_HEIGHT;
      // A rim of the ground's colour keeps a word readable on lines.
      context.strokeText(text, begin, middle);
      context.fillText(text, begin, middle);
    }
  });
}
