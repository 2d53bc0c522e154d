import type { Chart } from "../../chart/page.ts";
import { alignCurves } from "../lag/curve.ts";
import type { CellResult } from "./scenario.ts";

/** One curve for each cell over the time of its run. */
export function overTime(
  cells: readonly CellResult[],
  curve: "lag" | "reported" | "cpu",
  words: { title: string; note?: string },
): Chart[] {
  const shown = cells.flatMap((cell) => {
    const its = cell.curves[curve];
    return its === undefined || its.values.length === 0 ? [] : [{ name: cell.name, curve: its }];
  });
  if (shown.length === 0) return [];
  const aligned = alignCurves(
    shown.map((each) => each.curve),
    curve === "cpu" ? "mean" : "max",
  );
  const marks = cells[0]?.marks ?? [];
  return [
    {
      kind: "lines",
      ...words,
      x: { title: "time", unit: "seconds" },
      y: curve === "cpu" ? { title: "busy processors", unit: "count" } : { title: "lag", unit: "seconds" },
      xs: aligned.seconds,
      series: shown.map(({ name }, index) => ({ name, values: aligned.values[index] ?? [] })),
      ...(marks.length === 0 ? {} : { marks: marks.map(({ seconds, text }) => ({ x: seconds, text })) }),
    },
  ];
}

interface ByOptions {
  x: string;
  /** Names the line or bar that a cell belongs to. */
  line: (settings: CellResult["settings"]) => string;
  metric: string;
}

/** One line for each name that `line` gives, over the numbers of the setting `x`. */
export function byNumber(
  cells: readonly CellResult[],
  { x, line, metric }: ByOptions,
  words: Pick<Chart, "title" | "note" | "x" | "y">,
): Chart[] {
  const xs = [...new Set(cells.map((cell) => Number(cell.settings[x])))].sort((a, b) => a - b);
  if (xs.length < 2) return [];
  const lines = [...new Set(cells.map((cell) => line(cell.settings)))];
  const valueAt = (name: string, at: number): number | null => {
    const cell = cells.find((each) => line(each.settings) === name && Number(each.settings[x]) === at);
    return cell?.summary[metric]?.median ?? null;
  };
  return [
    {
      kind: "lines",
      ...words,
      xs,
      series: lines.map((name) => ({ name, values: xs.map((at) => valueAt(name, at)) })),
    },
  ];
}

/** A group of bars for each value of the setting `x`, a bar in it for each name that `line` gives. */
export function byName(
  cells: readonly CellResult[],
  { x, line, metric }: ByOptions,
  words: Pick<Chart, "title" | "note" | "y">,
): Chart[] {
  if (cells.length === 0) return [];
  const xs = [...new Set(cells.map((cell) => String(cell.settings[x])))];
  const lines = [...new Set(cells.map((cell) => line(cell.settings)))];
  return [
    {
      kind: "bars",
      ...words,
      x: { title: x, unit: "text" },
      xs,
      series: lines.map((name) => ({
        name,
        values: xs.map((at) => {
          const cell = cells.find((each) => line(each.settings) === name && String(each.settings[x]) === at);
          return cell?.summary[metric]?.median ?? null;
        }),
      })),
    },
  ];
}

/** Native and Abreast. */
export const byWho = (settings: CellResult["settings"]): string => String(settings["who"]);
