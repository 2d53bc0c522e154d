/**
 * What a page consists of. Words and numbers only: how they look is the page's own business (page.ts, browser/).
 *
 * A missing value is `null`, and leaves a gap. Times are seconds since 1970, shown in UTC.
 */
export type Section = Chart | PageTable | PageText;

export interface Page {
  title: string;
  /** One line under the title: what it is about, and when it was made. */
  subtitle: string;
  sections: readonly Section[];
}

export interface Chart {
  /** `steps` holds each value until the next one; `bars` stand for categories (`xs` of strings) or for numbers. */
  kind: "lines" | "bars" | "steps";
  title: string;
  note?: string;
  x: Axis;
  y: Axis;
  /** As long as each series' values, and rising when they are numbers. */
  xs: readonly number[] | readonly string[];
  series: readonly Series[];
  /** Vertical lines with a word, at a value of `xs` or between two. Only for numbers. */
  marks?: readonly Mark[];
  /** Bars of one category on top of each other instead of side by side: for parts of a whole. */
  stacked?: boolean;
}

export interface Series {
  name: string;
  values: readonly (number | null)[];
}

export interface Mark {
  x: number;
  text: string;
}

export interface Axis {
  title: string;
  unit: Unit;
  /** `log` is for positive values over several powers of ten. Linear when not given. */
  scale?: "linear" | "log";
}

/**
 * `time` is a moment in seconds since 1970; `seconds` a duration; `ratio` is shown as percent (0.5 is 50 %), `times` as 3.2×; `text` is for categories.
 * A rate is its unit with "per second" in the title.
 */
export type Unit = "time" | "seconds" | "count" | "bytes" | "ratio" | "times" | "text";

export interface PageTable {
  kind: "table";
  title: string;
  note?: string;
  columns: readonly { title: string; align: "left" | "right" }[];
  /** Cells as a reader sees them. Columns of numbers, sizes ("1.2 MB") and durations ("3 min") are sorted by value. */
  rows: readonly (readonly string[])[];
}

export interface PageText {
  kind: "text";
  title?: string;
  paragraphs: readonly string[];
}
