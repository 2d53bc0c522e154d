import { assert } from "../base/assert.ts";
import { ReplicationError } from "../base/error.ts";
import { contentEnd } from "./checksum.ts";
import { EVENT_FLAG, eventType } from "./event.ts";
import { EVENT_TYPE, MARIADB_EVENTS_START, eventTypeName } from "./event-type.ts";
import { bodyReader } from "./events/body.ts";
import { MARIADB_GTID_FLAG, MARIADB_GTID_FLAGS_OFFSET } from "./events/mariadb-gtid.ts";
import { querySqlOffset } from "./events/query.ts";
import { ROWS_FLAG, isRowsType, rowsFlags } from "./events/rows.ts";
import type { BinlogFormat } from "./format.ts";
import { queryVerb } from "./query-verb.ts";
import type { QueryVerb } from "./query-verb.ts";
import { isCompressed } from "./uncompress.ts";

/*
 * The stream of events of a binlog, of both servers and all versions, as step() enforces it. Words in capitals are event types, words in quotes the text of QUERY events.
 * After the unpacking of TRANSACTION_PAYLOAD and of MariaDB's compressed events, which the grammar sees in their plain form.
 *
 *   stream      = { file }
 *   file        = FORMAT_DESCRIPTION { control | group } [ partial ] [ ROTATE | STOP ]
 *   control     = FORMAT_DESCRIPTION | ROTATE | STOP | PREVIOUS_GTIDS | GTID_LIST | BINLOG_CHECKPOINT
 *               | HEARTBEAT | HEARTBEAT_V2 | START_ENCRYPTION | TRANSACTION_CONTEXT | VIEW_CHANGE
 *   partial     = the beginning of a group: the source died while it wrote it. No transaction.
 *
 *   group       = gtid ( transaction | xa | statement )          MySQL 5.6 and later with GTIDs, 5.7 and later always
 *               | MARIADB_GTID[group] inner end                  MariaDB: the GTID stands for BEGIN
 *               | MARIADB_GTID[standalone] statement             MariaDB: FL_STANDALONE
 *               | transaction | statement | rows                 no GTIDs: MySQL to 5.6, MariaDB 5.x
 *   gtid        = GTID | ANONYMOUS_GTID | GTID_TAGGED
 *   transaction = "BEGIN" inner end
 *   end         = XID | "COMMIT" | "ROLLBACK"
 *   xa          = "XA START" inner "XA END" XA_PREPARE           first half, or ONE PHASE; the second half is a statement
 *                 (MariaDB: MARIADB_GTID[group] inner "XA END" XA_PREPARE)
 *   inner       = { rows | statement | "SAVEPOINT" | "ROLLBACK TO" | "XA END" | VIEW_CHANGE }
 *   statement   = { INTVAR | RAND | USER_VAR | BEGIN_LOAD_QUERY | APPEND_BLOCK }
 *                 ( QUERY | "XA COMMIT" | "XA ROLLBACK" | EXECUTE_LOAD_QUERY | DELETE_FILE )
 *                 DDL stands in `inner` too: CREATE TABLE … SELECT is "BEGIN" QUERY rows XID
 *   rows        = [ ROWS_QUERY | ANNOTATE_ROWS ] TABLE_MAP { TABLE_MAP } row-event { row-event }      the last one has STMT_END_F
 *
 * Heartbeats, checkpoints and ignorable events may stand anywhere.
 */

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
  | QueryVerb
  /** MariaDB GTID events, by FL_STANDALONE. */
  | "gtid-standalone"
  | "gtid-group"
  /** XA_PREPARE events, by their one-phase byte. */
  | "one-phase"
  | "two-phase"
  /** Row events, by STMT_END_F. */
  | "statement-end";

/** The fact of a plain (not compressed) event, read where it lies; allocates nothing. @throws ReplicationError CORRUPT_EVENT when the event is too short. */
export function eventFact(event: Buffer, format: BinlogFormat): EventFact {
  const type = eventType(event);
  if (type === EVENT_TYPE.QUERY) return queryVerb(event, querySqlOffset(event, format), contentEnd(event, format));
  if (type === EVENT_TYPE.MARIADB_GTID) {
    const flags = byteAt(event, format, MARIADB_GTID_FLAGS_OFFSET);
    return (flags & MARIADB_GTID_FLAG.STANDALONE) === 0 ? "gtid-group" : "gtid-standalone";
  }
  if (type === EVENT_TYPE.XA_PREPARE) return byteAt(event, format, 0) === 0 ? "two-phase" : "one-phase";
  if (isRowsType(type)) return (rowsFlags(event, format) & ROWS_FLAG.STATEMENT_END) === 0 ? "none" : "statement-end";
  return "none";
}

function byteAt(event: Buffer, format: BinlogFormat, offset: number): number {
  const at = format.headerLength + offset;
  if (at >= contentEnd(event, format)) bodyReader(event, format).skip(offset + 1);
  return event[at] as number;
}

const make = (
  state: StreamState,
  role: EventRole,
  {
    content = false,
    ending,
    abandons = false,
  }: { content?: boolean; ending?: Step["ending"]; abandons?: boolean } = {},
): Step => Object.freeze({ state, role, content, ending, abandons });

const inEveryState = (role: EventRole, content: boolean): Readonly<Record<StreamState, Step>> => ({
  outside: make("outside", role, { content }),
  gtid: make("gtid", role, { content }),
  standalone: make("standalone", role, { content }),
  transaction: make("transaction", role, { content }),
  xa: make("xa", role, { content }),
  loose: make("loose", role, { content }),
});

const CONTROL = inEveryState("control", false);
const IGNORED = inEveryState("ignored", false);
const INSIDE = inEveryState("inside", true);
const INSIDE_EMPTY = inEveryState("inside", false);
const ABANDON = make("outside", "control", { abandons: true });
const PAYLOAD_GTID = make("gtid", "payload");
const PAYLOAD_OUTSIDE = make("outside", "payload");
const BEGIN_GTID = make("gtid", "begin");
const BEGIN_STANDALONE = make("standalone", "begin");
const BEGIN_TRANSACTION = make("transaction", "begin");
const BEGIN_XA = make("xa", "begin");
const BEGIN_LOOSE = make("loose", "begin", { content: true });
const BEGIN_LOOSE_EMPTY = make("loose", "begin");
const TO_TRANSACTION = make("transaction", "inside");
const TO_XA = make("xa", "inside");
const END_COMMIT = make("outside", "end", { ending: "commit" });
const END_ROLLBACK = make("outside", "end", { ending: "rollback" });
const END_PREPARE = make("outside", "end", { ending: "prepare" });
const END_IMPLICIT = make("outside", "end", { content: true, ending: "implicit" });
const STANDALONE = make("outside", "standalone", { content: true, ending: "implicit" });

/**
 * Called once per event, in order. `type` and `flags` are the header's (of the unpacked event for MariaDB's compressed ones).
 * Throws ReplicationError GRAMMAR (an order no transaction has), UNKNOWN_EVENT (not known, not ignorable), INCIDENT.
 */
export function step(state: StreamState, type: number, flags: number, fact: EventFact): Step {
  switch (type) {
    case EVENT_TYPE.TABLE_MAP:
      if (state === "outside") return BEGIN_LOOSE;
      return mayChange(state) ? INSIDE[state] : refuse(state, type, fact);
    case EVENT_TYPE.WRITE_ROWS:
    case EVENT_TYPE.UPDATE_ROWS:
    case EVENT_TYPE.DELETE_ROWS:
    case EVENT_TYPE.PARTIAL_UPDATE_ROWS:
    case EVENT_TYPE.WRITE_ROWS_V1:
    case EVENT_TYPE.UPDATE_ROWS_V1:
    case EVENT_TYPE.DELETE_ROWS_V1:
    case EVENT_TYPE.PRE_GA_WRITE_ROWS:
    case EVENT_TYPE.PRE_GA_UPDATE_ROWS:
    case EVENT_TYPE.PRE_GA_DELETE_ROWS:
      if (state === "loose" && fact === "statement-end") return END_IMPLICIT;
      return mayChange(state) ? INSIDE[state] : refuse(state, type, fact);
    case EVENT_TYPE.QUERY:
      return query(state, type, fact);
    case EVENT_TYPE.XID:
      return state === "transaction" ? END_COMMIT : refuse(state, type, fact);
    case EVENT_TYPE.GTID:
    case EVENT_TYPE.ANONYMOUS_GTID:
    case EVENT_TYPE.GTID_TAGGED:
      return state === "outside" ? BEGIN_GTID : refuse(state, type, fact);
    case EVENT_TYPE.MARIADB_GTID:
      if (state !== "outside") return refuse(state, type, fact);
      return fact === "gtid-standalone" ? BEGIN_STANDALONE : BEGIN_TRANSACTION;
    case EVENT_TYPE.ROWS_QUERY:
    case EVENT_TYPE.ANNOTATE_ROWS:
      return state === "outside" ? BEGIN_LOOSE_EMPTY : INSIDE_EMPTY[state];
    case EVENT_TYPE.INTVAR:
    case EVENT_TYPE.RAND:
    case EVENT_TYPE.USER_VAR:
    case EVENT_TYPE.BEGIN_LOAD_QUERY:
    case EVENT_TYPE.APPEND_BLOCK:
    case EVENT_TYPE.CREATE_FILE:
      return state === "outside" ? BEGIN_LOOSE : INSIDE[state];
    case EVENT_TYPE.EXECUTE_LOAD_QUERY:
    case EVENT_TYPE.EXEC_LOAD:
    case EVENT_TYPE.LOAD:
    case EVENT_TYPE.NEW_LOAD:
    case EVENT_TYPE.DELETE_FILE:
      return statement(state);
    case EVENT_TYPE.XA_PREPARE:
      if (state !== "xa" && state !== "transaction") return refuse(state, type, fact);
      return fact === "one-phase" ? END_COMMIT : END_PREPARE;
    case EVENT_TYPE.TRANSACTION_PAYLOAD:
      if (state === "gtid") return PAYLOAD_GTID;
      return state === "outside" ? PAYLOAD_OUTSIDE : refuse(state, type, fact);
    case EVENT_TYPE.FORMAT_DESCRIPTION:
    case EVENT_TYPE.START_V3:
    case EVENT_TYPE.ROTATE:
    case EVENT_TYPE.STOP:
      return state === "outside" ? CONTROL.outside : ABANDON;
    case EVENT_TYPE.PREVIOUS_GTIDS:
    case EVENT_TYPE.GTID_LIST:
    case EVENT_TYPE.START_ENCRYPTION:
      return state === "outside" ? CONTROL.outside : refuse(state, type, fact);
    case EVENT_TYPE.VIEW_CHANGE:
      return state === "outside" ? CONTROL.outside : INSIDE_EMPTY[state];
    case EVENT_TYPE.HEARTBEAT:
    case EVENT_TYPE.HEARTBEAT_V2:
    case EVENT_TYPE.BINLOG_CHECKPOINT:
    case EVENT_TYPE.TRANSACTION_CONTEXT:
    case EVENT_TYPE.SLAVE:
      return CONTROL[state];
    case EVENT_TYPE.INCIDENT:
      throw new ReplicationError("INCIDENT", "the source says that its binlog may lack changes", {
        hint: "compare source and target with verify, repair what differs, then go on behind this event",
      });
    case EVENT_TYPE.IGNORABLE:
      return IGNORED[state];
    default:
      assert(!isCompressed(type), "a compressed event is unpacked before the grammar sees it");
      if ((flags & EVENT_FLAG.IGNORABLE) !== 0) return IGNORED[state];
      throw new ReplicationError("UNKNOWN_EVENT", `event type ${type} is unknown and may not be left out`, {
        hint: "the source is newer than this program: update it",
      });
  }
}

const mayChange = (state: StreamState): boolean => state === "transaction" || state === "xa" || state === "loose";

function query(state: StreamState, type: number, fact: EventFact): Step {
  switch (fact) {
    case "begin":
      if (state === "outside") return BEGIN_TRANSACTION;
      return state === "gtid" ? TO_TRANSACTION : refuse(state, type, fact);
    case "commit":
      return state === "transaction" ? END_COMMIT : refuse(state, type, fact);
    case "rollback":
      return state === "transaction" ? END_ROLLBACK : refuse(state, type, fact);
    case "savepoint":
      return state === "transaction" || state === "xa" ? INSIDE[state] : refuse(state, type, fact);
    case "xa-start":
      if (state === "outside") return BEGIN_XA;
      return state === "gtid" ? TO_XA : refuse(state, type, fact);
    case "xa-end":
      return state === "xa" || state === "transaction" ? INSIDE_EMPTY[state] : refuse(state, type, fact);
    case "xa-commit":
    case "xa-rollback":
      return state === "transaction" || state === "xa" ? refuse(state, type, fact) : statement(state);
    case "dummy":
      return IGNORED[state];
    default:
      return statement(state);
  }
}

/** A statement ends what has no end of its own. */
function statement(state: StreamState): Step {
  if (state === "transaction" || state === "xa") return INSIDE[state];
  return state === "outside" ? STANDALONE : END_IMPLICIT;
}

const PLACES: Readonly<Record<StreamState, string>> = {
  outside: "between transactions",
  gtid: "after a GTID, where BEGIN or a statement belongs",
  standalone: "after the GTID of a single statement",
  transaction: "inside a transaction",
  xa: "inside an XA transaction",
  loose: "before the statement that the events ahead of it belong to",
};

function refuse(state: StreamState, type: number, fact: EventFact): never {
  const name = eventTypeName(type, type >= MARIADB_EVENTS_START ? "mariadb" : "mysql");
  const what = type === EVENT_TYPE.QUERY ? `${name} (${fact})` : name;
  throw new ReplicationError("GRAMMAR", `event ${what} came ${PLACES[state]}`, {
    hint: "start at the beginning of a transaction; if this is one, check the file with mysqlbinlog",
  });
}
