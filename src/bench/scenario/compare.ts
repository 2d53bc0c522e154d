import { formatTable } from "../table.ts";
import { formatValue } from "./report.ts";
import type { ScenarioResult } from "./result.ts";
import type { Metric, Spread } from "./scenario.ts";
import { relativeSpread } from "./summary.ts";

/** What one run each cannot tell apart. */
const SPREAD_OF_ONE = 0.2;
/** Runs that happen to be alike differ by this the next day. */
const SPREAD_MIN = 0.05;

export interface ComparedValue {
  metric: Metric;
  a: Spread;
  b: Spread;
  /** B by A; null when A is 0. */
  ratio: number | null;
  /** By the metric that decides, or any other: beyond what runs of one cell differ by. */
  verdict: "better" | "worse" | "alike";
}

export interface ComparedCell {
  name: string;
  values: ComparedValue[];
}

export interface Comparison {
  /** What else differs, which may be the reason: said first. */
  differences: string[];
  cells: ComparedCell[];
  onlyInA: string[];
  onlyInB: string[];
  /** Cells in which B is slower by the scenario's first metric, beyond the spread. */
  slower: string[];
}

export function compareResults(a: ScenarioResult, b: ScenarioResult): Comparison {
  const metrics = a.metrics.filter(
    (metric) => metric.better !== undefined && b.metrics.some((m) => m.key === metric.key),
  );
  const names = new Set(b.cells.map((cell) => cell.name));
  const cells = a.cells.flatMap((cellA): ComparedCell[] => {
    const cellB = b.cells.find((cell) => cell.name === cellA.name);
    if (cellB === undefined) return [];
    const isSingle = cellA.runs.length < 2 || cellB.runs.length < 2;
    const values = metrics.flatMap((metric): ComparedValue[] => {
      const [its, other] = [cellA.summary[metric.key] ?? null, cellB.summary[metric.key] ?? null];
      return its === null || other === null ? [] : [compareValue(metric, its, other, isSingle)];
    });
    return [{ name: cellA.name, values }];
  });
  const [main] = metrics;
  return {
    differences: differencesOf(a, b),
    cells,
    onlyInA: a.cells.filter((cell) => !names.has(cell.name)).map((cell) => cell.name),
    onlyInB: b.cells.filter((cell) => !a.cells.some((each) => each.name === cell.name)).map((cell) => cell.name),
    slower: cells
      .filter((cell) => cell.values.some(({ metric, verdict }) => metric.key === main?.key && verdict === "worse"))
      .map((cell) => cell.name),
  };
}

function compareValue(metric: Metric, a: Spread, b: Spread, isSingle: boolean): ComparedValue {
  const ratio = a.median === 0 ? null : b.median / a.median;
  const spread = Math.max(isSingle ? SPREAD_OF_ONE : SPREAD_MIN, relativeSpread(a, metric), relativeSpread(b, metric));
  const [less, more] = metric.better === "lower" ? [a.median, b.median] : [b.median, a.median];
  const isAlike = Math.abs(a.median - b.median) <= (metric.resolution ?? 0);
  const exceeds = (high: number, low: number): boolean => !isAlike && high > low * (1 + spread);
  const verdict = exceeds(more, less) ? "worse" : exceeds(less, more) ? "better" : "alike";
  return { metric, a, b, ratio, verdict };
}

/** Everything that was not the same, but for time, duration and what was measured. */
function differencesOf(a: ScenarioResult, b: ScenarioResult): string[] {
  const [of, to] = [factsOf(a), factsOf(b)];
  return [...new Set([...Object.keys(of), ...Object.keys(to)])].flatMap((key) =>
    of[key] === to[key] ? [] : [`${key}: ${of[key] ?? "none"} → ${to[key] ?? "none"}`],
  );
}

function factsOf(result: ScenarioResult): Record<string, string> {
  const { scenario, scale, server, serverVersion, durability, repeat, seed, environment, load, settings } = result;
  const prefixed = (prefix: string, record: object): [string, unknown][] =>
    Object.entries(record).map(([key, value]) => [`${prefix}${key}`, value]);
  const facts = [
    ...prefixed("", { scenario, scale, server, "server version": serverVersion, durability, repeat, seed }),
    ...prefixed("", environment),
    ...prefixed("load: ", load),
    ...prefixed("source: ", settings.source),
    ...prefixed("target: ", settings.target),
  ];
  return Object.fromEntries(facts.map(([key, value]) => [key, String(value)]));
}

export function formatComparison(comparison: Comparison): string {
  const { differences, cells, onlyInA, onlyInB, slower } = comparison;
  const rows = cells.flatMap(({ name, values }) =>
    values.map(({ metric, a, b, ratio, verdict }) => [
      name,
      metric.title,
      formatValue(a.median, metric),
      formatValue(b.median, metric),
      ratio === null ? "" : ratio.toFixed(2),
      verdict === "alike" ? "" : verdict,
    ]),
  );
  return [
    ...(differences.length === 0 ? ["Settings, machine and versions are the same."] : ["What differs besides:"]),
    ...differences.map((each) => `  ${each}`),
    "",
    formatTable(["cell", "metric", "A", "B", "B/A", "B is"], rows, new Set(["A", "B", "B/A"])),
    ...(onlyInA.length > 0 ? [`Only in A: ${onlyInA.join(", ")}.`] : []),
    ...(onlyInB.length > 0 ? [`Only in B: ${onlyInB.join(", ")}.`] : []),
    "",
    slower.length === 0
      ? "B is not slower than A beyond the spread."
      : `B is slower than A, beyond the spread, in ${slower.join(", ")}.`,
  ].join("\n");
}
