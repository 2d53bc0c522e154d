import { setTimeout as sleep } from "node:timers/promises";
import { ReplicationError } from "../base/error.ts";
import type { BinlogInput, Fault } from "../inspect/input/input.ts";
import { describeBound, type Range } from "../inspect/input/range.ts";
import { printRows, type RowsOutcome } from "../inspect/rows/print-rows.ts";
import { parseTablePattern } from "../inspect/rows/tables.ts";
import { printUndo } from "../inspect/rows/print-undo.ts";
import type { Table } from "../schema/catalog.ts";
import { followCounts } from "./follow.ts";
import type { LiveBinlog } from "./live-binlog.ts";
import { renderFollowLine } from "./render/follow.ts";
import { formatCounted } from "./render/units.ts";
import type { Screen } from "./screen.ts";
import { openSpillFile } from "./spill-file.ts";

export interface InspectRowsOptions {
  rows?: true;
  undo?: true;
  /** `schema.table`, `schema.*`; none: all. */
  table: readonly string[];
  /** Seconds between two lines of rates. */
  interval: string;
  range: Range | undefined;
  tables: readonly Table[];
  /** The input, when it is a server's; its failure is told by whoever opened it. */
  live: LiveBinlog | undefined;
  signal: AbortSignal | undefined;
}

const INTERVAL_SECONDS_MAX = 86_400;

/** `inspect` with --rows, --undo, or --follow without either. @returns the exit code */
export async function inspectRows(
  inputs: readonly BinlogInput[],
  options: InspectRowsOptions,
  screen: Screen,
): Promise<number> {
  const { range = { from: undefined, to: undefined }, tables, table, live } = options;
  const isOver = (): boolean => options.signal?.aborted === true || live?.failure !== undefined;
  if (options.rows === true || options.undo === true) {
    const only = table.length === 0 ? undefined : table.map(parseTablePattern);
    const how = options.rows === true ? "rows" : "undo";
    return showRows(inputs, { how, range, tables, only, isOver }, screen);
  }
  const seconds = Number(options.interval);
  if (!(seconds > 0 && seconds <= INTERVAL_SECONDS_MAX)) {
    throw new ReplicationError("CONFIG", `--interval is ${JSON.stringify(options.interval)}`, {
      hint: "give a number of seconds",
    });
  }
  return showRates(inputs, { range, intervalMs: seconds * 1000, isOver }, screen);
}

interface ShowRowsOptions {
  how: "rows" | "undo";
  range: Range;
  tables: readonly Table[];
  only: readonly string[] | undefined;
  /** Reading was ended: what then looks like a fault is none. */
  isOver: () => boolean;
}

/** Whoever read standard output has gone: there is nothing more to do, and nothing is wrong. */
class OutputClosed extends Error {}

/**
 * `inspect --rows` and `--undo`: statements on standard output, what is wrong on standard error.
 * @returns the exit code: 1 when something could not be read or undone
 */
async function showRows(inputs: readonly BinlogInput[], options: ShowRowsOptions, screen: Screen): Promise<number> {
  const { how, range, tables, only, isOver } = options;
  const faults: Fault[] = [];
  const reading = {
    range,
    tables,
    only,
    onFault: (fault: Fault) => {
      if (isOver()) return;
      faults.push(fault);
      screen.note(`${fault.file}:${fault.offset}: ${fault.reason}`);
    },
  };
  const write = outputWriter();
  let outcome: RowsOutcome;
  try {
    outcome =
      how === "rows" ? await printRows(inputs, reading, write) : await printUndo(inputs, reading, write, openSpillFile);
  } catch (error) {
    if (error instanceof OutputClosed) return 0;
    throw error;
  }
  const { missing, notUndone, nameless } = outcome;
  if (missing !== undefined) screen.note(`nothing in the log is ${describeBound(missing)}`);
  if (nameless.length > 0) {
    screen.note(
      `no column names are known of ${nameless.join(", ")}: these statements cannot be executed\n  Try: --schema DUMP.sql, or --source, or binlog_row_metadata=FULL on the source`,
    );
  }
  if (notUndone > 0) {
    screen.note(`${formatCounted(notUndone, "change")} cannot be undone; the text has them as comments`);
  }
  return faults.length > 0 || notUndone > 0 || missing !== undefined ? 1 : 0;
}

function outputWriter(): (bytes: Buffer) => Promise<void> {
  return (bytes) =>
    new Promise((resolve, reject) => {
      process.stdout.write(bytes, (error) => {
        if (error === null || error === undefined) resolve();
        else reject(new OutputClosed());
      });
    });
}

/** `inspect --follow` without `--rows`: a line each interval, until `signal`. @returns the exit code */
async function showRates(
  inputs: readonly BinlogInput[],
  options: { range: Range; intervalMs: number; isOver: () => boolean },
  screen: Screen,
): Promise<number> {
  const { range, intervalMs, isOver } = options;
  const onFault = ({ file, offset, reason }: Fault): void => {
    if (!isOver()) screen.note(`${file}:${offset}: ${reason}`);
  };
  const counts = followCounts(inputs, { range, onFault });
  let lastMs = performance.now();
  const report = (): void => {
    const nowMs = performance.now();
    screen.print(renderFollowLine(counts.take(), nowMs - lastMs, Date.now()));
    lastMs = nowMs;
  };
  const ended = new AbortController();
  const done = counts.done.finally(() => ended.abort());
  done.catch(() => {});
  while (!ended.signal.aborted) {
    await sleep(intervalMs, undefined, { signal: ended.signal }).catch(() => {});
    report();
  }
  await done;
  return 0;
}
