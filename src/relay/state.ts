import type { Step } from "../binlog/grammar.ts";
import { assert } from "../base/assert.ts";
import type { MariadbGtidPosition } from "../gtid/mariadb.ts";
import type { GtidSet } from "../gtid/mysql.ts";
import type { RelayPosition, SourcePosition, TransactionId } from "../transaction/transaction.ts";

/**
 * The GTIDs that a replica has at some point of its relay log: what was executed before the log began (given to `reset`), and every transaction complete in it.
 * `none`: not known, since the log began at a file position. Counting from there would give a set with a hole below, and the source would send the hole.
 */
export type GtidState =
  | { kind: "none" }
  | { kind: "mysql"; set: GtidSet }
  | { kind: "mariadb"; position: MariadbGtidPosition };

/** Where the relay log ends, always between two transactions: the point to resume the stream from. */
export interface RelayState {
  /** Where the source goes on after the last complete transaction; undefined in an empty log. */
  source: SourcePosition | undefined;
  gtids: GtidState;
  /** In our files: where the next event will be, or the end of the last file. */
  end: RelayPosition;
}

/**
 * Where the stream is after an event: `inside` a transaction that is not over, at the `end` of one (this event was its last), or `outside`:
 * the event belongs to none (Rotate, Previous_gtids, a heartbeat that is kept, …).
 */
export type TransactionBoundary = "inside" | "end" | "outside";

/** What the grammar's step says, in the relay log's words. A compressed payload holds a whole transaction but for its GTID, so it is an end. */
export function boundaryOf(step: Step): TransactionBoundary {
  if (step.role === "end" || step.role === "standalone" || step.role === "payload") return "end";
  return step.state === "outside" ? "outside" : "inside";
}

/** Counts a transaction that is complete, in place. */
export function countGtid(gtids: GtidState, id: TransactionId): void {
  if (gtids.kind === "none" || id.kind === "anonymous") return;
  if (gtids.kind === "mysql" && id.kind === "mysql") gtids.set.add(id.uuid, id.tag, id.gno);
  else if (gtids.kind === "mariadb" && id.kind === "mariadb") {
    gtids.position.update(id.domainId, id.serverId, id.sequence);
  } else assert(false, `a relay log of ${gtids.kind} GTIDs has no ${id.kind} one`);
}

export function copyGtids(gtids: GtidState): GtidState {
  if (gtids.kind === "mysql") return { kind: "mysql", set: gtids.set.clone() };
  if (gtids.kind === "mariadb") return { kind: "mariadb", position: gtids.position.clone() };
  return gtids;
}

/** Whether everything in `some` is also in `all`. */
export function coversGtids(all: GtidState, some: GtidState): boolean {
  if (some.kind === "none") return true;
  if (some.kind === "mysql") return some.set.isEmpty || (all.kind === "mysql" && some.set.isSubsetOf(all.set));
  return some.position.entries().every((gtid) => all.kind === "mariadb" && all.position.covers(gtid));
}

export function coversId(all: GtidState, id: TransactionId): boolean {
  if (id.kind === "mysql") return all.kind === "mysql" && all.set.contains(id.uuid, id.tag, id.gno);
  if (id.kind === "mariadb") return all.kind === "mariadb" && all.position.covers(id);
  return false;
}
