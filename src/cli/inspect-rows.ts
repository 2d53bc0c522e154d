import { setTimeout as sleep } from "node:timers/promises";
import { ReplicationError } from "../base/error.ts";
import type { BinlogInput, Fault } from "../inspect/input/input.ts";
import { describeBound, type Range } from "../inspect/input/range.ts";
import { printRows, type RowsOutcome } from "../inspect/rows/print-rows.ts";
import { printUndo } from "../inspect/rows/print-undo.ts";
import { parseTablePattern } from "../inspect/rows/table-pattern.ts";
import type { Table } from "../schema/catalog.ts";
import { followCounts } from "./follow.ts";
import type { LiveBinlog } from "./live-binlog.ts";
import { renderFollowLine } from "./render/follow.ts";
import { formatCounted } from "./render/units.ts";
import type { Screen } from "./screen.ts";
import { openSpillFile } from "./spill-file.ts";
import { OutputClosed, StatementOutput } from "./statement-output.ts";

export interface InspectRowsOptions {
  rows?: true;
  undo?: true;
  follow?: true;
  /** `schema.table`, `schema.*`, `*.table`; none: all. */
  table: readonly string[];
  /** Seconds between two lines of rates. */
  interval: string;
  range: Range | undefined;
  tables: readonly Table[];
  /** The input, when it is a server's; its failure is told by whoever opened it. */
  live: LiveBinlog | undefined;
  signal: AbortSignal | undefined;
}

const EXIT_FAILURE = 3;
/** Of those with the same reason, in a message. */
const TABLES_NAMED_MAX = 5;
const INTERVAL_SECONDS_MAX = 86_400;

/** `inspect` with --rows, --undo, or --follow without either. @returns the exit code */
export async function inspectRows(
  inputs: readonly BinlogInput[],
  options: InspectRowsOptions,
  screen: Screen,
): Promise<number> {
  const { range = { from: undefined, to: undefined }, table, live } = options;
  const isOver = (): boolean => options.signal?.aborted === true || live?.failure !== undefined;
  if (options.rows === true || options.undo === true) {
    const only = table.length === 0 ? undefined : table.map(parseTablePattern);
    const how = options.rows === true ? "rows" : "undo";
    return showRows(inputs, { ...options, how, range, only, isOver }, screen);
  }
  const seconds = Number(options.interval);
  if (!(seconds > 0 && seconds <= INTERVAL_SECONDS_MAX)) {
    throw new ReplicationError("CONFIG", `--interval is ${JSON.stringify(options.interval)}`, {
      hint: "give a number of seconds",
    });
  }
  return showRates(inputs, { range, intervalMs: seconds * 1000, isOver }, screen);
}

interface ShowRowsOptions extends Pick<InspectRowsOptions, "tables" | "live" | "signal" | "follow"> {
  how: "rows" | "undo";
  range: Range;
  only: readonly string[] | undefined;
  /** Reading was ended: what then looks like a fault is none. */
  isOver: () => boolean;
}

/**
 * `inspect --rows` and `--undo`: statements on standard output, what is wrong on standard error.
 * @returns the exit code: 1 when something could not be read, is only a comment, or was asked for and is not there
 * @throws ReplicationError the text is incomplete for a reason that is not in the log
 */
async function showRows(inputs: readonly BinlogInput[], options: ShowRowsOptions, screen: Screen): Promise<number> {
  const { how, range, tables, only, live, signal, isOver } = options;
  const follow = options.follow === true;
  const faults: Fault[] = [];
  const check = (): void => {
    if (live?.failure !== undefined) throw live.failure;
    if (signal?.aborted === true && !follow) throw new ReplicationError("STOPPED", "the log was not read to its end");
  };
  const reading = {
    range,
    tables,
    only,
    check,
    ...(follow && tables.length > 0 && live !== undefined ? { lookUp: live.tableNow } : {}),
    onFault: (fault: Fault) => {
      if (isOver()) return;
      faults.push(fault);
      screen.note(`${fault.file}:${fault.offset}: ${fault.reason}`);
    },
  };
  const output = new StatementOutput();
  const stopWatching = follow ? output.watchReader() : () => {};
  let outcome: RowsOutcome;
  try {
    const print = how === "rows" ? printRows : printUndo;
    outcome = await print(inputs, reading, output.write, openSpillFile);
  } catch (error) {
    if (error instanceof OutputClosed) return 0;
    // It is told by whoever opened it.
    if (error === live?.failure) return EXIT_FAILURE;
    throw error;
  } finally {
    stopWatching();
  }
  tellOutcome(outcome, how, screen);
  const { asComments, missing, unseen } = outcome;
  // What is followed has no end at which something would be missing.
  if (!follow) for (const name of unseen) screen.note(`no change of ${name} in this range`);
  const isLess = missing !== undefined || asComments > 0 || (!follow && unseen.length > 0);
  return faults.length > 0 || isLess ? 1 : 0;
}

function tellOutcome({ missing, asComments, obstacles }: RowsOutcome, how: "rows" | "undo", screen: Screen): void {
  if (missing !== undefined) screen.note(`nothing in the log is ${describeBound(missing)}`);
  const alike = new Map<string, string[]>();
  for (const [table, { reason, hint }] of obstacles) {
    const told = `${reason}${hint === undefined ? "" : `\n  Try: ${hint}`}`;
    alike.set(told, [...(alike.get(told) ?? []), table]);
  }
  for (const [told, tables] of alike) {
    const more = tables.length - TABLES_NAMED_MAX;
    screen.note(`${tables.slice(0, TABLES_NAMED_MAX).join(", ")}${more > 0 ? ` and ${more} more` : ""}: ${told}`);
  }
  if (asComments === 0) return;
  const what = how === "undo" ? "cannot be undone" : "cannot be executed again";
  screen.note(`${formatCounted(asComments, "change")} ${what}; the text has them as comments`);
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
