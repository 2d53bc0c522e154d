import { formatTable } from "../table.ts";
import { median, round } from "../units.ts";
import { type CellSettings, nameOf } from "./cells.ts";
import type { Measured, MeasuredCell } from "./measured.ts";

/** One cell: what it took on real servers, and what was predicted. */
export interface ComparedCell extends CellSettings {
  load: string;
  /** Seconds of each run, in the order of the runs. */
  seconds: number[];
  secondsMin: number;
  secondsMedian: number;
  /** (slowest - fastest) / median; 0 of one run. */
  spread: number;
  predictedSeconds: number | null;
  /** (predicted - median) / median. */
  error: number | null;
  identical: boolean;
}

export interface Errors {
  cells: number;
  median: number | null;
  worst: number | null;
  /** The same against the fastest run of each cell: on a machine that others use too, their disturbance only ever adds time. */
  medianOfFastest: number | null;
  worstOfFastest: number | null;
  /** The cells' own spread, for comparison: nobody can predict better than that. */
  spreadMedian: number;
  spreadMax: number;
}

export interface PredictReport extends Omit<Measured, "loads"> {
  loads: { name: string; transactions: number; binlogBytes: number }[];
  /** The cell that the costs were calibrated on. */
  calibratedOn: string | null;
  runs: ComparedCell[];
  errors: { abreast: Errors; abreastPacked: Errors; native: Errors; byLoad: Record<string, Errors> };
  /** Of each load: the server's own replica by its number of workers, fastest first, as measured and as predicted. */
  nativeOrder: { load: string; measured: number[]; predicted: number[]; right: boolean }[];
}

export interface Prediction {
  load: string;
  /** As `nameOf` calls it. */
  cell: string;
  seconds: number;
}

/** Two cells whose medians differ by less than this cannot be put in order by measuring: their order does not count. */
const TIE = 0.05;

export function compare(
  measured: Measured,
  predictions: readonly Prediction[],
  calibratedOn: PredictReport["calibratedOn"],
): PredictReport {
  const { loads, ...rest } = measured;
  const runs = loads.flatMap((load) => load.cells.map((cell) => compareCell(load.name, cell, predictions)));
  const of = (filter: (run: ComparedCell) => boolean): Errors => errorsOf(runs.filter(filter));
  return {
    ...rest,
    loads: loads.map(({ name, transactions, binlogBytes }) => ({ name, transactions, binlogBytes })),
    calibratedOn,
    runs,
    errors: {
      abreast: of((run) => run.who === "abreast" && run.packTransactionsMax === 1),
      abreastPacked: of((run) => run.who === "abreast" && run.packTransactionsMax > 1),
      native: of((run) => run.who === "native"),
      byLoad: Object.fromEntries(
        loads.map(({ name }) => [
          name,
          of((run) => run.load === name && run.who === "abreast" && run.packTransactionsMax === 1),
        ]),
      ),
    },
    nativeOrder: loads.flatMap(({ name }) =>
      orderOf(
        name,
        runs.filter((run) => run.who === "native" && run.load === name),
      ),
    ),
  };
}

function compareCell(
  load: string,
  { runs, ...settings }: MeasuredCell,
  predictions: readonly Prediction[],
): ComparedCell {
  const seconds = runs.map((run) => run.seconds);
  const secondsMedian = median(seconds);
  const predicted = predictions.find((each) => each.load === load && each.cell === nameOf(settings))?.seconds;
  return {
    load,
    ...settings,
    seconds,
    secondsMin: Math.min(...seconds),
    secondsMedian: round(secondsMedian, 3),
    spread: round((Math.max(...seconds) - Math.min(...seconds)) / secondsMedian, 3),
    predictedSeconds: predicted === undefined ? null : round(predicted, 3),
    error: predicted === undefined ? null : round((predicted - secondsMedian) / secondsMedian, 3),
    identical: runs.every((run) => run.identical),
  };
}

function errorsOf(runs: readonly ComparedCell[]): Errors {
  const errors = runs.flatMap(({ error }) => (error === null ? [] : [Math.abs(error)]));
  const ofFastest = runs.flatMap(({ predictedSeconds, secondsMin }) =>
    predictedSeconds === null ? [] : [Math.abs(predictedSeconds - secondsMin) / secondsMin],
  );
  const spreads = runs.map(({ spread }) => spread);
  return {
    cells: runs.length,
    median: errors.length === 0 ? null : round(median(errors), 3),
    worst: errors.length === 0 ? null : Math.max(...errors),
    medianOfFastest: ofFastest.length === 0 ? null : round(median(ofFastest), 3),
    worstOfFastest: ofFastest.length === 0 ? null : round(Math.max(...ofFastest), 3),
    spreadMedian: spreads.length === 0 ? 0 : round(median(spreads), 3),
    spreadMax: Math.max(0, ...spreads),
  };
}

function orderOf(load: string, runs: readonly ComparedCell[]): PredictReport["nativeOrder"] {
  const known = runs.filter((run) => run.predictedSeconds !== null);
  if (known.length < 2) return [];
  const predicted = [...known].sort((a, b) => (a.predictedSeconds ?? 0) - (b.predictedSeconds ?? 0));
  const measured = [...known].sort((a, b) => a.secondsMedian - b.secondsMedian);
  // Right when nobody stands before one that is clearly faster.
  const right = predicted.every((run, index) =>
    predicted.slice(index + 1).every((later) => later.secondsMedian > run.secondsMedian * (1 - TIE)),
  );
  const workers = (cells: readonly ComparedCell[]): number[] => cells.map((cell) => cell.workers);
  return [{ load, measured: workers(measured), predicted: workers(predicted), right }];
}

const HEADINGS = [
  "load",
  "cell",
  "workers",
  "order",
  "packing",
  "fastest s",
  "median s",
  "spread",
  "predicted s",
  "error",
];
const NUMBERS = new Set(["workers", "packing", "fastest s", "median s", "spread", "predicted s", "error"]);

export function formatPredict(report: PredictReport): string {
  return [heading(report), "", formatTable(HEADINGS, report.runs.map(rowOf), NUMBERS), "", ...conclusions(report)].join(
    "\n",
  );
}

/** The part of docs/predictions.md that is measured. */
export function formatPredictMarkdown(report: PredictReport): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  const table = (runs: readonly ComparedCell[]): string[] => [
    line(HEADINGS),
    line(HEADINGS.map((name) => (NUMBERS.has(name) ? "---:" : "---"))),
    ...runs.map((run) => line(rowOf(run))),
  ];
  const section = (title: string, filter: (run: ComparedCell) => boolean): string[] => {
    const runs = report.runs.filter(filter);
    return runs.length === 0 ? [] : [`### ${title}`, "", ...table(runs), ""];
  };
  return [
    heading(report),
    "",
    ...conclusions(report).map((text) => `- ${text}`),
    "",
    ...section(
      "Abreast, one commit for each transaction",
      (run) => run.who === "abreast" && run.packTransactionsMax === 1,
    ),
    ...section("Abreast, packed", (run) => run.who === "abreast" && run.packTransactionsMax > 1),
    ...section("The server's own replica", (run) => run.who === "native"),
  ].join("\n");
}

function heading({ server, serverVersion, durability, cores, seed, loads }: PredictReport): string {
  const each = loads.map(({ name, transactions, binlogBytes }) => {
    return `${name} ${transactions} transactions, ${(binlogBytes / 1e6).toFixed(1)} MB`;
  });
  return `${server} (${serverVersion}), ${durability}, ${cores} cores, seed ${seed}: ${each.join("; ")}`;
}

function conclusions({ calibratedOn, errors, nativeOrder, runs }: PredictReport): string[] {
  const lines: string[] = [];
  if (calibratedOn !== null) {
    lines.push(`Costs calibrated on one cell, ${calibratedOn}, those of the server's own replica included.`);
  }
  const tell = (what: string, each: Errors): void => {
    const { cells, median: middle, worst, medianOfFastest, worstOfFastest, spreadMedian, spreadMax } = each;
    if (cells === 0) return;
    const error =
      middle === null
        ? "not predicted"
        : `error median ${percent(middle)}, worst ${percent(worst ?? 0)} ` +
          `(against the fastest run: ${percent(medianOfFastest ?? 0)}, ${percent(worstOfFastest ?? 0)})`;
    const spread = `the runs' own spread median ${percent(spreadMedian)}, largest ${percent(spreadMax)}`;
    lines.push(`${what}, ${cells} cells: ${error}; ${spread}.`);
  };
  tell("Abreast, one commit for each transaction", errors.abreast);
  for (const [load, ofLoad] of Object.entries(errors.byLoad)) tell(`of them ${load}`, ofLoad);
  tell("Abreast, packed", errors.abreastPacked);
  tell("The server's own replica", errors.native);
  for (const { load, measured, predicted, right } of nativeOrder) {
    lines.push(
      `The server's own replica, ${load}, workers from fastest to slowest: measured ${measured.join(", ")}; ` +
        `predicted ${predicted.join(", ")}: ${right ? "right" : "wrong"} (less than ${percent(TIE)} apart is no order).`,
    );
  }
  if (!runs.every((run) => run.identical)) lines.push("NOT ALL TARGETS WERE IDENTICAL TO THE SOURCE.");
  return lines;
}

const percent = (value: number): string => `${(100 * value).toFixed(0)} %`;

function rowOf(run: ComparedCell): string[] {
  return [
    run.load,
    run.who === "native" ? `native ${run.policy}` : run.policy,
    `${run.workers}`,
    run.commitOrder,
    `${run.packTransactionsMax}`,
    run.secondsMin.toFixed(2),
    run.secondsMedian.toFixed(2),
    percent(run.spread),
    run.predictedSeconds === null ? "" : run.predictedSeconds.toFixed(2),
    run.error === null ? "" : `${run.error > 0 ? "+" : ""}${percent(run.error)}`,
  ];
}
