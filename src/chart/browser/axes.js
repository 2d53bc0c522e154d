import { moment, onAxis } from "./quantity.js";
import { FONT, fitText, textWidth } from "./theme.js";

/** @import { Axis, Chart } from "../sections.ts" */
/** @import { Theme } from "./theme.js" */

const DAY = 86_400;
/** Steps that read well, for units that are not counted by tens. */
const STEPS = new Map([
  ["bytes", Array.from({ length: 60 }, (_, power) => 2 ** power)],
  [
    "seconds",
    [
      ...[-6, -5, -4, -3, -2, -1].flatMap((power) => [1, 2, 5].map((digit) => digit * 10 ** power)),
      ...[1, 2, 5, 10, 15, 30].flatMap((step) => [step, step * 60]).sort((a, b) => a - b),
      ...[1, 2, 3, 6, 12, 24, 48, 120, 240, 480].map((hours) => hours * 3600),
    ],
  ],
]);

/** The steps of a unit; on a scale of powers only those are written and have a line. */
function steps(/** @type {Axis} */ { unit, scale }, /** @type {Theme} */ colours) {
  const incrs = STEPS.get(unit);
  if (scale !== "log") return incrs === undefined ? {} : { incrs };
  const filter = (/** @type {uPlot} */ plot, /** @type {(number | null)[]} */ splits, /** @type {number} */ axis) => {
    const base = plot.scales[axis === 0 ? "x" : "y"]?.log ?? 10;
    return splits.map((split) => (split !== null && isPower(split, base) ? split : null));
  };
  const { grid, ticks } = look(colours);
  return { filter, grid: { ...grid, filter }, ticks: { ...ticks, filter } };
}

function isPower(/** @type {number} */ value, /** @type {number} */ base) {
  const power = Math.log(value) / Math.log(base);
  return Math.abs(power - Math.round(power)) < 1e-6;
}

/** `03:12`, with seconds where steps are short; the day where it changes. Days alone when a step is a day. */
function timeLabels(/** @type {number[]} */ splits, /** @type {number} */ step) {
  let dayBefore = "";
  return splits.map((split) => {
    const [day = "", time = ""] = moment(split).split(" ");
    if (step >= DAY) return day;
    const label = step >= 60 ? time.slice(0, 5) : time;
    const isNew = day !== dayBefore;
    dayBefore = day;
    return isNew ? `${label}\n${day}` : label;
  });
}

function look(/** @type {Theme} */ colours) {
  return {
    stroke: colours.quiet,
    font: FONT,
    labelFont: FONT,
    labelSize: 18,
    labelGap: 0,
    grid: { stroke: colours.grid, width: 1 },
    ticks: { stroke: colours.grid, width: 1, size: 5 },
    gap: 4,
  };
}

/** Half of a day under the first tick of a time axis. */
const STANDING_SIZE_MIN = 38;

/** Room for the widest label beside an axis that stands. */
function standingSize(/** @type {uPlot} */ _, /** @type {string[] | null} */ values) {
  return Math.max(STANDING_SIZE_MIN, ...(values ?? []).map((value) => 12 + textWidth(value)));
}

/** The axis of values: of numbers, whichever way the chart lies. */
export function valueAxis(/** @type {Axis} */ axis, /** @type {boolean} */ isLying, /** @type {Theme} */ colours) {
  /** @type {unknown} */
  const laidOut = {
    ...look(colours),
    scale: "y",
    side: isLying ? 2 : 3,
    space: isLying ? 70 : 40,
    size: isLying ? 28 : standingSize,
    ...(isLying && axis.title !== "" ? { label: axis.title } : {}),
    ...steps(axis, colours),
    values: (/** @type {uPlot} */ _, /** @type {(number | null)[]} */ splits) =>
      splits.map((split) => (split === null ? "" : onAxis(split, axis.unit))),
  };
  return /** @type {uPlot.Axis} */ (laidOut);
}

/** The axis under lines and bars of numbers. */
export function numberAxis(/** @type {Chart} */ chart, /** @type {Theme} */ colours) {
  const { unit, title } = chart.x;
  const xs = /** @type {readonly number[]} */ (chart.xs);
  const isTime = unit === "time";
  const few = !isTime && xs.length <= 12;
  return {
    ...look(colours),
    scale: "x",
    space: isTime ? 80 : 60,
    size: isTime ? 40 : 28,
    label: isTime ? (title === "" ? "UTC" : `${title} (UTC)`) : title,
    ...(few
      ? { splits: () => [...xs], filter: (/** @type {uPlot} */ _, /** @type {number[]} */ splits) => splits }
      : steps(chart.x, colours)),
    values: (
      /** @type {uPlot} */ _,
      /** @type {(number | null)[]} */ splits,
      /** @type {number} */ __,
      /** @type {number} */ ___,
      /** @type {number} */ step,
    ) =>
      isTime
        ? timeLabels(/** @type {number[]} */ (splits), step)
        : splits.map((split) => (split === null ? "" : onAxis(split, unit))),
  };
}

/** The axis of categories: each has its name, or as much of it as `room` pixels hold. */
export function categoryAxis(
  /** @type {readonly string[]} */ names,
  /** @type {{ title: string, isLying: boolean, room: number }} */ { title, isLying, room },
  /** @type {Theme} */ colours,
) {
  const every = isLying ? 1 : Math.ceil(names.length / Math.max(1, Math.floor(room / widest(names))));
  return {
    ...look(colours),
    scale: "x",
    side: isLying ? 3 : 2,
    grid: { show: false },
    ticks: { show: false },
    size: isLying ? standingSize : 28,
    ...(isLying || title === "" ? {} : { label: title }),
    splits: () => names.map((_, index) => index),
    filter: (/** @type {uPlot} */ _, /** @type {number[]} */ splits) => splits,
    values: () => names.map((name, index) => (isLying ? fitText(name, room) : index % every === 0 ? name : "")),
  };
}

export function widest(/** @type {readonly string[]} */ names) {
  return 12 + Math.max(0, ...names.map((name) => textWidth(name)));
}
