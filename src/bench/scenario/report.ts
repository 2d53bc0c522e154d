import { formatBytes } from "../../base/units.ts";
import { type PageTable, renderPage } from "../../chart/page.ts";
import { formatTable } from "../table.ts";
import type { ScenarioResult } from "./result.ts";
import type { CellResult, Metric, Scenario } from "./scenario.ts";

export function formatValue(value: number | null | undefined, { unit }: Pick<Metric, "unit">): string {
  if (value === null || value === undefined) return "";
  if (unit === "count" || unit === "per second") return Math.round(value).toString();
  return value.toFixed(value < 9.995 ? 2 : 1);
}

/** The median, and with several runs the lowest and the highest. */
function formatCell(cell: CellResult, metric: Metric): string {
  const spread = cell.summary[metric.key] ?? null;
  if (spread === null) return "";
  const middle = formatValue(spread.median, metric);
  if (cell.runs.length < 2) return middle;
  return `${middle} (${formatValue(spread.min, metric)}–${formatValue(spread.max, metric)})`;
}

const UNIT_WORDS: Readonly<Record<Metric["unit"], string>> = {
  seconds: ", s",
  milliseconds: ", ms",
  "per second": "/s",
  count: "",
  cores: ", cores",
};

interface TableParts {
  headings: string[];
  rows: string[][];
  numbers: Set<string>;
}

function tableOf({ cells, metrics }: ScenarioResult): TableParts {
  const keys = [...new Set(cells.flatMap((cell) => Object.keys(cell.settings)))];
  const shown = metrics.filter(({ key }) => cells.some((cell) => (cell.summary[key] ?? null) !== null));
  const titles = shown.map(({ title, unit }) => `${title}${UNIT_WORDS[unit]}`);
  const isNumber = (key: string): boolean => cells.every((cell) => typeof (cell.settings[key] ?? 0) === "number");
  return {
    headings: [...keys, ...titles, "machine busy", "identical"],
    rows: cells.map((cell) => [
      ...keys.map((key) => `${cell.settings[key] ?? ""}`),
      ...shown.map((metric) => formatCell(cell, metric)),
      `${Math.round(Math.max(...cell.runs.map((run) => run.machineBusy)) * 100)} %`,
      cell.runs.every((run) => run.identical) ? "yes" : "NO",
    ]),
    numbers: new Set([...keys.filter(isNumber), ...titles, "machine busy"]),
  };
}

const pairs = (record: Readonly<Record<string, string | number>>): string =>
  Object.entries(record)
    .map(([key, value]) => `${key} ${value}`)
    .join(", ");

/** What was measured on what: the lines above a table. */
function conditionsOf(result: ScenarioResult): string[] {
  const { environment: at, settings } = result;
  const alike = pairs(settings.source) === pairs(settings.target);
  return [
    `${result.server} (${result.serverVersion}), ${result.durability}; Abreast ${at.abreast}${at.commit === null ? "" : ` at ${at.commit}`}, Node ${at.node.replace(/^v/, "")}`,
    `${at.cpu}, ${at.cores} cores, ${formatBytes(at.memoryBytes)}, Linux ${at.kernel}; ${result.startedAt.slice(0, 16).replace("T", " ")} UTC, ${Math.round(result.seconds)} s`,
    `scale ${result.scale}, each cell ${result.repeat === 1 ? "once" : `${result.repeat} times: median (min–max)`}, seed ${result.seed}; ${pairs(result.load)}`,
    ...(alike
      ? [`both servers: ${pairs(settings.source)}`]
      : [`source: ${pairs(settings.source)}`, `target: ${pairs(settings.target)}`]),
  ];
}

/** For the terminal. */
export function formatResult(result: ScenarioResult): string {
  const { headings, rows, numbers } = tableOf(result);
  return [
    `${result.scenario}: ${result.describe}`,
    ...conditionsOf(result),
    "",
    formatTable(headings, rows, numbers),
    ...(result.warnings.length > 0 ? ["", ...result.warnings.map((warning) => `Warning: ${warning}`)] : []),
  ].join("\n");
}

/** One HTML document, which needs no network. */
export function resultPage(result: ScenarioResult, scenario: Pick<Scenario, "charts">): string {
  return renderPage({
    title: `${result.scenario}: ${result.server}`,
    subtitle: result.describe,
    sections: [
      ...(result.warnings.length > 0
        ? [{ kind: "text" as const, title: "Before you believe it", paragraphs: result.warnings }]
        : []),
      ...scenario.charts(result.cells),
      pageTable(result),
      { kind: "text", title: "What was measured on what", paragraphs: conditionsOf(result) },
    ],
  });
}

function pageTable(result: ScenarioResult): PageTable {
  const { headings, rows, numbers } = tableOf(result);
  return {
    kind: "table",
    title: "All cells",
    columns: headings.map((title) => ({ title, align: numbers.has(title) ? "right" : "left" })),
    rows,
  };
}
