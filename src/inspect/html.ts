import { renderPage, type PageText } from "../chart/page.ts";
import { formatCount } from "../base/units.ts";
import { groupChart, parallelismCharts, rateCharts, sizeChart, tableCharts } from "./html/charts.ts";
import { essence } from "./html/essence.ts";
import {
  faultTable,
  fileTables,
  gtidTable,
  parallelismTable,
  patternTables,
  statementTables,
  tableTable,
  transactionTables,
} from "./html/tables.ts";
import { when } from "./html/words.ts";
import type { FileReport, InspectReport } from "./report.ts";

/** A set of many sources and gaps can be longer than the rest of the page. */
const GTID_SET_MAX = 2000;

/** The report as one page of HTML that needs no network: what matters first, lists last. */
export function inspectPage(report: InspectReport): string {
  const { parallelism } = report;
  return renderPage({
    title: titleOf(report.files),
    subtitle: subtitleOf(report),
    sections: [
      essence(report),
      ...faultTable(report),
      ...rateCharts(report),
      ...tableCharts(report),
      ...tableTable(report),
      ...(report.transactions > 0 ? [sizeChart(report.sizeClasses)] : []),
      ...(parallelism === null ? [] : [...parallelismCharts(parallelism), ...parallelismTable(parallelism)]),
      ...groupChart(report.groupCommit),
      ...transactionTables(report),
      ...statementTables(report),
      ...patternTables(report),
      ...gtidText(report),
      ...gtidTable(report),
      ...fileTables(report),
    ],
  });
}

function titleOf(files: readonly FileReport[]): string {
  const [first, last] = [files[0]?.name, files.at(-1)?.name];
  if (first === undefined) return "An empty log";
  return last === undefined || last === first ? `What is in ${first}` : `What is in ${first} to ${last}`;
}

function subtitleOf({ files, firstAt, lastAt }: InspectReport): string {
  const count = files.length > 1 ? `${formatCount(files.length)} files. ` : "";
  return firstAt === null ? `${count}No transactions.` : `${count}From ${when(firstAt)} to ${when(lastAt)}, UTC.`;
}

function gtidText({ gtids: { set } }: InspectReport): PageText[] {
  if (set === null || set === "") return [];
  const text = set.length > GTID_SET_MAX ? `${set.slice(0, GTID_SET_MAX)}…` : set;
  return [{ kind: "text", title: "GTIDs", paragraphs: [text] }];
}
