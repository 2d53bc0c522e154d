import type { Difference, TableReport, VerifyProgress, VerifyReport } from "../../verify/report.ts";
import type { GateWait } from "../../http/engine-gate.ts";
import { fitParts, type Part } from "./line.ts";
import { cut, formatCount, formatCounted, formatDuration, formatLag, formatPercent } from "./units.ts";

/** How far the comparison is, in at most `width` columns. */
export function renderVerifyLine(progress: VerifyProgress, width: number): string {
  const { tablesDone, tablesTotal, rowsDone, rowsTotal, rowsPerSecond, etaSeconds, differingTables } = progress;
  const parts: Part[] = [
    { text: `comparing: ${formatCount(tablesDone)} of ${formatCounted(tablesTotal, "table")}`, expendable: 0 },
    { text: `about ${formatPercent(rowsDone, rowsTotal)}`, expendable: 2 },
    { text: formatCounted(rowsDone, "row"), expendable: 4 },
    { text: `${formatCount(rowsPerSecond)} rows/s`, expendable: 5 },
  ];
  if (differingTables > 0) parts.splice(1, 0, { text: `${formatCount(differingTables)} differ`, expendable: 1 });
  if (etaSeconds !== undefined) parts.push({ text: `${formatDuration(etaSeconds * 1000)} left`, expendable: 3 });
  if (progress.table !== "") parts.push({ text: progress.table, expendable: 6 });
  return fitParts(parts, width);
}

/** That the engine is waited for, and how far behind it is. */
export function renderWait({ position, lagMs }: GateWait, width: number): string {
  const what =
    position === undefined
      ? "waiting for the engine to finish what it applies"
      : `waiting for the engine to apply up to ${position.file}:${position.position}`;
  return cut(lagMs === undefined ? what : `${what}, lag ${formatLag(lagMs)}`, width);
}

/** What differs, what is worth a warning, and one line that says it all. */
export function renderVerifyReport(report: VerifyReport): string {
  const lines = report.tables.flatMap(tableLines);
  for (const warning of report.warnings) lines.push(`warning: ${warning}`);
  return [...lines, summary(report)].join("\n");
}

function tableLines(table: TableReport): string[] {
  const name = `${table.schema}.${table.table}`;
  const lines: string[] = [];
  if (table.onlyOn !== undefined) {
    lines.push(`${name} is on the ${table.onlyOn} only, with ${formatCounted(table.rows, "row")}`);
  } else if (table.columnsOnlyOn !== undefined) {
    const { source, target } = table.columnsOnlyOn;
    if (source.length > 0) lines.push(`${name}: columns on the source only: ${source.join(", ")}`);
    if (target.length > 0) lines.push(`${name}: columns on the target only: ${target.join(", ")}`);
  } else if (!table.identical) {
    lines.push(`${name} differs`, ...table.differences.flatMap(differenceLines));
  }
  for (const warning of table.warnings) lines.push(`warning: ${name}: ${warning}`);
  return lines;
}

function differenceLines(difference: Difference): string[] {
  const { keyFrom, keyTo, sourceRows, targetRows, rows } = difference;
  const counts = `${formatCounted(sourceRows, "row")} on the source, ${formatCount(targetRows)} on the target`;
  return [`  ${rangeText(keyFrom, keyTo)}: ${counts}`, ...rows.map(({ row, what }) => `    ${row} ${what}`)];
}

function rangeText(from: string | null, to: string | null): string {
  if (from === null && to === null) return "all rows";
  if (from === to) return `key ${from}`;
  if (from === null) return `keys up to ${to}`;
  return to === null ? `keys from ${from} on` : `keys from ${from} to ${to}`;
}

function summary({ tables, position, durationMs }: VerifyReport): string {
  const differing = tables.filter((table) => !table.identical).length;
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  const where = position === undefined ? "" : ` at ${position.file}:${position.position}`;
  const compared = `${formatCounted(tables.length, "table")}, ${formatCounted(rows, "row")}${where}, in ${formatDuration(durationMs)}`;
  return differing === 0 ? `identical: ${compared}` : `DIFFERENT: ${formatCount(differing)} of ${compared}`;
}
