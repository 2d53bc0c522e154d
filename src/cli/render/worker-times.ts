import type { WorkerStatus } from "../../engine/status.ts";
import { noTimes, WORKER_TIMES, type WorkerTime, type WorkerTimes } from "../../schedule/slots.ts";
import { busiest } from "./busiest.ts";
import { renderTable, type Column } from "./table.ts";
import { formatShortDuration } from "./units.ts";

/** In the order of the columns: what gets something done, then what is waited for. */
const TITLES: Record<WorkerTime, string> = {
  executing: "Execute",
  committing: "Commit",
  event: "Event",
  dependency: "Dependency",
  precedingCommit: "Preceding",
  retry: "Retry",
  connection: "Connect",
};
const ORDER = Object.keys(TITLES) as WorkerTime[];
const RARE: readonly WorkerTime[] = ["retry", "connection"];

const COLUMNS: readonly Column[] = [
  { title: "Id", align: "right" },
  ...ORDER.map((time): Column => {
    const column: Column = { title: TITLES[time], align: "right" };
    return RARE.includes(time) ? { ...column, isExpendable: true } : column;
  }),
];

/** Where each worker's time went since the engine started, in shares; the last two rows are all workers together, shown or not. */
export function renderWorkerTimes(workers: readonly WorkerStatus[], width: number, workersMax: number): string {
  const rows = busiest(workers, workersMax).map(({ worker, times }) => sharesRow(String(worker), times));
  const total = totalTimes(workers);
  if (workers.length > 1) rows.push(sharesRow("all", total));
  rows.push(["time", ...ORDER.map((time) => (total[time] === 0 ? "" : formatShortDuration(total[time])))]);
  return renderTable(COLUMNS, rows, width);
}

function totalTimes(workers: readonly WorkerStatus[]): WorkerTimes {
  const total = noTimes();
  for (const { times } of workers) for (const time of WORKER_TIMES) total[time] += times[time];
  return total;
}

/** What is small and not nothing shows as such. */
function sharesRow(name: string, times: WorkerTimes): string[] {
  const all = WORKER_TIMES.reduce((total, time) => total + times[time], 0);
  const share = (ms: number): string => {
    if (ms === 0) return "";
    const percent = Math.round((ms / all) * 100);
    return percent === 0 ? "<1 %" : `${percent} %`;
  };
  return [name, ...ORDER.map((time) => share(times[time]))];
}
