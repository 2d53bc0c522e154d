import {
  type PathPart,
  type SimulatedRun,
  type SimulateReport,
  WAIT_NAMES,
  WAIT_WORDS,
} from "../../simulate/report.ts";
import { type Column, renderTable } from "./table.ts";
import { formatBytes, formatCount, formatCounted, formatDuration } from "./units.ts";

/** What a simulation found, for a terminal of this width. */
export function renderSimulate(report: SimulateReport, width: number): string {
  const { transactions, rows, bytes, whatIf, faults, runs } = report;
  const parts = [
    `${formatCounted(transactions, "transaction")}, ${formatCounted(rows, "row")}, ${formatBytes(bytes)}, as a backlog on ${formatCounted(report.costs.cores, "core")}` +
      (whatIf.length === 0 ? "" : `\nas if: ${whatIf.join("; ")}`),
    ...groupsOf(runs).map((group) => renderGroup(group, width)),
    ...(transactions === 0 ? [] : [renderDetails(report, width), renderLag(report)]),
    report.recommendation,
    ...faults.map(({ file, offset, reason }) => `could not be read: ${file}:${offset}: ${reason}`),
  ];
  return parts.join("\n\n");
}

interface Group {
  title: string;
  runs: readonly SimulatedRun[];
}

function groupsOf(runs: readonly SimulatedRun[]): Group[] {
  const groups = new Map<string, SimulatedRun[]>();
  for (const run of runs) {
    const order = `commit order ${run.commitOrder === "preserve" ? "preserved" : "relaxed"}`;
    const title = run.policy.startsWith("native")
      ? "the server's own replica"
      : `${run.packing === 1 ? "one commit for each transaction" : `runs of up to ${run.packing} transactions`}, ${order}`;
    const group = groups.get(title);
    if (group === undefined) groups.set(title, [run]);
    else group.push(run);
  }
  return [...groups].map(([title, group]) => ({ title, runs: group }));
}

/** Policies down, workers across: predicted seconds, and how many times as fast as one worker. */
function renderGroup({ title, runs }: Group, width: number): string {
  const counts = [...new Set(runs.map(({ workers }) => workers))].sort((a, b) => a - b);
  const policies = [...new Set(runs.map(({ policy }) => policy))];
  const columns: Column[] = [
    { title: "Policy", align: "left" },
    ...counts.map((count): Column => ({ title: count === 1 ? "1 worker" : `${count} workers`, align: "right" })),
  ];
  const rows = policies.map((policy) => [
    policy,
    ...counts.map((count) => cell(runs.find((run) => run.policy === policy && run.workers === count))),
  ]);
  return `Predicted seconds (speed-up), ${title}\n${renderTable(columns, rows, width)}`;
}

function cell(run: SimulatedRun | undefined): string {
  if (run === undefined) return "";
  const seconds = formatSeconds(run.predictedSeconds);
  return run.workers === 1 ? seconds : `${seconds} (${run.speedup.toFixed(run.speedup < 10 ? 1 : 0)}×)`;
}

function renderDetails(report: SimulateReport, width: number): string {
  const run = report.runs[report.best];
  if (run === undefined) return "";
  const { criticalPath } = report;
  const waited = WAIT_NAMES.reduce((sum, name) => sum + run.waits[name], 0);
  const total = Math.max(run.workSeconds + waited, 1e-9);
  const waits = WAIT_NAMES.map((name) => ({ name, part: run.waits[name] / total }))
    .filter(({ part }) => part >= 0.005)
    .sort((a, b) => b.part - a.part)
    .map(({ name, part }) => `${WAIT_WORDS[name]} ${percent(part)}`);
  const { execute, commit, feed } = criticalPath.kinds;
  const path = Math.max(criticalPath.seconds, 1e-9);
  const about = [
    `Recommended: ${run.policy}, ${formatCounted(run.workers, "worker")}: ${formatCount(Math.round(run.transactionsPerSecond))} transactions/s, ${run.meanBusyWorkers.toFixed(1)} busy on average, ${formatCounted(run.runs, "commit")}, ${formatCounted(run.flushes, "flush", "flushes")}`,
    `Time of workers: working ${percent(run.workSeconds / total)}${waits.length === 0 ? "" : `, ${waits.join(", ")}`}`,
    `Critical path: executing ${percent(execute / path)}, committing ${percent(commit / path)}, engine ${percent(feed / path)}; ${formatCounted(criticalPath.dependencies.waits, "wait")} for another transaction's keys`,
  ];
  const parts = [
    ...partRows("transaction", criticalPath.transactions),
    ...partRows("table", criticalPath.tables),
    ...partRows("key", criticalPath.keys),
  ];
  if (parts.length === 0) return about.join("\n");
  const columns: Column[] = [
    { title: "Holds up", align: "left" },
    { title: "Name", align: "left", widthMin: 20, cutAt: "start" },
    { title: "Seconds", align: "right" },
    { title: "Share", align: "right" },
  ];
  return `${about.join("\n")}\n${renderTable(columns, parts, width)}`;
}

const PARTS_SHOWN = 5;

function partRows(what: string, parts: readonly PathPart[]): string[][] {
  return parts
    .slice(0, PARTS_SHOWN)
    .filter(({ share }) => share >= 0.01)
    .map(({ name, seconds, share }) => [what, name, formatSeconds(seconds), percent(share)]);
}

function renderLag({ lag, lagOfOneWorker }: SimulateReport): string {
  const of = ({ lastSeconds, maxSeconds }: SimulateReport["lag"]): string =>
    `at most ${formatSeconds(maxSeconds)} s, ${formatSeconds(lastSeconds)} s at the end`;
  const one = lagOfOneWorker === undefined ? "" : ` (one worker: ${of(lagOfOneWorker)})`;
  return `Lag, had the load come in its own rhythm: ${of(lag)}${one}`;
}

const percent = (part: number): string => `${Math.round(100 * part)} %`;

function formatSeconds(seconds: number): string {
  if (seconds >= 100) return seconds.toFixed(0);
  return seconds >= 10 ? seconds.toFixed(1) : seconds.toFixed(2);
}

/** How far the reading is, in one line. */
export function renderSimulateLine(
  {
    bytes,
    total,
    transactions,
    elapsedMs,
  }: { bytes: number; total: number | undefined; transactions: number; elapsedMs: number },
  cells: number,
): string {
  const part = total === undefined || total === 0 ? "" : ` of ${formatBytes(total)} (${percent(bytes / total)})`;
  return `simulating ${formatCounted(cells, "setting")}: ${formatBytes(bytes)}${part}, ${formatCounted(transactions, "transaction")}, ${formatDuration(elapsedMs)}`;
}
