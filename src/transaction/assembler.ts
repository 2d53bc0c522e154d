import { ReplicationError } from "../base/error.ts";
import { contentEnd, withoutChecksums } from "../binlog/checksum.ts";
import { EVENT_TYPE } from "../binlog/event-type.ts";
import { eventFlags, eventTimestamp, eventType } from "../binlog/event.ts";
import { decodeFormatDescription } from "../binlog/events/format-description.ts";
import { decodeGtidTagged } from "../binlog/events/gtid-tagged.ts";
import { decodeGtid } from "../binlog/events/gtid.ts";
import { decodeExecuteLoadQuery } from "../binlog/events/load-data.ts";
import { decodeMariadbGtid } from "../binlog/events/mariadb-gtid.ts";
import { decodeQuery, querySqlOffset } from "../binlog/events/query.ts";
import { decodeRotate } from "../binlog/events/rotate.ts";
import { decodeTransactionPayload, payloadEvents } from "../binlog/events/transaction-payload.ts";
import { decodeXaPrepare } from "../binlog/events/xa-prepare.ts";
import { isRowsType } from "../binlog/events/rows.ts";
import type { BinlogFormat } from "../binlog/format.ts";
import { type EventFact, eventFact, step, type StreamState } from "../binlog/grammar.ts";
import { nextSourcePosition } from "../binlog/source-position.ts";
import { isCompressed, uncompressEvent } from "../binlog/uncompress.ts";
import { BodyCollector, EVENT_BYTES_MAX, type TableFilter } from "./body.ts";
import { EMPTY_BODY } from "./event-list.ts";
import { streamPayloadEvents } from "./payload-stream.ts";
import type {
  RelayPosition,
  SourcePosition,
  Transaction,
  TransactionBody,
  TransactionId,
  TransactionKind,
} from "./transaction.ts";

const ANONYMOUS: TransactionId = { kind: "anonymous" };

export interface AssemblerOptions {
  /** A transaction whose events, unpacked, take more than this becomes a range of the relay log. */
  bytesInMemoryMax: number;
  tableFilter?: TableFilter;
}

/** The transaction that is being read. What does not depend on its GTID event lies in the BodyCollector. */
interface Open {
  id: TransactionId;
  start: SourcePosition;
  relayStart: RelayPosition;
  bytes: number;
  lastCommitted: number;
  sequenceNumber: number;
  commitId: bigint | undefined;
  sessionId: number | undefined;
  mariadbFlags: Transaction["mariadbFlags"];
  alter: "start" | "commit" | "rollback" | undefined;
  committedAtUs: number;
  xid: string | undefined;
  xaEnd: "xa-commit" | "xa-rollback" | undefined;
  /** Statements and their context among the events, SAVEPOINT not counted. */
  statements: number;
  /** Numbers of the SAVEPOINT statements among the events, needed only when a ROLLBACK TO follows. */
  savepoints: Set<number> | undefined;
}

/**
 * Puts transactions together from the events of the relay log, in order.
 *
 * Invariant: a transaction comes out exactly when the grammar says that its last event was read, and holds everything between. What the stream abandons (the
 * source died while writing it, or the connection was lost and it comes again from its start) comes out never: giving it out would apply half a transaction.
 */
export class Assembler {
  readonly #options: AssemblerOptions;
  readonly #body: BodyCollector;
  #state: StreamState = "outside";
  #format: BinlogFormat | undefined;
  /** `#format` without checksum: how the events of bodies are read. */
  #plainFormat: BinlogFormat | undefined;
  #file: string;
  #position: number;
  #open: Open | undefined;
  #ordinal: number;
  #ignoredEvents = 0;
  #cutTransactions = 0;

  /** `start`: the place before the first event that is pushed; `ordinal` of the last transaction before it, when it is not the first. */
  constructor(options: AssemblerOptions, start: { source: SourcePosition; ordinal?: number }) {
    this.#ordinal = start.ordinal ?? 0;
    this.#options = options;
    this.#body = new BodyCollector(options.tableFilter);
    this.#file = start.source.file;
    this.#position = start.source.position;
  }

  /** The true place in the source after the last event. */
  get source(): SourcePosition {
    return { file: this.#file, position: this.#position };
  }
  /** No transaction is open: a resume point. */
  get atBoundary(): boolean {
    return this.#open === undefined;
  }
  /** Bytes received of the transaction that is open. */
  get partialBytes(): number {
    return this.#open?.bytes ?? 0;
  }
  /** Unknown events that were flagged ignorable. */
  get ignoredEvents(): number {
    return this.#ignoredEvents;
  }
  /** Transactions that ended in their middle and were dropped, as the servers' appliers roll them back: the source had crashed, or they came again. */
  get cutTransactions(): number {
    return this.#cutTransactions;
  }

  /**
   * Takes the next event of the relay log, as it lies there (checksum included), the place of its first byte, and the place after its last.
   * @returns the transaction that this event ends
   * @throws ReplicationError GRAMMAR, UNKNOWN_EVENT, CORRUPT_EVENT, INCIDENT, ENCRYPTED, BINLOG_FORMAT
   */
  push(event: Buffer, relay: RelayPosition, relayNext: RelayPosition): Transaction | undefined {
    const before = this.#position;
    try {
      return this.#push(event, relay, relayNext);
    } catch (error) {
      if (error instanceof ReplicationError) throw error.at({ file: this.#file, position: before });
      throw error;
    }
  }

  #push(event: Buffer, relay: RelayPosition, relayNext: RelayPosition): Transaction | undefined {
    const type = eventType(event);
    this.#position = nextSourcePosition(this.#position, event);
    if (type === EVENT_TYPE.FORMAT_DESCRIPTION || type === EVENT_TYPE.START_V3) this.#setFormat(event);
    const format = this.#format;
    if (format === undefined) {
      // A relay file, like any binlog file, begins with it.
      throw new ReplicationError("GRAMMAR", "the stream has no FORMAT_DESCRIPTION event before its first event");
    }
    let ended: Transaction | undefined;
    if (type === EVENT_TYPE.TRANSACTION_PAYLOAD) {
      this.#take(event, format, event.length, relay, relayNext);
      for (const inner of this.#payloadEvents(event, format)) {
        ended ??= this.#take(inner, this.#plain(), 0, relay, relayNext);
      }
    } else if (isCompressed(type)) {
      const plain = uncompressEvent(event, format, EVENT_BYTES_MAX);
      ended = this.#take(plain, this.#plain(), event.length, relay, relayNext);
    } else {
      ended = this.#take(event, format, event.length, relay, relayNext);
    }
    if (type === EVENT_TYPE.ROTATE) this.#rotate(event, format);
    return ended;
  }

  #payloadEvents(event: Buffer, format: BinlogFormat): Iterable<Buffer> {
    const payload = decodeTransactionPayload(event, format);
    const { bytesInMemoryMax } = this.#options;
    return payload.uncompressedBytes <= bytesInMemoryMax
      ? payloadEvents(payload, bytesInMemoryMax)
      : streamPayloadEvents(payload, EVENT_BYTES_MAX);
  }

  /** One plain event through the grammar and into the open transaction. `bytes`: what it counts for in the source's file. */
  #take(
    event: Buffer,
    format: BinlogFormat,
    bytes: number,
    relay: RelayPosition,
    relayNext: RelayPosition,
  ): Transaction | undefined {
    const fact = eventFact(event, format);
    const { state, role, content, ending, abandons } = step(this.#state, eventType(event), eventFlags(event), fact);
    this.#state = state;
    if (abandons) this.#abandon();
    if (role === "control") return undefined;
    if (role === "ignored") this.#ignoredEvents++;
    if (role === "begin" || role === "standalone") this.#begin(event, format, relay);
    const open = this.#open;
    if (open === undefined) {
      if (role === "ignored") return undefined;
      throw new ReplicationError("GRAMMAR", "an event of a transaction came before the transaction's first event");
    }
    open.bytes += bytes;
    // The first field of a Query event, BEGIN mostly.
    if (eventType(event) === EVENT_TYPE.QUERY) open.sessionId ??= event.readUInt32LE(format.headerLength);
    if (content) this.#content(open, event, format, fact);
    this.#xa(open, event, format, fact);
    return ending === undefined ? undefined : this.#finish(open, event, format, ending, relayNext);
  }

  #begin(event: Buffer, format: BinlogFormat, relay: RelayPosition): void {
    if (this.#open !== undefined) throw new ReplicationError("GRAMMAR", "a transaction begins inside another one");
    const open: Open = {
      id: ANONYMOUS,
      // Events may have been left out before this one: what counts is where it lies, not where the one before it ended.
      start: { file: this.#file, position: this.#position - event.length },
      relayStart: relay,
      bytes: 0,
      lastCommitted: 0,
      sequenceNumber: 0,
      commitId: undefined,
      sessionId: undefined,
      mariadbFlags: undefined,
      alter: undefined,
      committedAtUs: 0,
      xid: undefined,
      xaEnd: undefined,
      statements: 0,
      savepoints: undefined,
    };
    const type = eventType(event);
    if (type === EVENT_TYPE.GTID || type === EVENT_TYPE.ANONYMOUS_GTID || type === EVENT_TYPE.GTID_TAGGED) {
      const gtid = type === EVENT_TYPE.GTID_TAGGED ? decodeGtidTagged(event, format) : decodeGtid(event, format);
      if (!gtid.anonymous) open.id = { kind: "mysql", uuid: gtid.uuid, tag: gtid.tag, gno: gtid.gno };
      open.lastCommitted = gtid.lastCommitted;
      open.sequenceNumber = gtid.sequenceNumber;
      open.committedAtUs = gtid.originalCommitUs;
    } else if (type === EVENT_TYPE.MARIADB_GTID) {
      const { domainId, serverId, sequence, ...gtid } = decodeMariadbGtid(event, format);
      open.id = { kind: "mariadb", domainId, serverId, sequence };
      open.commitId = gtid.commitId;
      const { standalone, transactional, allowParallel, waited, ddl } = gtid;
      open.mariadbFlags = { standalone, transactional, allowParallel, waited, ddl };
      open.alter = gtid.alter;
      open.xid = gtid.xid;
    }
    this.#open = open;
  }

  #content(open: Open, event: Buffer, format: BinlogFormat, fact: EventFact): void {
    const body = this.#body;
    const type = eventType(event);
    if (type === EVENT_TYPE.TABLE_MAP) {
      body.tableMap(event, format, open.start);
    } else if (isRowsType(type)) {
      body.rowsEvent(event, format);
    } else {
      body.other(event, format);
      if (type === EVENT_TYPE.QUERY || type === EVENT_TYPE.EXECUTE_LOAD_QUERY) this.#schemas(event, format);
      if (fact !== "savepoint" || rollsBackToSavepoint(event, format)) open.statements++;
      else if (body.keep) (open.savepoints ??= new Set()).add(body.held - 1);
    }
    if (body.heldBytes > this.#options.bytesInMemoryMax) {
      body.stopKeeping();
      open.savepoints = undefined;
    }
  }

  #schemas(event: Buffer, format: BinlogFormat): void {
    const query =
      eventType(event) === EVENT_TYPE.QUERY ? decodeQuery(event, format) : decodeExecuteLoadQuery(event, format);
    if (query.schema !== "") this.#body.schemas.add(query.schema);
    const { updatedSchemas } = query.status;
    if (updatedSchemas !== undefined && updatedSchemas !== "*") {
      for (const schema of updatedSchemas) this.#body.schemas.add(schema);
    }
  }

  #xa(open: Open, event: Buffer, format: BinlogFormat, fact: EventFact): void {
    if (fact === "xa-commit" || fact === "xa-rollback") {
      open.xaEnd = fact;
      const text = event.toString("latin1", querySqlOffset(event, format), contentEnd(event, format));
      open.xid = /^\s*XA\s+(?:COMMIT|ROLLBACK)\s+(.*?)[\s;]*$/is.exec(text)?.[1] ?? open.xid;
    } else if (fact === "two-phase") {
      open.xid = decodeXaPrepare(event, format).xid;
    } else if (fact === "one-phase") {
      open.xid = undefined;
    }
  }

  #finish(
    open: Open,
    last: Buffer,
    format: BinlogFormat,
    ending: Transaction["ending"],
    relayEnd: RelayPosition,
  ): Transaction {
    const body = this.#body;
    const kind = kindOf(open, ending, body.rowEvents);
    const seconds = eventTimestamp(last) + (ending === "implicit" ? executionSeconds(last, format) : 0);
    const transaction: Transaction = {
      ordinal: ++this.#ordinal,
      id: open.id,
      kind,
      start: open.start,
      end: { file: this.#file, position: this.#position },
      relayEnd,
      format: this.#plain(),
      body: this.#bodyOf(open, kind, relayEnd),
      bytes: open.bytes,
      eventBytes: body.eventBytes,
      rows: body.rows,
      lastCommitted: open.lastCommitted,
      sequenceNumber: open.sequenceNumber,
      commitId: open.commitId,
      sessionId: open.sessionId,
      mariadbFlags: open.mariadbFlags,
      committedAtUs: open.committedAtUs === 0 ? seconds * 1_000_000 : open.committedAtUs,
      ending,
      transactional: endsTransactionally(last),
      xid: open.xid,
      tables: body.tables,
      schemas: body.schemas,
    };
    body.reset();
    this.#open = undefined;
    return transaction;
  }

  #bodyOf(open: Open, kind: TransactionKind, relayEnd: RelayPosition): TransactionBody {
    const { keep } = this.#body;
    if (kind !== "rows" && kind !== "mixed" && kind !== "ddl" && kind !== "xa-prepare") return EMPTY_BODY;
    if (!keep) {
      return {
        range: { from: open.relayStart, to: relayEnd, checksum: (this.#format as BinlogFormat).checksum },
      };
    }
    const { savepoints } = open;
    const events = this.#body.take();
    return { events: savepoints === undefined || open.statements > 0 ? events : events.without(savepoints) };
  }

  #abandon(): void {
    if (this.#open !== undefined) this.#cutTransactions++;
    this.#open = undefined;
    this.#body.reset();
  }

  #setFormat(event: Buffer): void {
    this.#format = decodeFormatDescription(event).format;
    this.#plainFormat = withoutChecksums(this.#format);
    this.#body.forgetMaps();
  }

  #plain(): BinlogFormat {
    return this.#plainFormat as BinlogFormat;
  }

  #rotate(event: Buffer, format: BinlogFormat): void {
    const { file, position } = decodeRotate(event, format);
    this.#file = file;
    this.#position = position;
  }
}

function kindOf(open: Open, ending: Transaction["ending"], rowEvents: number): TransactionKind {
  if (open.alter === "start") return "alter-start";
  if (open.alter === "rollback") return "alter-rollback";
  if (ending === "prepare") return "xa-prepare";
  if (open.xaEnd !== undefined) return open.xaEnd;
  if (open.statements > 0) return ending === "implicit" ? "ddl" : "mixed";
  if (rowEvents === 0) return "empty";
  // Its rows are to be undone where the target's engine can: nothing to pack with others.
  return ending === "rollback" ? "mixed" : "rows";
}

function endsTransactionally(last: Buffer): boolean {
  const type = eventType(last);
  return type === EVENT_TYPE.XID || type === EVENT_TYPE.XA_PREPARE;
}

/** A Query event's second field: whole seconds that it took, so that timestamp (its begin) and this give its end. */
function executionSeconds(event: Buffer, format: BinlogFormat): number {
  return eventType(event) === EVENT_TYPE.QUERY ? event.readUInt32LE(format.headerLength + 4) : 0;
}

/** SAVEPOINT itself changes nothing; ROLLBACK TO and RELEASE begin with R. */
function rollsBackToSavepoint(event: Buffer, format: BinlogFormat): boolean {
  return /^\s*R/i.test(event.toString("latin1", querySqlOffset(event, format), contentEnd(event, format)));
}
