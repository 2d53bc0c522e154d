import type { EngineStatus, WorkerStatus } from "../../engine/status.ts";
import type { Rates } from "./rates.ts";
import { isBusy } from "./busiest.ts";
import { cut, formatBytes, formatCount, formatCounted, formatDuration, formatLag, formatPercent } from "./units.ts";

/** Below this many rows a run is over before a share of it could be read. */
const PROGRESS_ROWS_MIN = 10_000;

export interface Part {
  text: string;
  /** Parts with the highest number go first when the terminal is narrow; those with 0 stay. */
  expendable: number;
}

/** The live line: everything that fits into `width` columns, what matters most kept longest. */
export function renderLiveLine(status: EngineStatus, rates: Rates, width: number): string {
  return fitParts(partsOf(status, rates), width);
}

export function fitParts(parts: readonly Part[], width: number): string {
  let kept = parts;
  while (joined(kept).length > width) {
    const last = Math.max(...kept.map((part) => part.expendable));
    if (last === 0) break;
    kept = kept.filter((part) => part.expendable !== last);
  }
  return cut(joined(kept), width);
}

/** One line of a log that people read later: all of it, and which channel it is about. */
export function renderPlainLine(status: EngineStatus, rates: Rates): string {
  const text = partsOf(status, rates).map((part) => part.text);
  return `${new Date(status.atMs).toISOString()} ${status.channel}: ${text.join(", ")}`;
}

function joined(parts: readonly Part[]): string {
  return parts.map((part) => part.text).join(" | ");
}

function partsOf(status: EngineStatus, rates: Rates): Part[] {
  const parts: Part[] = [];
  const add = (expendable: number, text: string): void => void parts.push({ text, expendable });
  const trouble = troubleOf(status);
  if (trouble !== undefined) add(0, trouble);
  add(0, `lag ${formatLag(status.lagMs)}`);
  add(3, `${formatCount(rates.transactionsPerS)} tx/s`);
  add(7, `${formatCount(rates.rowsPerS)} rows/s`);
  add(4, `backlog ${formatBytes(status.backlogBytes)}`);
  if (status.workers.length > 1) {
    add(5, `${formatCount(status.workers.filter(isBusy).length)}/${formatCount(status.workers.length)} workers`);
  }
  if (rates.caughtUpInMs !== undefined) add(8, `caught up in ${formatDuration(rates.caughtUpInMs)}`);
  const large = largestRun(status.workers);
  if (large !== undefined) {
    const share = formatPercent(large.rowsDone, large.rowsTotal);
    add(2, `row ${formatCount(large.rowsDone)} of ${formatCount(large.rowsTotal)} (${share})`);
  }
  const { position } = status.applied;
  if (position !== undefined && position.file !== "") add(6, `${position.file}:${position.position}`);
  const { lockBreaks, retries } = status.applied;
  if (lockBreaks > 0) add(9, formatCounted(lockBreaks, "lock break"));
  if (retries > 0) add(9, formatCounted(retries, "retry", "retries"));
  return parts;
}

/** What keeps the engine from running, in a word or two. */
function troubleOf(status: EngineStatus): string | undefined {
  if (status.state !== "running") return status.state;
  if (isWithoutTarget(status)) return because("connecting to target", status.applied.lastError);
  if (isConnecting(status)) return because("connecting to source", status.receiver.lastError);
  return status.receiver.state === "Waiting for disk space" ? "no disk space for the relay log" : undefined;
}

function because(what: string, why: string | undefined): string {
  return why === undefined ? what : `${what}: ${why}`;
}

/** No worker has a session. */
export function isWithoutTarget({ workers }: EngineStatus): boolean {
  return workers.length > 0 && workers.every((worker) => worker.state === "Connecting to target");
}

/** The receiver is without a source: in the server's words it connects, reconnects, or waits to. */
export function isConnecting({ receiver }: EngineStatus): boolean {
  return /connect/i.test(receiver.state);
}

/** The run whose progress is worth a look: rows by the ten thousand. */
function largestRun(workers: readonly WorkerStatus[]): WorkerStatus | undefined {
  const large = workers.filter((worker) => worker.rowsTotal >= PROGRESS_ROWS_MIN);
  return large.toSorted((a, b) => b.rowsTotal - a.rowsTotal)[0];
}
