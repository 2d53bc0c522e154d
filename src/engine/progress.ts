import type { Checkpoint } from "../apply/checkpoint.ts";
import { unreachable } from "../base/assert.ts";
import { MariadbGtidPosition } from "../gtid/mariadb.ts";
import { GtidSet } from "../gtid/mysql.ts";
import { copyGtids, countGtid, coversGtids, coversId, type GtidState } from "../relay/state.ts";
import type { SourcePosition, Transaction } from "../transaction/transaction.ts";

/** How far a channel is: everything up to here is applied. `transactions` counts since the channel began. */
export interface Progress {
  source: SourcePosition;
  gtids: GtidState;
  transactions: bigint;
}

/** What an empty set is called in a checkpoint: it says by which GTIDs the stream goes on, though none is there yet. */
const EMPTY = { mysql: "empty:mysql", mariadb: "empty:mariadb" } as const;

/** Reads what `gtidText` wrote. Empty text: the channel goes by file and position. */
export function parseGtids(text: string): GtidState {
  if (text === "") return { kind: "none" };
  if (text === EMPTY.mysql) return { kind: "mysql", set: GtidSet.parse("") };
  if (text === EMPTY.mariadb) return { kind: "mariadb", position: MariadbGtidPosition.parse("") };
  return /^\d+-\d+-\d+/.test(text)
    ? { kind: "mariadb", position: MariadbGtidPosition.parse(text) }
    : { kind: "mysql", set: GtidSet.parse(text) };
}

export function gtidText(gtids: GtidState): string {
  if (gtids.kind === "none") return "";
  return showGtids(gtids) || EMPTY[gtids.kind];
}

/** For people: as the servers write it. */
export function showGtids(gtids: GtidState): string {
  switch (gtids.kind) {
    case "none":
      return "";
    case "mysql":
      return gtids.set.toString();
    case "mariadb":
      return gtids.position.toString();
    default:
      return unreachable(gtids);
  }
}

/** One that `advance` can change without changing the original. */
export const copyProgress = (progress: Progress): Progress => ({ ...progress, gtids: copyGtids(progress.gtids) });

export const checkpointOf = (progress: Progress): Checkpoint => ({
  source: progress.source,
  gtids: gtidText(progress.gtids),
  transactions: progress.transactions,
});

/** Changes `progress` to what it is once this transaction, which follows it, is applied too. */
export function advance(progress: Progress, { id, end }: Transaction): void {
  progress.source = end;
  progress.transactions++;
  countGtid(progress.gtids, id);
}

/**
 * Whether a transaction that comes from the stream again is applied already. GTIDs tell where there are any; for the rest the place in the source's files does,
 * which holds as long as the source is the same server.
 */
export function isApplied(progress: Progress, { id, end }: Transaction): boolean {
  if (progress.gtids.kind !== "none") return coversId(progress.gtids, id);
  return comparePositions(end, progress.source) <= 0;
}

/** Order in the source's binlog: by the number that ends a file's name, then by offset. Negative: `a` lies before `b`. */
export function comparePositions(a: SourcePosition, b: SourcePosition): number {
  return fileNumber(a.file) - fileNumber(b.file) || a.position - b.position;
}

const fileNumber = (file: string): number => Number(/\.(\d+)$/.exec(file)?.[1] ?? 0);

/** A point to reach: `until` of the options, or the place where a pause was asked for. With both, a channel that goes by file and position looks at `source`. */
export type Goal = { gtids: GtidState; source?: SourcePosition } | { source: SourcePosition };

export function isReached(goal: Goal, progress: Progress): boolean {
  if ("gtids" in goal && (goal.source === undefined || progress.gtids.kind !== "none")) {
    return coversGtids(progress.gtids, goal.gtids);
  }
  return goal.source !== undefined && comparePositions(progress.source, goal.source) >= 0;
}
