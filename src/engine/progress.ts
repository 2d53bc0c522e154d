import { unreachable } from "../base/assert.ts";
import { MariadbGtidPosition } from "../gtid/mariadb.ts";
import { GtidSet } from "../gtid/mysql.ts";
import type { GtidState } from "../relay/state.ts";
import type { SourcePosition, Transaction } from "../transaction/transaction.ts";

/** How far a channel is: everything up to here is applied. `transactions` counts since the channel began. */
export interface Progress {
  source: SourcePosition;
  gtids: GtidState;
  transactions: bigint;
}

/** A GTID set of MySQL or a position of MariaDB, as `gtidText` writes it; empty text is `none`. */
export function parseGtids(text: string): GtidState {
  if (text === "") return { kind: "none" };
  return /^\d+-\d+-\d+/.test(text)
    ? { kind: "mariadb", position: MariadbGtidPosition.parse(text) }
    : { kind: "mysql", set: GtidSet.parse(text) };
}

export function gtidText(gtids: GtidState): string {
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

function cloneGtids(gtids: GtidState): GtidState {
  if (gtids.kind === "mysql") return { kind: "mysql", set: gtids.set.clone() };
  if (gtids.kind === "mariadb") return { kind: "mariadb", position: gtids.position.clone() };
  return gtids;
}

/** The progress once these, which follow it, are applied too. */
export function advanced(progress: Progress, transactions: Iterable<Transaction>): Progress {
  let gtids = cloneGtids(progress.gtids);
  let { source } = progress;
  let count = progress.transactions;
  for (const { id, end } of transactions) {
    source = end;
    count++;
    if (id.kind === "mysql") {
      if (gtids.kind !== "mysql") gtids = { kind: "mysql", set: GtidSet.parse("") };
      gtids.set.add(id.uuid, id.tag, id.gno);
    } else if (id.kind === "mariadb") {
      if (gtids.kind !== "mariadb") gtids = { kind: "mariadb", position: MariadbGtidPosition.parse("") };
      gtids.position.update(id.domainId, id.serverId, id.sequence);
    }
  }
  return { source, gtids, transactions: count };
}

/**
 * Whether a transaction that comes from the stream again is applied already. GTIDs tell where there are any; for the rest the place in the source's files does,
 * which holds as long as the source is the same server.
 */
export function isApplied(progress: Progress, { id, end }: Transaction): boolean {
  if (id.kind === "mysql" && progress.gtids.kind === "mysql") {
    return progress.gtids.set.contains(id.uuid, id.tag, id.gno);
  }
  if (id.kind === "mariadb" && progress.gtids.kind === "mariadb") return progress.gtids.position.covers(id);
  return comparePositions(end, progress.source) <= 0;
}

/** Order in the source's binlog: by the number that ends a file's name, then by offset. Negative: `a` lies before `b`. */
export function comparePositions(a: SourcePosition, b: SourcePosition): number {
  return fileNumber(a.file) - fileNumber(b.file) || a.position - b.position;
}

const fileNumber = (file: string): number => Number(/\.(\d+)$/.exec(file)?.[1] ?? 0);

/** A point to reach: `until` of the options, or the place where a pause was asked for. */
export type Goal = { gtids: GtidState } | { source: SourcePosition };

export function isReached(goal: Goal, progress: Progress): boolean {
  if ("source" in goal) return comparePositions(progress.source, goal.source) >= 0;
  if (goal.gtids.kind === "mysql") {
    return progress.gtids.kind === "mysql" && goal.gtids.set.isSubsetOf(progress.gtids.set);
  }
  if (goal.gtids.kind === "mariadb") {
    const { gtids } = progress;
    return gtids.kind === "mariadb" && goal.gtids.position.entries().every((gtid) => gtids.position.covers(gtid));
  }
  return true;
}
