import type { EngineStatus, WorkerStatus } from "../../engine/status.ts";
import { busiest } from "./busiest.ts";
import { renderTable, type Column } from "./table.ts";
import { formatCount, formatCounted, formatPercent } from "./units.ts";

const COLUMNS: readonly Column[] = [
  { title: "Thread", align: "left" },
  { title: "Time", align: "right" },
  { title: "Position", align: "left", widthMin: 10, cutAt: "start" },
  { title: "State", align: "left", widthMin: 15, cutAt: "end", isCutLast: true },
  { title: "Done", align: "right" },
  { title: "Rows", align: "right", isExpendable: true },
  { title: "Run", align: "right", isExpendable: true },
  { title: "Committed", align: "right", isExpendable: true },
  { title: "Retries", align: "right", isExpendable: true },
];

/**
 * The process list of an engine, with the server's words and whole seconds. The receiver's time is that since its last event, its position how far it has received, the coordinator's how
 * far everything is applied.
 */
export function renderThreads(status: EngineStatus, width: number, workersMax: number): string {
  const shown = busiest(status.workers, workersMax);
  const rows = [receiverRow(status), coordinatorRow(status), ...shown.map((worker) => workerRow(worker, status.atMs))];
  return [renderTable(COLUMNS, rows, width), ...restLines(status.workers, shown)].join("\n");
}

function receiverRow({ receiver: { state, position, lastEventAtMs }, atMs }: EngineStatus): string[] {
  return ["receiver", lastEventAtMs === 0 ? "" : seconds(atMs - lastEventAtMs), placeText(position), state];
}

function coordinatorRow({ coordinator, applied }: EngineStatus): string[] {
  return ["coordinator", "", placeText(applied.position), coordinator.state];
}

function workerRow(worker: WorkerStatus, atMs: number): string[] {
  const { rowsDone, rowsTotal, transactionsInRun } = worker;
  return [
    `worker ${worker.worker}`,
    seconds(atMs - worker.sinceMs),
    worker.gtid ?? "",
    worker.state,
    rowsTotal === 0 ? "" : formatPercent(rowsDone, rowsTotal),
    rowsTotal === 0 ? "" : `${formatCount(rowsDone)}/${formatCount(rowsTotal)}`,
    transactionsInRun === 0 ? "" : formatCount(transactionsInRun),
    formatCount(worker.committedTransactions),
    formatCount(worker.retries),
  ];
}

/** What those that are not shown do. */
function restLines(workers: readonly WorkerStatus[], shown: readonly WorkerStatus[]): string[] {
  if (shown.length === workers.length) return [];
  const counts = new Map<string, number>();
  for (const worker of workers)
    if (!shown.includes(worker)) counts.set(worker.state, (counts.get(worker.state) ?? 0) + 1);
  const states = [...counts]
    .toSorted(([, a], [, b]) => b - a)
    .map(([state, count]) => `  ${formatCount(count)} ${state}`);
  return [`${formatCounted(workers.length - shown.length, "more worker")} (--all shows them):`, ...states];
}

const placeText = (position: EngineStatus["applied"]["position"]): string => {
  if (position === undefined) return "";
  return position.file === "" ? position.gtids : `${position.file}:${position.position}`;
};

const seconds = (ms: number): string => String(Math.max(0, Math.floor(ms / 1000)));
