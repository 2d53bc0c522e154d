import { categoryAxis, numberAxis, valueAxis, widest } from "./axes.js";
import { drawBars } from "./bars.js";
import { drawEndLabels, drawLegend, drawMarks, drawTitleOfY, namingOf } from "./labels.js";
import { inWords } from "./quantity.js";
import { isNumbers, scaleOfX, scaleOfY } from "./scales.js";
import { seriesColour, seriesDash, theme } from "./theme.js";

/** @import { Chart } from "../sections.ts" */
/** @import { Theme } from "./theme.js" */

const HEIGHT = 250;
/** Of the title of y, or of nothing but air. */
const TITLE_HEIGHT = 28;
const AIR_HEIGHT = 6;
/** A value of five or six characters beside the end of a bar. */
const BAR_END_WIDTH = 62;
/** Half of a time below the last tick. */
const LABEL_END_WIDTH = 30;
/** A point is marked where points are few enough to be seen one by one. */
const POINTS_MAX = 40;

/** A chart of `width` CSS pixels in `holder`; `tell` is given the values under the pointer in words, "" when there are none. */
export function drawChart(
  /** @type {Chart} */ chart,
  /** @type {HTMLElement} */ holder,
  /** @type {number} */ width,
  /** @type {(text: string) => void} */ tell,
) {
  const colours = theme();
  const { xs } = chart;
  const isLying = !isNumbers(xs) && chart.kind === "bars" && xs.length * widest(xs) > width - 60;
  const naming = namingOf(chart, width);
  const top = (isLying ? AIR_HEIGHT : TITLE_HEIGHT) + (naming.kind === "legend" ? naming.room : 0);
  const right = naming.kind === "direct" ? naming.room + 20 : isLying ? BAR_END_WIDTH : LABEL_END_WIDTH;
  const room = isLying ? width * 0.4 : width - 60;

  /** @type {uPlot.Options} */
  const options = {
    width,
    height: top + (isLying ? 50 + xs.length * lyingHeight(chart) : HEIGHT),
    padding: [top, right, 0, 0],
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    legend: { show: false },
    cursor: {
      points: { show: chart.kind !== "bars" },
      y: false,
      drag: { x: isNumbers(xs), y: false },
      ...(chart.x.unit === "time" ? { sync: { key: "time" } } : {}),
    },
    scales: { x: scaleOfX(chart, isLying), y: scaleOfY(chart, isLying) },
    axes: [
      isNumbers(xs) ? numberAxis(chart, colours) : categoryAxis(xs, { title: chart.x.title, isLying, room }, colours),
      valueAxis(chart.y, isLying, colours),
    ],
    series: [{}, ...chart.series.map((_, index) => lookOf(chart, index, colours))],
    hooks: {
      draw: [
        (plot) => {
          if (chart.kind === "bars") drawBars(plot, chart, colours);
          if (!isLying) drawTitleOfY(plot, chart.y.title, colours);
          if (naming.kind === "legend") drawLegend(plot, chart, colours);
          if (naming.kind === "direct") drawEndLabels(plot, chart, colours);
          drawMarks(plot, chart, colours);
        },
      ],
      setCursor: [({ cursor: { left = -1, idx } }) => tell(left < 0 ? "" : wordsAt(chart, idx ?? -1))],
    },
  };
  return new uPlot(options, dataOf(chart), holder);
}

/** Categories are the whole numbers from 0. A scale of powers has no place for 0. */
function dataOf(/** @type {Chart} */ { xs, y, series }) {
  const places = isNumbers(xs) ? [...xs] : xs.map((_, index) => index);
  const values = series.map((one) =>
    one.values.map((value) => (y.scale === "log" && (value ?? 0) <= 0 ? null : value)),
  );
  return /** @type {uPlot.AlignedData} */ ([places, ...values]);
}

function lyingHeight(/** @type {Chart} */ { stacked, series }) {
  return stacked === true || series.length === 1 ? 24 : 8 + series.length * 15;
}

/** @returns {uPlot.Series} */
function lookOf(/** @type {Chart} */ chart, /** @type {number} */ index, /** @type {Theme} */ colours) {
  if (chart.kind === "bars") return { paths: () => null, points: { show: false } };
  const colour = seriesColour(colours, index);
  const hasArea = chart.series.length === 1 && chart.y.scale !== "log";
  const stepped = chart.kind === "steps" ? uPlot.paths.stepped?.({ align: 1 }) : undefined;
  return {
    stroke: colour,
    width: 2,
    dash: seriesDash(index),
    points: { show: chart.xs.length <= POINTS_MAX, size: 7, fill: colour },
    ...(hasArea ? { fill: `${colour}22` } : {}),
    ...(stepped === undefined ? {} : { paths: stepped }),
  };
}

function wordsAt(/** @type {Chart} */ chart, /** @type {number} */ index) {
  const x = chart.xs[index];
  if (x === undefined) return "";
  const values = chart.series.map(({ name, values: { [index]: value } }) => {
    const words = value === null || value === undefined ? "–" : inWords(value, chart.y.unit);
    return chart.series.length === 1 ? words : `${name} ${words}`;
  });
  const where = typeof x === "string" ? x : inWords(x, chart.x.unit);
  const what = chart.x.unit === "time" || typeof x === "string" ? "" : `${chart.x.title} `;
  return `${what}${where}: ${values.join(", ")}`;
}
