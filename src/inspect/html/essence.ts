import type { PageText } from "../../chart/page.ts";
import { formatBytes, formatCount, formatCounted } from "../../base/units.ts";
import type { InspectReport } from "../report.ts";
import { percent, perSecond, roundDuration, rowsOf, tableName } from "./words.ts";

/** What a reader with one minute must know, and what in the log asks for a second look. */
export function essence(report: InspectReport): PageText {
  const sentences = [whatThereIs(report), busiestTable(report), parallelism(report)];
  return { kind: "text", paragraphs: [sentences.filter((text) => text !== "").join(" "), ...findings(report)] };
}

function whatThereIs({ transactions, seconds, rows, tables, tablesLeftOut, bytes, rate }: InspectReport): string {
  const { inserted, updated, deleted } = rows;
  const span = seconds > 0 ? ` in ${roundDuration(seconds)}` : "";
  const mean = rate.perSecond === null ? "" : ` That is ${perSecond(rate.perSecond.transactions)} per second.`;
  const rowWords =
    `${formatCounted(inserted + updated + deleted, "changed row")} ` +
    `(${formatCounted(inserted, "insert")}, ${formatCounted(updated, "update")}, ${formatCounted(deleted, "delete")})`;
  const tableWords = `${tablesLeftOut > 0 ? "more than " : ""}${formatCounted(tables.length, "table")}`;
  return `${formatCounted(transactions, "transaction")}${span}: ${rowWords} in ${tableWords}, ${formatBytes(bytes)} of log.${mean}`;
}

function busiestTable({ tables, rows }: InspectReport): string {
  const all = rows.inserted + rows.updated + rows.deleted;
  const [first] = tables.toSorted((a, b) => rowsOf(b) - rowsOf(a));
  if (first === undefined || all === 0 || tables.length < 2) return "";
  return `${percent(rowsOf(first) / all)} of the changed rows are of ${tableName(first)}.`;
}

function parallelism({ parallelism: found }: InspectReport): string {
  if (found === null || found.policies.length === 0) return "";
  const means = found.policies.map(({ policy, meanReady }) => `${meanReady.toFixed(1)} by ${policy}`);
  return `Transactions that could be applied side by side, on average: ${means.join(", ")}.`;
}

/** Each is worth doing something about. */
function findings(report: InspectReport): string[] {
  const { patterns, faults, gtids, statementCount, sizeClasses } = report;
  const found: string[] = [];
  if (faults.length > 0)
    found.push(`${formatCounted(faults.length, "place")} could not be read: the figures lack them.`);
  if (sizeClasses.large > 0) {
    const what = formatCounted(sizeClasses.large, "large transaction");
    found.push(
      `${what} (100,000 rows, or 64 MiB, and more): each is applied by one worker, while others wait for it to commit.`,
    );
  }
  if (patterns.tablesWithoutKey.length > 0) {
    found.push(
      `No key tells the rows of ${patterns.tablesWithoutKey.join(", ")} apart: a replica looks through the whole table for each changed row.`,
    );
  }
  if (patterns.emptyUpdates > 0) found.push(`${formatCounted(patterns.emptyUpdates, "update")} changed nothing.`);
  const { inside, across } = patterns.deleteThenInsert;
  if (inside + across > 0) {
    found.push(
      `${formatCounted(inside + across, "row")} were deleted and inserted again under the same key ` +
        `(${formatCount(inside)} inside one transaction, ${formatCount(across)} in one of the next): an update, or REPLACE, would be one change.`,
    );
  }
  if (patterns.savableShare >= 0.1) {
    found.push(
      `${percent(patterns.savableShare)} of the log (${formatBytes(patterns.savableBytes)}) are column values that binlog_row_image=MINIMAL would leave out.`,
    );
  }
  if (statementCount > 0) found.push(`${formatCounted(statementCount, "change")} were logged as statements.`);
  if (gtids.gapCount > 0) found.push(`${formatCounted(gtids.gapCount, "gap")} between the GTIDs read.`);
  return found;
}
