import { cut, cutStart } from "./units.ts";

export interface Column {
  title: string;
  align: "left" | "right";
  /** May be shortened to this width; the first such column is shortened first. */
  widthMin?: number;
  /** Which end is cut off. */
  cutAt?: "start" | "end";
  /** Others are left out before this one is shortened. */
  isCutLast?: true;
  /** Left out before the table becomes wider than the terminal; the last such column goes first. */
  isExpendable?: true;
}

/** A table as the servers' own client draws it, at most `width` columns wide where its columns allow that. */
export function renderTable(columns: readonly Column[], rows: readonly (readonly string[])[], width: number): string {
  const natural = columns.map((column, i) => Math.max(column.title.length, ...rows.map((row) => row[i]?.length ?? 0)));
  const shown = columns.map((_, i) => i);
  const wanted = (i: number): number =>
    columns[i]?.isCutLast === true ? (natural[i] ?? 0) : narrowest(columns[i], natural[i] ?? 0);
  while (sum(shown, (i) => wanted(i) + 3) + 1 > width) {
    const dropped = shown.findLastIndex((i) => columns[i]?.isExpendable);
    if (dropped < 0) break;
    shown.splice(dropped, 1);
  }
  const widths = shrink(columns, natural, shown, width);
  const ruler = `+${shown.map((i) => "-".repeat((widths[i] ?? 0) + 2)).join("+")}+`;
  const line = (cells: readonly string[]): string =>
    `|${shown.map((i) => ` ${fit(cells[i] ?? "", widths[i] ?? 0, columns[i])} `).join("|")}|`;
  return [ruler, line(columns.map((column) => column.title)), ruler, ...rows.map(line), ruler].join("\n");
}

/** The same, never wider than `width` while there are columns to leave out: what comes first tells most. */
export function renderTableWithin(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
): string {
  const table = renderTable(columns, rows, width);
  const isTooWide = table.indexOf("\n") > width && columns.length > 1;
  return isTooWide ? renderTableWithin(columns.slice(0, -1), rows, width) : table;
}

function shrink(
  columns: readonly Column[],
  natural: readonly number[],
  shown: readonly number[],
  width: number,
): number[] {
  const widths = [...natural];
  let excess = sum(shown, (i) => (natural[i] ?? 0) + 3) + 1 - width;
  for (const i of shown) {
    const before = natural[i] ?? 0;
    const after = Math.max(narrowest(columns[i], before), before - Math.max(excess, 0));
    widths[i] = after;
    excess -= before - after;
  }
  return widths;
}

function narrowest(column: Column | undefined, natural: number): number {
  return Math.min(natural, Math.max(column?.widthMin ?? natural, column?.title.length ?? 0));
}

function fit(text: string, width: number, column: Column | undefined): string {
  const shown = column?.cutAt === "start" ? cutStart(text, width) : cut(text, width);
  return column?.align === "right" ? shown.padStart(width) : shown.padEnd(width);
}

function sum(items: readonly number[], of: (item: number) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
