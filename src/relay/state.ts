import type { Step } from "../binlog/grammar.ts";
import type { MariadbGtidPosition } from "../gtid/mariadb.ts";
import type { GtidSet } from "../gtid/mysql.ts";
import type { RelayPosition, SourcePosition } from "../transaction/transaction.ts";

/** The GTIDs that a replica has at some point of its relay log: what was executed before the log began, and every transaction complete in it. */
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
