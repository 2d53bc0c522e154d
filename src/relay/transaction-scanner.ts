import { EVENT_TYPE } from "../binlog/event-type.ts";
import { eventFlags, eventType } from "../binlog/event.ts";
import { decodeGtidTagged } from "../binlog/events/gtid-tagged.ts";
import { decodeGtid } from "../binlog/events/gtid.ts";
import { decodeMariadbGtid } from "../binlog/events/mariadb-gtid.ts";
import type { BinlogFormat } from "../binlog/format.ts";
import { eventFact, step, type StreamState } from "../binlog/grammar.ts";
import { isCompressed, uncompressEvent } from "../binlog/uncompress.ts";
import type { TransactionId } from "../transaction/transaction.ts";
import type { Prologue } from "./prologue.ts";
import { SourceTracker } from "./source-tracker.ts";
import { boundaryOf, type TransactionBoundary } from "./state.ts";

/** Finds the transactions of one relay file by the stream's grammar, the same that decided the boundaries when the file was written. */
export class TransactionScanner {
  /** Where the source is after the events taken. */
  readonly tracker: SourceTracker;
  /** Of the transaction that was begun or ended last. */
  id: TransactionId = { kind: "anonymous" };
  readonly #format: BinlogFormat;
  #state: StreamState = "outside";

  constructor(prologue: Prologue) {
    this.#format = prologue.format;
    this.tracker = new SourceTracker(prologue.source);
  }

  /** Throws what the grammar and the decoders throw. */
  take(event: Buffer): TransactionBoundary {
    const plain = isCompressed(eventType(event)) ? uncompressEvent(event, this.#format) : event;
    const format = plain === event ? this.#format : { ...this.#format, checksum: "none" as const };
    const taken = step(this.#state, eventType(plain), eventFlags(plain), eventFact(plain, format));
    if (taken.role === "begin" || taken.role === "standalone") this.id = transactionId(event, this.#format);
    const boundary = boundaryOf(taken);
    this.#state = boundary === "inside" ? taken.state : "outside";
    this.tracker.take(event);
    return boundary;
  }
}

/** What the GTID event that begins a transaction calls it; anonymous for any other event. */
function transactionId(event: Buffer, format: BinlogFormat): TransactionId {
  const type = eventType(event);
  if (type === EVENT_TYPE.GTID || type === EVENT_TYPE.GTID_TAGGED) {
    const decoded = type === EVENT_TYPE.GTID ? decodeGtid(event, format) : decodeGtidTagged(event, format);
    return decoded.anonymous
      ? { kind: "anonymous" }
      : { kind: "mysql", uuid: decoded.uuid, tag: decoded.tag, gno: decoded.gno };
  }
  if (type === EVENT_TYPE.MARIADB_GTID) {
    const { domainId, serverId, sequence } = decodeMariadbGtid(event, format);
    return { kind: "mariadb", domainId, serverId, sequence };
  }
  return { kind: "anonymous" };
}
