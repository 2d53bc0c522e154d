import type { Fault } from "../../inspect/input/input.ts";
import type { InspectReport, StatementReport, TableReport, TransactionReport } from "../../inspect/report.ts";
import { renderTableWithin } from "./table.ts";
import { formatBytes, formatCount, formatCounted, formatDuration } from "./units.ts";

export interface InspectView {
  width: number;
  /** Rows of each table. */
  top: number;
}

const FAULTS_SHOWN = 10;
const SPARKS = "▁▂▃▄▅▆▇█";
const GAPS_SHOWN = 5;
const SOURCES_SHOWN = 10;

/** What a DBA wants to know: the essence in the first lines, then tables. */
export function renderInspect(report: InspectReport, view: InspectView): string {
  const sections = [
    essence(report, view),
    faults(report.faults),
    curve(report, view),
    tables(report, view),
    hotRows(report, view),
    transactions("Largest transactions", report.largest, view),
    transactions("Longest transactions, from the first statement to the commit", report.longest, view),
    statements(counted("DDL", report.ddlCount, report.ddl.length, view.top), report.ddl, view),
    statements(
      counted("Statements", report.statementCount, report.statements.length, view.top),
      report.statements,
      view,
    ),
    commitClock(report, view),
    policies(report, view),
    gtids(report),
    eventTypes(report, view),
  ];
  return sections.filter((section) => section !== "").join("\n\n");
}

function essence(report: InspectReport, { width }: InspectView): string {
  const { rows, sizeClasses: sizes } = report;
  const changed =
    `${formatCounted(rows.inserted, "row")} inserted, ${formatCount(rows.updated)} updated, ${formatCount(rows.deleted)} deleted` +
    ` in ${report.tablesLeftOut > 0 ? "more than " : ""}${formatCounted(report.tables.length, "table")}`;
  const lines = [
    whichFiles(report),
    `${formatCounted(report.transactions, "transaction")}, ${formatCounted(report.events, "event")}; ${changed}`,
    rates(report),
    `Sizes: ${formatCount(sizes.small)} small (less than 100 rows), ${formatCount(sizes.medium)} medium ` +
      `(${formatCount(sizes.bulk)} of them from 1,000 rows on), ${formatCount(sizes.large)} large`,
    `Look at: ${findings(report).join("; ")}`,
  ];
  return lines.map((line) => wrap(line, width)).join("\n");
}

/** At spaces; what follows the first line is set in. */
function wrap(text: string, width: number): string {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > Math.max(width, LINE_MIN)) {
      lines.push(line);
      line = `  ${word}`;
    } else {
      line = line === "" ? word : `${line} ${word}`;
    }
  }
  return [...lines, line].join("\n");
}

const LINE_MIN = 40;

function whichFiles({ files, bytes, firstAt, lastAt, seconds }: InspectReport): string {
  const [first] = files;
  const last = files.at(-1);
  const names =
    first === undefined || last === undefined
      ? ""
      : files.length === 1
        ? first.name
        : `${first.name} to ${last.name} (${files.length} files)`;
  const server = first === undefined || first.serverVersion === null ? "" : `, written by ${first.serverVersion}`;
  const span =
    firstAt === null || lastAt === null
      ? ""
      : `, ${shortTime(firstAt)} to ${timeAfter(firstAt, lastAt)} UTC (${formatDuration(seconds * 1000)})`;
  return `${names}: ${formatBytes(bytes)}${server}${span}`;
}

function rates({ rate, firstAt }: InspectReport): string {
  const { perSecond, peak } = rate;
  if (perSecond === null || peak === null) return "Too short for a rate";
  const most = `; at most ${decimal(peak.transactions)} transactions/s (${timeAfter(firstAt ?? "", peak.at)})`;
  return (
    `On average ${decimal(perSecond.transactions)} transactions/s, ${decimal(perSecond.rows)} rows/s, ${formatBytes(perSecond.bytes)}/s` +
    // A log of a few seconds has its transactions in seconds that it holds only a part of.
    (peak.transactions < perSecond.transactions ? "" : most)
  );
}

/** What asks for a second look, the worst first. */
function findings({
  faults: found,
  patterns,
  sizeClasses,
  statementCount,
  gtids: { gapCount },
  bytes,
}: InspectReport): string[] {
  const { deleteThenInsert, hotRows: hot, tablesWithoutKey, savableBytes, savableShare, emptyUpdates } = patterns;
  const again = deleteThenInsert.inside + deleteThenInsert.across;
  const [hottest] = hot;
  const list = [
    found.length > 0 && `${formatCounted(found.length, "fault")}, see below`,
    sizeClasses.large > 0 && formatCounted(sizeClasses.large, "large transaction"),
    tablesWithoutKey.length > 0 && `${formatCounted(tablesWithoutKey.length, "table")} without a key`,
    hottest !== undefined &&
      hottest.share >= HOT_SHARE &&
      `${percent(hottest.share)} of all changes are of one row of ${hottest.table}${hottest.guessed ? " (if its first column is its key)" : ""}`,
    again > 0 && `${formatCounted(again, "row")} deleted and inserted again`,
    statementCount > 0 && `${formatCounted(statementCount, "change")} logged as a statement`,
    gapCount > 0 && `${formatCounted(gapCount, "gap")} in the GTIDs`,
    emptyUpdates > 0 && `${formatCounted(emptyUpdates, "update")} that change nothing`,
    bytes > 0 &&
      savableShare >= SAVABLE_SHARE &&
      `minimal row images would save ${formatBytes(savableBytes)} (${percent(savableShare)})`,
  ].filter((text) => text !== false);
  return list.length === 0 ? ["nothing strange"] : list;
}

const HOT_SHARE = 0.01;
const SAVABLE_SHARE = 0.1;

function faults(found: readonly Fault[]): string {
  if (found.length === 0) return "";
  const shown = found
    .slice(0, FAULTS_SHOWN)
    .map(({ file, offset, reason }) => `  ${file}, offset ${offset}: ${reason}`);
  const rest = found.length > FAULTS_SHOWN ? [`  and ${found.length - FAULTS_SHOWN} more (--json has them)`] : [];
  return ["What could not be read; all figures are of the rest:", ...shown, ...rest].join("\n");
}

/** Transactions over time, one block character for a bucket or some. */
function curve({ rate }: InspectReport, { width }: InspectView): string {
  const { transactions: values, bucketSeconds, peak } = rate;
  if (values.length < 2 || peak === null) return "";
  const perColumn = Math.ceil(values.length / Math.max(10, width));
  const columns = Array.from({ length: Math.ceil(values.length / perColumn) }, (_, i) =>
    values.slice(i * perColumn, (i + 1) * perColumn).reduce((sum, value) => sum + value, 0),
  );
  const highest = Math.max(...columns);
  const spark = (value: number): string =>
    value === 0 ? " " : (SPARKS[Math.ceil((value / highest) * SPARKS.length) - 1] ?? " ");
  const each = formatDuration(bucketSeconds * perColumn * 1000);
  const top = decimal(highest / (bucketSeconds * perColumn));
  return `Transactions over time, ${each} a column, ${top}/s at the top\n${columns.map(spark).join("")}`;
}

function tables({ tables: all }: InspectReport, { width, top }: InspectView): string {
  if (all.length === 0) return "";
  const rows = all
    .slice(0, top)
    .map((table) => [
      `${table.schema}.${table.table}`,
      formatCount(table.inserts),
      formatCount(table.updates),
      formatCount(table.deletes),
      formatCount(table.transactions),
      formatBytes(table.bytes),
      formatBytes(table.savableBytes),
      formatCount(table.emptyUpdates),
      keyText(table),
    ]);
  const table = renderTableWithin(
    [
      { title: "table", align: "left", widthMin: 20, cutAt: "start" },
      { title: "inserts", align: "right" },
      { title: "updates", align: "right" },
      { title: "deletes", align: "right" },
      { title: "transactions", align: "right", isExpendable: true },
      { title: "bytes", align: "right" },
      { title: "savable", align: "right", isExpendable: true },
      { title: "empty updates", align: "right", isExpendable: true },
      { title: "key", align: "left", widthMin: 10, isExpendable: true },
    ],
    rows,
    width,
  );
  return `${counted("Tables", all.length, all.length, top)}, by bytes\n${table}`;
}

function keyText({ key, keyFrom }: TableReport): string {
  if (key === null) return "none";
  return keyFrom === "guess" ? `${key.join(", ")} (a guess)` : key.join(", ");
}

function hotRows({ patterns }: InspectReport, { width, top }: InspectView): string {
  const { hotRows: all, deleteThenInsert } = patterns;
  const lines: string[] = [];
  if (all.length > 0) {
    const rows = all
      .slice(0, top)
      .map(({ table, key, guessed, count, share }) => [
        table,
        guessed ? `@1 = ${key} (a guess)` : key,
        formatCount(count),
        percent(share),
      ]);
    const columns = [
      { title: "table", align: "left", widthMin: 20, cutAt: "start" },
      { title: "key", align: "left", widthMin: 16 },
      { title: "changes", align: "right" },
      { title: "of all", align: "right" },
    ] as const;
    lines.push("Rows changed most", renderTableWithin(columns, rows, width));
  }
  const { inside, across, tables: where } = deleteThenInsert;
  if (inside + across > 0) {
    const most = where.slice(0, 5).map(({ schema, table, count }) => `${schema}.${table} ${formatCount(count)}`);
    lines.push(
      `Deleted and inserted again under one key: ${formatCount(inside)} inside a transaction, ${formatCount(across)} in one of the next 100 (${most.join(", ")})`,
    );
  }
  return lines.join("\n");
}

function transactions(title: string, all: readonly TransactionReport[], { width, top }: InspectView): string {
  if (all.length === 0) return "";
  const rows = all
    .slice(0, top)
    .map((one) => [
      `${one.file}:${one.position}`,
      one.gtid ?? "",
      one.at === null ? "" : shortTime(one.at),
      formatBytes(one.bytes),
      formatCount(one.rows),
      one.seconds < 1 ? "" : formatDuration(one.seconds * 1000).replace(".0 ", " "),
      one.tables.join(", "),
    ]);
  const columns = [
    { title: "position", align: "left" },
    { title: "GTID", align: "left", widthMin: 14, cutAt: "start", isExpendable: true },
    { title: "committed (UTC)", align: "left" },
    { title: "bytes", align: "right" },
    { title: "rows", align: "right" },
    { title: "took", align: "right" },
    { title: "tables", align: "left", widthMin: 12, isExpendable: true },
  ] as const;
  return `${title}\n${renderTableWithin(columns, rows, width)}`;
}

function statements(title: string, all: readonly StatementReport[], { width, top }: InspectView): string {
  if (all.length === 0) return "";
  const rows = all
    .slice(0, top)
    .map((one) => [
      `${one.file}:${one.position}`,
      one.at === null ? "" : shortTime(one.at),
      `${one.executionSeconds} s`,
      one.schema,
      one.text.replaceAll(/\s+/g, " ").trim(),
    ]);
  const columns = [
    { title: "position", align: "left" },
    { title: "began (UTC)", align: "left", isExpendable: true },
    { title: "took", align: "right" },
    { title: "schema", align: "left", widthMin: 8, isExpendable: true },
    { title: "text", align: "left", widthMin: 20 },
  ] as const;
  return `${title}\n${renderTableWithin(columns, rows, width)}`;
}

function commitClock({ groupCommit, parallelism }: InspectReport, { width }: InspectView): string {
  const lines: string[] = [];
  if (groupCommit.groups > 0) {
    const { by, groups, meanSize, largest, sizes } = groupCommit;
    const bySize = sizes.map(
      ({ upTo, groups: count }, i) => `${sizeRange(sizes[i - 1]?.upTo, upTo)}: ${formatCount(count)}`,
    );
    lines.push(
      `Group commits (by ${by ?? ""}): ${formatCount(groups)}, of ${meanSize.toFixed(1)} transactions on average, ${formatCount(largest)} at most`,
      `Groups by size: ${bySize.join(", ")}`,
    );
  }
  const distances = parallelism?.commitParentDistance ?? [];
  if (distances.length > 0) {
    const text = distances.map(
      ({ upTo, transactions: count }, i) => `${sizeRange(distances[i - 1]?.upTo, upTo)}: ${formatCount(count)}`,
    );
    lines.push(`Transactions by sequence_number - last_committed: ${text.join(", ")}`);
  }
  return lines.map((line) => wrap(line, width)).join("\n");
}

const sizeRange = (before: number | undefined, upTo: number): string =>
  before === undefined || before + 1 === upTo ? String(upTo) : `${before + 1}-${upTo}`;

function policies({ parallelism, transactions }: InspectReport, { width }: InspectView): string {
  if (parallelism === null || transactions === 0) return "";
  if (parallelism.policies.length === 0) return "What each policy could run at once: --parallelism tells";
  const rows = parallelism.policies.map((one) => [
    one.policy,
    one.meanReady.toFixed(1),
    formatCount(one.p95Ready),
    formatCount(one.longestChain),
  ]);
  const columns = [
    { title: "policy", align: "left" },
    { title: "ready at once, mean", align: "right" },
    { title: "95th percentile", align: "right" },
    { title: "longest chain", align: "right" },
  ] as const;
  return `Parallelism that the log offers\n${renderTableWithin(columns, rows, width)}`;
}

function gtids({ gtids: { first, last, sources, gaps, gapCount } }: InspectReport): string {
  if (first === null) return "";
  const shown = gaps
    .slice(0, GAPS_SHOWN)
    .map(({ source, from, to }) => `  ${source}: ${from === to ? from : `${from} to ${to}`} missing`);
  const more = gapCount > shown.length ? [`  and ${formatCount(gapCount - shown.length)} more`] : [];
  const gapsText = gapCount === 0 ? "without a gap" : formatCounted(gapCount, "gap");
  const head =
    sources.length > 1
      ? `GTIDs of ${formatCounted(sources.length, "source")}, each by itself ${gapCount === 0 ? gapsText : `(${gapsText})`}`
      : `GTIDs from ${first} to ${last}, ${gapsText}`;
  return [head, ...(sources.length > 1 ? sourceLines(sources) : []), ...shown, ...more].join("\n");
}

function sourceLines(sources: InspectReport["gtids"]["sources"]): string[] {
  const lines = sources
    .slice(0, SOURCES_SHOWN)
    .map(({ source, from, to }) => `  ${source}: ${from === to ? from : `${from} to ${to}`}`);
  return sources.length > SOURCES_SHOWN ? [...lines, `  and ${sources.length - SOURCES_SHOWN} more`] : lines;
}

function eventTypes({ eventsByType }: InspectReport, { width }: InspectView): string {
  if (eventsByType.length === 0) return "";
  const rows = eventsByType.map(({ type, events, bytes }) => [type, formatCount(events), formatBytes(bytes)]);
  const columns = [
    { title: "event", align: "left" },
    { title: "number", align: "right" },
    { title: "bytes", align: "right" },
  ] as const;
  return `Events by type\n${renderTableWithin(columns, rows, width)}`;
}

/** `DDL (20 of 341)`. */
function counted(what: string, all: number, listed: number, top: number): string {
  const shown = Math.min(listed, top);
  return all <= shown ? what : `${what} (${formatCount(shown)} of ${formatCount(all)})`;
}

const percent = (share: number): string => `${(share * 100).toFixed(share < 0.0995 ? 1 : 0)} %`;
const decimal = (value: number): string =>
  value >= 99.5 ? formatCount(value) : value < 0.95 ? String(Number(value.toPrecision(2))) : value.toFixed(1);
/** `2026-11-30 17:50:47` of an ISO time. */
const shortTime = (iso: string): string => iso.slice(0, 19).replace("T", " ");

/** Without the day where that is the same. */
const timeAfter = (before: string, iso: string): string =>
  before.slice(0, 10) === iso.slice(0, 10) ? iso.slice(11, 19) : shortTime(iso);

/** The live line while a long file is read. */
export function renderInspectLine(done: number, total: number | undefined, elapsedMs: number): string {
  const rate = elapsedMs > 0 ? `, ${formatBytes((done / elapsedMs) * 1000)}/s` : "";
  if (total === undefined || total === 0) return `${formatBytes(done)} read${rate}`;
  const leftMs = done === 0 ? 0 : ((total - done) / done) * elapsedMs;
  const left = done === 0 || leftMs < 1000 ? "" : `, ${formatDuration(leftMs)} left`;
  return `${formatBytes(done)} of ${formatBytes(total)} read (${Math.min(99, Math.floor((done / total) * 100))} %)${rate}${left}`;
}
