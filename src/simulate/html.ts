import { formatBytes, formatCount, formatCounted, formatDuration } from "../base/units.ts";
import { type Chart, type PageTable, type PageText, renderPage } from "../chart/page.ts";
import { type PathPart, type SimulatedRun, type SimulateReport, WAIT_NAMES, WAIT_WORDS } from "./report.ts";

/** All cells of one policy, commit order and packing: a line, by workers. */
interface Setting {
  name: string;
  runs: readonly SimulatedRun[];
}

/** Lines that can still be told apart. */
const LINES_MAX = 8;

/** What other settings would do to a log, as one page of HTML that needs no network. */
export function simulatePage(report: SimulateReport): string {
  const settings = settingsOf(report.runs);
  return renderPage({
    title: "What other settings would do",
    subtitle: subtitleOf(report),
    sections: [
      { kind: "text", paragraphs: [report.recommendation, ...conditions(report)] },
      ...faultTable(report),
      ...byWorkers(settings),
      ...matrix(settings),
      ...waitChart(settings),
      ...pathSections(report),
      ...lagChart(report),
      ...runTable(report.runs),
    ],
  });
}

function subtitleOf({ files, transactions, rows, bytes }: SimulateReport): string {
  const [first, last] = [files[0] ?? "an empty log", files.at(-1)];
  const names = files.length > 1 ? `${first} to ${last}` : first;
  return `${names}: ${formatCounted(transactions, "transaction")}, ${formatCounted(rows, "changed row")}, ${formatBytes(bytes)}, applied in virtual time.`;
}

/** What was taken for granted. */
function conditions({ whatIf, faults }: SimulateReport): string[] {
  return [
    ...(whatIf.length > 0 ? [`As if: ${whatIf.join("; ")}.`] : []),
    ...(faults.length > 0
      ? [`${formatCounted(faults.length, "place")} of the log could not be read: the figures lack them.`]
      : []),
  ];
}

function faultTable({ faults }: SimulateReport): PageTable[] {
  if (faults.length === 0) return [];
  return [
    {
      kind: "table",
      title: "What could not be read",
      columns: [
        { title: "file", align: "left" },
        { title: "offset", align: "right" },
        { title: "reason", align: "left" },
      ],
      rows: faults.map(({ file, offset, reason }) => [file, formatCount(offset), reason]),
    },
  ];
}

type Differing = Readonly<Record<"commitOrder" | "packing", boolean>>;

function settingsDiffer(runs: readonly SimulatedRun[]): Differing {
  const differ = (of: (run: SimulatedRun) => unknown): boolean => new Set(runs.map(of)).size > 1;
  return { commitOrder: differ(({ commitOrder }) => commitOrder), packing: differ(({ packing }) => packing) };
}

/** The policy, and only what tells a setting from others of this report. */
function nameOf({ policy, commitOrder, packing }: SimulatedRun, differ: Differing): string {
  return [
    policy,
    ...(differ.commitOrder ? [commitOrder] : []),
    ...(differ.packing ? [packing === 1 ? "unpacked" : `packed ${formatCount(packing)}`] : []),
  ].join(", ");
}

/** In the order of the report, workers rising. */
function settingsOf(runs: readonly SimulatedRun[]): Setting[] {
  const differ = settingsDiffer(runs);
  const byName = new Map<string, SimulatedRun[]>();
  for (const run of runs) {
    const name = nameOf(run, differ);
    byName.set(name, [...(byName.get(name) ?? []), run]);
  }
  return [...byName].map(([name, its]) => ({ name, runs: its.toSorted((a, b) => a.workers - b.workers) }));
}

/** The fastest, and of those that are as fast as it within a hundredth the one with the fewest workers. */
function fastest(runs: readonly SimulatedRun[]): SimulatedRun | undefined {
  const least = Math.min(...runs.map(({ predictedSeconds }) => predictedSeconds));
  return runs
    .filter(({ predictedSeconds }) => predictedSeconds <= least * 1.01)
    .toSorted((a, b) => a.workers - b.workers)[0];
}

function workersOf(settings: readonly Setting[]): number[] {
  return [...new Set(settings.flatMap(({ runs }) => runs.map(({ workers }) => workers)))].sort((a, b) => a - b);
}

/** Lines over the number of workers, those of the fastest settings where there are too many. */
function byWorkers(settings: readonly Setting[]): Chart[] {
  const workers = workersOf(settings);
  if (workers.length < 2) return [];
  const shown = foremost(settings);
  const chart = (title: string, y: Chart["y"], value: (run: SimulatedRun) => number): Chart => ({
    kind: "lines",
    title,
    ...(shown.length < settings.length
      ? { note: `The ${shown.length} fastest of ${settings.length} settings; the table has all.` }
      : {}),
    x: { title: "workers", unit: "count", scale: "log" },
    y,
    xs: workers,
    series: shown.map(({ name, runs }) => ({
      name,
      values: workers.map((count) => {
        const run = runs.find((candidate) => candidate.workers === count);
        return run === undefined ? null : value(run);
      }),
    })),
  });
  const seconds = chart("Time by workers", { title: "predicted time", unit: "seconds" }, (run) => run.predictedSeconds);
  return [
    chart("Speed-up by workers", { title: "times as fast as one worker", unit: "times" }, (run) => run.speedup),
    seconds,
  ];
}

function foremost(settings: readonly Setting[]): readonly Setting[] {
  if (settings.length <= LINES_MAX) return settings;
  const secondsOf = ({ runs }: Setting): number => fastest(runs)?.predictedSeconds ?? Infinity;
  const kept = new Set(settings.toSorted((a, b) => secondsOf(a) - secondsOf(b)).slice(0, LINES_MAX));
  return settings.filter((setting) => kept.has(setting));
}

/** Settings down, workers across. */
function matrix(settings: readonly Setting[]): PageTable[] {
  const workers = workersOf(settings);
  if (settings.length === 0) return [];
  return [
    {
      kind: "table",
      title: "Predicted time by setting and workers",
      columns: [
        { title: "setting", align: "left" },
        ...workers.map((count) => ({ title: formatCount(count), align: "right" as const })),
      ],
      rows: settings.map(({ name, runs }) => [
        name,
        ...workers.map((count) => {
          const run = runs.find((candidate) => candidate.workers === count);
          return run === undefined ? "" : shortSeconds(run.predictedSeconds);
        }),
      ]),
    },
  ];
}

/** Of each setting its fastest cell: parts of all workers' time. */
function waitChart(settings: readonly Setting[]): Chart[] {
  const bests = settings.flatMap(({ name, runs }) => {
    const run = fastest(runs);
    return run === undefined ? [] : [{ name: `${name} × ${run.workers}`, run }];
  });
  if (bests.length === 0) return [];
  const shown = WAIT_NAMES.filter((wait) => bests.some(({ run }) => run.waits[wait] > 0));
  // Without the start, in which nobody waits for anything.
  const timeOf = ({ workSeconds, waits }: SimulatedRun): number =>
    WAIT_NAMES.reduce((sum, wait) => sum + waits[wait], workSeconds);
  return [
    {
      kind: "bars",
      title: "What workers wait for",
      note: "Each setting with its fastest number of workers: parts of all workers' time. What is missing to 100 % is work.",
      x: { title: "setting", unit: "text" },
      y: { title: "of the workers' time", unit: "ratio" },
      xs: bests.map(({ name }) => name),
      stacked: true,
      series: shown.map((wait) => ({
        name: WAIT_WORDS[wait],
        values: bests.map(({ run }) => (timeOf(run) === 0 ? 0 : run.waits[wait] / timeOf(run))),
      })),
    },
  ];
}

/** Of the recommended setting, and of one worker beside it. */
function lagChart({ runs, best, lag, lagOfOneWorker }: SimulateReport): Chart[] {
  const run = runs[best];
  if (run === undefined) return [];
  const lines = [
    { name: nameOf(run, settingsDiffer(runs)) + ` × ${run.workers}`, points: lag.points },
    ...(lagOfOneWorker === undefined ? [] : [{ name: "one worker", points: lagOfOneWorker.points }]),
  ];
  const xs = [...new Set(lines.flatMap(({ points }) => points.map(({ seconds }) => seconds)))].sort((a, b) => a - b);
  if (xs.length < 2) return [];
  return [
    {
      kind: "lines",
      title: "Lag in the original rhythm",
      note:
        "How far behind a replica would have been, had the transactions come when the source committed them. " +
        `At worst ${shortSeconds(lag.maxSeconds)}, at the end ${shortSeconds(lag.lastSeconds)}.`,
      x: { title: "time of the log", unit: "seconds" },
      y: { title: "lag", unit: "seconds" },
      xs,
      series: lines.map(({ name, points }) => {
        const at = new Map(points.map(({ seconds, lagSeconds }) => [seconds, lagSeconds]));
        return { name, values: xs.map((seconds) => at.get(seconds) ?? null) };
      }),
    },
  ];
}

/** What holds everybody up in the recommended setting. */
function pathSections({ runs, best, criticalPath: path }: SimulateReport): (PageText | PageTable)[] {
  const run = runs[best];
  if (run === undefined || path.seconds <= 0) return [];
  const share = (seconds: number): string => percent(seconds / path.seconds);
  const words =
    `The critical path is the chain of things that had to happen one after the other: shortening anything else changes nothing. ` +
    `With ${nameOf(run, settingsDiffer(runs))} and ${formatCounted(run.workers, "worker")} it takes ${shortSeconds(path.seconds)}: ` +
    `${share(path.kinds.execute)} of it are execution, ${share(path.kinds.commit)} commits, ${share(path.kinds.feed)} reading. ` +
    `${formatCounted(path.dependencies.waits, "time")} a transaction on it had to wait for another one to commit.`;
  return [
    { kind: "text", title: "What holds everybody up", paragraphs: [words] },
    ...partTable("Transactions on the critical path", "transaction", path.transactions),
    ...partTable("Tables on the critical path", "table", path.tables),
    ...partTable("Keys on the critical path", "key", path.keys),
  ];
}

function partTable(title: string, what: string, parts: readonly PathPart[]): PageTable[] {
  if (parts.length === 0) return [];
  return [
    {
      kind: "table",
      title,
      columns: [
        { title: what, align: "left" },
        { title: "time", align: "right" },
        { title: "of the path", align: "right" },
      ],
      rows: parts.map(({ name, seconds, share }) => [name, shortSeconds(seconds), percent(share)]),
    },
  ];
}

function runTable(runs: readonly SimulatedRun[]): PageTable[] {
  if (runs.length === 0) return [];
  const columns: [string, "left" | "right", (run: SimulatedRun) => string][] = [
    ["policy", "left", ({ policy }) => policy],
    ["workers", "right", ({ workers }) => formatCount(workers)],
    ["commit order", "left", ({ commitOrder }) => commitOrder],
    ["packing", "right", ({ packing }) => formatCount(packing)],
    ["time", "right", ({ predictedSeconds }) => shortSeconds(predictedSeconds)],
    ["transactions/s", "right", ({ transactionsPerSecond }) => formatCount(transactionsPerSecond)],
    ["speed-up", "right", ({ speedup }) => `${speedup.toFixed(2)}×`],
    ["busy workers", "right", ({ meanBusyWorkers }) => meanBusyWorkers.toFixed(1)],
    ["flushes", "right", ({ flushes }) => formatCount(flushes)],
    ["waits most for", "left", longestWait],
  ];
  return [
    {
      kind: "table",
      title: "All settings",
      columns: columns.map(([title, align]) => ({ title, align })),
      rows: runs.map((run) => columns.map(([, , cell]) => cell(run))),
    },
  ];
}

function longestWait({ waits }: SimulatedRun): string {
  const [most] = WAIT_NAMES.toSorted((a, b) => waits[b] - waits[a]);
  return most === undefined || waits[most] === 0 ? "" : WAIT_WORDS[most];
}

/** `0.42 s`, `12.3 s`: a setting is told from its neighbour by less than a second. */
function shortSeconds(seconds: number): string {
  if (seconds >= 100) return formatDuration(seconds * 1000);
  return `${seconds.toFixed(seconds < 10 ? 2 : 1)} s`;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(share < 0.0995 ? 1 : 0)} %`;
}
