import type { ServerFlavour } from "../../sandbox/flavours.ts";
import type { Chart } from "../../chart/page.ts";
import type { Contender } from "../contest/contender.ts";
import type { Contest } from "../contest/contest.ts";
import type { Curve } from "../lag/curve.ts";

/**
 * How large everything is. `small`: all scenarios together end in 20 minutes on 2 cores. `full`: as in the articles that made the scenarios known. `tiny`: only whether it works; its
 * figures mean nothing.
 */
export const SCALES = ["tiny", "small", "full"] as const;
export type Scale = (typeof SCALES)[number];

/**
 * One question of the field, as a grid of cells: what is measured in one cell, and which charts show it. Servers, repeats, order, machine, files and comparison are the frame's, so that
 * every scenario is measured alike.
 */
export interface Scenario {
  name: string;
  /** What it shows, in a line. */
  describe: string;
  /** At the small scale on 2 cores, with one repeat. */
  minutesSmall: number;
  /** Of all servers, when there are any. */
  serverOptions?: readonly string[];
  /** The first one is what `compare` decides by. */
  metrics: readonly Metric[];
  plan(options: PlanOptions): Plan;
  charts(cells: readonly CellResult[]): Chart[];
}

export interface PlanOptions {
  scale: Scale;
  server: ServerFlavour;
  seed: number;
}

export interface Plan {
  /** Sizes of everything, as they are printed. */
  load: Readonly<Record<string, string | number>>;
  groups: readonly Group[];
}

/** Cells that share a source or its backlog. They run forwards and backwards in turn over the repeats. */
export interface Group {
  cells: readonly Cell[];
  /** Makes what they share, has all cells measured with `measureAll`, and takes it away. */
  play(contest: Contest, measureAll: (measure: (cell: Cell) => Promise<Measurement>) => Promise<void>): Promise<void>;
}

export interface Cell {
  /** Unique in its scenario. */
  name: string;
  /** Columns of the table, in order. */
  settings: Readonly<Record<string, string | number>>;
  contender: Contender;
}

export interface Metric {
  key: string;
  title: string;
  unit: "seconds" | "milliseconds" | "per second" | "count" | "cores";
  /** Undefined: neither is better. */
  better?: "lower" | "higher";
  /** What differs by less is alike, such as lags below the interval of a heartbeat. */
  resolution?: number;
}

/** What was seen of one cell. */
export interface Measurement {
  /** By the metric's key; null where it does not apply. */
  values: Readonly<Record<string, number | null>>;
  curves?: Readonly<Record<string, Curve>>;
  /** Every table of the target agrees with the source. */
  identical: boolean;
  serverVersion: string;
  settings: { source: Readonly<Record<string, string>>; target: Readonly<Record<string, string>> };
  /** The source was slower than the replica: what was measured is the source. */
  isSourceLimit?: boolean;
  /** Moments to be marked in charts over time, in seconds. */
  marks?: readonly { seconds: number; text: string }[];
}

export interface RunResult {
  values: Record<string, number | null>;
  identical: boolean;
  isSourceLimit: boolean;
  /** Share of the machine's processor time that was used, 0 to 1: the median of looks at it. */
  machineBusy: number;
}

export interface Spread {
  min: number;
  median: number;
  max: number;
}

export interface CellResult {
  name: string;
  settings: Record<string, string | number>;
  runs: RunResult[];
  /** By the metric's key, over all runs; null where no run has it. */
  summary: Record<string, Spread | null>;
  /** Of the last run. */
  curves: Record<string, Curve>;
  marks: { seconds: number; text: string }[];
}
