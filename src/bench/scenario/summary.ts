import { median } from "../units.ts";
import type { CellResult, Metric, RunResult, Spread } from "./scenario.ts";

export function summaryOf(metrics: readonly Metric[], runs: readonly RunResult[]): Record<string, Spread | null> {
  return Object.fromEntries(
    metrics.map(({ key }) => {
      const values = runs.flatMap((run) => run.values[key] ?? []);
      return [key, values.length === 0 ? null : spreadOf(values)];
    }),
  );
}

function spreadOf(values: readonly number[]): Spread {
  return { min: Math.min(...values), median: median(values), max: Math.max(...values) };
}

/** Share of the median by which runs of one cell differ; 0 when that is less than what the metric can tell. */
export function relativeSpread({ min, median: middle, max }: Spread, { resolution = 0 }: Metric): number {
  if (max - min <= resolution || middle === 0) return 0;
  return (max - min) / middle;
}

/** From here on the machine is told to be the limit. */
const BUSY = 0.95;
const SPREAD = 0.2;
const LISTED_MAX = 6;

/** What makes figures less than they seem: the machine, the source, runs that differ, tables that differ. */
export function warningsOf(metrics: readonly Metric[], cells: readonly CellResult[]): string[] {
  const which = (holds: (cell: CellResult) => boolean): string[] => cells.filter(holds).map((cell) => cell.name);
  const listed = (names: readonly string[]): string => {
    if (names.length === cells.length && names.length > 1) return "every cell";
    const shown = names.slice(0, LISTED_MAX).join(", ");
    return names.length > LISTED_MAX ? `${shown} and ${names.length - LISTED_MAX} more` : shown;
  };
  const [main] = metrics;
  const busy = which((cell) => cell.runs.some((run) => run.machineBusy >= BUSY));
  const source = which((cell) => cell.runs.some((run) => run.isSourceLimit));
  const wide = which((cell) => {
    const spread = main === undefined ? null : (cell.summary[main.key] ?? null);
    return main !== undefined && spread !== null && relativeSpread(spread, main) > SPREAD;
  });
  const differing = which((cell) => cell.runs.some((run) => !run.identical));
  return [
    ...(differing.length > 0 ? [`Source and target DIFFER after ${listed(differing)}.`] : []),
    ...(busy.length > 0
      ? [
          `All processors were busy most of the time in ${listed(busy)}: source, load and replica share this machine, and it is the limit.`,
        ]
      : []),
    ...(source.length > 0
      ? [`The replica kept up all the time in ${listed(source)}: what is shown there is the source's speed.`]
      : []),
    ...(wide.length > 0
      ? [
          `Runs differ by more than 20 % in ${listed(wide)} (${main?.title ?? ""}): repeat more often, on a quiet machine.`,
        ]
      : []),
  ];
}
