import type { CopyProgress } from "../../copy/report.ts";
import { fitParts, type Part } from "./line.ts";
import { formatBytes, formatCount, formatCounted, formatDuration, formatPercent } from "./units.ts";

/** How far the initial copy is, in at most `width` columns. */
export function renderCopyLine(progress: CopyProgress, width: number): string {
  return fitParts(partsOf(progress), width);
}

function partsOf({ phase, ...progress }: CopyProgress): Part[] {
  if (phase === "definitions") return [{ text: "copying: reading the definitions", expendable: 0 }];
  if (phase === "objects") return [{ text: "copying: views, routines, triggers and events", expendable: 0 }];
  const { tablesDone, tablesTotal, rowsDone, rowsTotal, rowsPerSecond, etaSeconds } = progress;
  const parts: Part[] = [
    { text: `copying: ${formatCount(tablesDone)} of ${formatCounted(tablesTotal, "table")}`, expendable: 0 },
    { text: `about ${formatPercent(rowsDone, rowsTotal)}`, expendable: 1 },
    { text: formatCounted(rowsDone, "row"), expendable: 3 },
    { text: `${formatCount(rowsPerSecond)} rows/s`, expendable: 4 },
    { text: formatBytes(progress.bytesDone), expendable: 6 },
  ];
  if (etaSeconds !== undefined) parts.push({ text: `${formatDuration(etaSeconds * 1000)} left`, expendable: 2 });
  if (progress.table !== "") parts.push({ text: progress.table, expendable: 5 });
  return parts;
}
