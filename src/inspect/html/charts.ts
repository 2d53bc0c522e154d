import type { Chart } from "../../chart/page.ts";
import { formatBytes, formatCount } from "../../base/units.ts";
import type { ParallelismReport } from "../parallelism/parallelism.ts";
import type { GroupCommitReport, InspectReport, SizeClasses, TableReport } from "../report.ts";
import { roundDuration, rowsOf, secondsOf, shortStatement, tableName, when } from "./words.ts";

/** More bars than this are a list, which is there as well. */
const TABLES_MAX = 15;
const MARKS_MAX = 20;

/** Three curves over the same time. */
export function rateCharts({ rate, ddl }: InspectReport): Chart[] {
  const { from, bucketSeconds, peak } = rate;
  if (from === null || bucketSeconds <= 0 || rate.transactions.length < 2) return [];
  const begin = secondsOf(from);
  const end = begin + rate.transactions.length * bucketSeconds;
  const xs = [...rate.transactions.map((_, bucket) => begin + bucket * bucketSeconds), end];
  const chart = (title: string, unit: "count" | "bytes", values: readonly number[]): Chart => ({
    kind: "steps",
    title: `${title} per second`,
    x: { title: "", unit: "time" },
    y: { title: `${title.toLowerCase()}/s`, unit },
    xs,
    // The last one again at the end, so that its step is as wide as the others.
    series: [{ name: title, values: [...values, values.at(-1) ?? 0].map((value) => value / bucketSeconds) }],
  });
  const marks = ddl
    .flatMap((statement) =>
      statement.at === null ? [] : [{ x: secondsOf(statement.at), text: shortStatement(statement) }],
    )
    .filter(({ x }) => x >= begin && x <= end)
    .slice(0, MARKS_MAX);
  const most =
    peak === null
      ? ""
      : ` Most at ${when(peak.at)}: ${formatCount(peak.transactions)} transactions, ${formatCount(peak.rows)} rows, ${formatBytes(peak.bytes)} per second.`;
  return [
    {
      ...chart("Transactions", "count", rate.transactions),
      note: `Means of ${roundDuration(bucketSeconds)}.${most}`,
      marks,
    },
    chart("Rows", "count", rate.rows),
    chart("Bytes", "bytes", rate.bytes),
  ];
}

export function tableCharts({ tables }: InspectReport): Chart[] {
  if (tables.length === 0) return [];
  return [
    tablesBy(tables, rowsOf, {
      title: "Tables by changed rows",
      y: { title: "rows", unit: "count" },
      stacked: true,
      series: [
        ["inserts", ({ inserts }) => inserts],
        ["updates", ({ updates }) => updates],
        ["deletes", ({ deletes }) => deletes],
      ],
    }),
    tablesBy(tables, ({ bytes }) => bytes, {
      title: "Tables by bytes of log",
      y: { title: "bytes", unit: "bytes" },
      stacked: false,
      series: [["bytes", ({ bytes }) => bytes]],
    }),
  ];
}

function tablesBy(
  tables: readonly TableReport[],
  weight: (table: TableReport) => number,
  of: Pick<Chart, "title" | "y"> & { stacked: boolean; series: [string, (table: TableReport) => number][] },
): Chart {
  const first = tables.toSorted((a, b) => weight(b) - weight(a)).slice(0, TABLES_MAX);
  return {
    kind: "bars",
    title: of.title,
    ...(tables.length > TABLES_MAX ? { note: `The first ${TABLES_MAX} of ${formatCount(tables.length)}.` } : {}),
    x: { title: "table", unit: "text" },
    y: of.y,
    xs: first.map(tableName),
    stacked: of.stacked,
    series: of.series.map(([name, value]) => ({ name, values: first.map(value) })),
  };
}

export function sizeChart({ small, medium, large, bulk }: SizeClasses): Chart {
  return {
    kind: "bars",
    title: "Transactions by size",
    note: `Small: below 100 changed rows. Large: 100,000 rows, or 64 MiB, and more. ${formatCount(bulk)} of the medium ones change 1,000 rows and more.`,
    x: { title: "size", unit: "text" },
    y: { title: "transactions", unit: "count" },
    xs: ["small", "medium", "large"],
    series: [{ name: "transactions", values: [small, medium, large] }],
  };
}

export function parallelismCharts({ policies, commitParentDistance, window }: ParallelismReport): Chart[] {
  const ready: Chart = {
    kind: "bars",
    title: "Parallelism by policy",
    note:
      "Transactions that could be applied side by side if all took equally long: more workers than that would have nothing to do. " +
      `At most ${formatCount(window)} transactions are looked at together.`,
    x: { title: "policy", unit: "text" },
    y: { title: "transactions side by side", unit: "count" },
    xs: policies.map(({ policy }) => policy),
    series: [
      { name: "mean", values: policies.map(({ meanReady }) => meanReady) },
      { name: "95th percentile", values: policies.map(({ p95Ready }) => p95Ready) },
    ],
  };
  const distance: Chart = {
    kind: "bars",
    title: "Distance to the commit parent",
    note: "sequence_number − last_committed: how far back the source's clock says that a transaction must wait. 1 is the one right before.",
    x: { title: "distance", unit: "text" },
    y: { title: "transactions", unit: "count" },
    xs: commitParentDistance.map(({ upTo }) => powerOfTwo(upTo)),
    series: [{ name: "transactions", values: commitParentDistance.map(({ transactions }) => transactions) }],
  };
  return [...(policies.length > 0 ? [ready] : []), ...(commitParentDistance.length > 0 ? [distance] : [])];
}

export function groupChart({ by, groups, meanSize, largest, sizes }: GroupCommitReport): Chart[] {
  if (by === null || groups === 0) return [];
  return [
    {
      kind: "bars",
      title: "Sizes of commit groups",
      note:
        `Transactions that the source committed together, told by ${by}: ${formatCount(groups)} groups of ${meanSize.toFixed(1)} on average, ` +
        `the largest of ${formatCount(largest)}.`,
      x: { title: "transactions in a group", unit: "text" },
      y: { title: "groups", unit: "count" },
      xs: sizes.map(({ upTo }) => powerOfTwo(upTo)),
      series: [{ name: "groups", values: sizes.map((size) => size.groups) }],
    },
  ];
}

/** What a class of powers of two holds: `1`, `2`, `3–4`, `5–8`. */
function powerOfTwo(upTo: number): string {
  return upTo <= 2 ? formatCount(upTo) : `${formatCount(upTo / 2 + 1)}–${formatCount(upTo)}`;
}
