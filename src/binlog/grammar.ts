import type { BinlogFormat } from "./format.ts";
import { assert } from "../base/assert.ts";
const todo = (): never => {
  assert(false, "not written yet");
};

/**
 * Where in the stream we are. `outside`: between transactions. `gtid`: a MySQL GTID was read, BEGIN, XA START or one statement follows.
 * `standalone`: a MariaDB GTID with FL_STANDALONE was read, one statement follows. `transaction`: after BEGIN or a MariaDB GTID of a group.
 * `xa`: after XA START. `loose`: no GTID and no BEGIN: events that belong to a statement still to come.
 */
export type StreamState = "outside" | "gtid" | "standalone" | "transaction" | "xa" | "loose";

/**
 * What the event is in the stream:
 * - `control`: belongs to no transaction (FDE, Rotate, Previous_gtids, heartbeats, Stop…).
 * - `begin`: the first event of a transaction. `inside`: neither first nor last. `end`: the last.
 * - `standalone`: first and last at once (a statement in a stream without GTIDs).
 * - `payload`: a Transaction_payload: feed its inner events through `step` next; the outer one counts for nothing else.
 * - `ignored`: unknown or meaningless here, flagged ignorable; to be counted.
 */
export type EventRole = "control" | "begin" | "inside" | "end" | "standalone" | "payload" | "ignored";

/** One of a few fixed objects: `step` allocates nothing. */
export interface Step {
  readonly state: StreamState;
  readonly role: EventRole;
  /** Something to apply: true for rows, statements, their context; false for GTID, BEGIN, COMMIT, Xid, XA_PREPARE, annotations. */
  readonly content: boolean;
  /** On `end` and `standalone` only. `implicit`: one statement that commits by itself. */
  readonly ending: "commit" | "rollback" | "implicit" | "prepare" | undefined;
  /** A control event came inside a transaction: what was read of it is no transaction (the source died while writing it, or we reconnected). */
  readonly abandons: boolean;
}

/** What `step` must know of an event beside its type. `none` for most. */
export type EventFact =
  | "none"
  /** Query events, by the first words of the text. */
  | "begin"
  | "commit"
  | "rollback"
  | "savepoint"
  | "xa-start"
  | "xa-end"
  | "xa-commit"
  | "xa-rollback"
  | "dummy"
  | "statement"
  /** MariaDB GTID events, by FL_STANDALONE. */
  | "gtid-standalone"
  | "gtid-group"
  /** XA_PREPARE events, by their one-phase byte. */
  | "one-phase"
  | "two-phase"
  /** Row events, by STMT_END_F. */
  | "statement-end";

/** The fact of a plain (not compressed) event, read where it lies; allocates nothing. */
export function eventFact(_event: Buffer, _format: BinlogFormat): EventFact {
  return todo();
}

/**
 * Called once per event, in order. `type` and `flags` are the header's (of the unpacked event for MariaDB's compressed ones).
 * Throws ReplicationError GRAMMAR (an order no transaction has), UNKNOWN_EVENT (not known, not ignorable), INCIDENT.
 */
export function step(_state: StreamState, _type: number, _flags: number, _fact: EventFact): Step {
  return todo();
}
