import { type ErrorCode, ReplicationError } from "../../base/error.ts";
import { withoutChecksums } from "../../binlog/checksum.ts";
import { EVENT_TYPE } from "../../binlog/event-type.ts";
import { eventFlags, eventTimestamp, eventType } from "../../binlog/event.ts";
import { decodeFormatDescription } from "../../binlog/events/format-description.ts";
import { decodeGtid } from "../../binlog/events/gtid.ts";
import { decodeGtidTagged } from "../../binlog/events/gtid-tagged.ts";
import { decodeMariadbGtid } from "../../binlog/events/mariadb-gtid.ts";
import { querySqlOffset } from "../../binlog/events/query.ts";
import { decodeRotate } from "../../binlog/events/rotate.ts";
import { isRowsType } from "../../binlog/events/rows.ts";
import { decodeTransactionPayload } from "../../binlog/events/transaction-payload.ts";
import { BinlogFileSplitter } from "../../binlog/file-reader.ts";
import type { BinlogFormat } from "../../binlog/format.ts";
import { type EventFact, eventFact, step, type StreamState } from "../../binlog/grammar.ts";
import { nextSourcePosition } from "../../binlog/source-position.ts";
import { isCompressed, uncompressEvent } from "../../binlog/uncompress.ts";
import { EVENT_BYTES_MAX } from "../../transaction/body.ts";
import { streamPayloadEvents } from "../../transaction/payload-stream.ts";
import type { SourcePosition, Transaction, TransactionId } from "../../transaction/transaction.ts";
import type { BinlogInput, Fault } from "../input/input.ts";
import { type Bound, type Range, RangeFilter } from "../input/range.ts";
import { begins } from "../input/transactions.ts";

/** What is known of a transaction when its first event was read. */
export interface TransactionHead {
  id: TransactionId;
  start: SourcePosition;
  /** As its first event tells it: the commit where the server says so there (MySQL 8.0, GTIDs), else when that event was written. */
  committedAtUs: number;
}

/** Takes the content of transactions as it is read. Events are plain ones and valid only during the call. */
export interface TransactionSink {
  begin(head: TransactionHead): void;
  /** Behind this the transaction holds any number of statements and rows; without it, it is one statement. `xid`: it is an XA transaction, or may become one. */
  opened(xid: string | undefined): void;
  tableMap(event: Buffer, format: BinlogFormat): void;
  rows(event: Buffer, format: BinlogFormat): void;
  /** QUERY and EXECUTE_LOAD_QUERY, and what stands before them in the log for their sake. */
  statement(event: Buffer, format: BinlogFormat, fact: EventFact): void;
  end(ending: Transaction["ending"]): void;
  /** What was begun is no transaction: the log breaks off in it. */
  abandon(): void;
  /** The server counts table ids anew. */
  restart(): void;
  /** Called often, between events: the place to wait for whoever takes the output. `idle`: nothing more to read right now. */
  flush(idle: boolean): Promise<void> | undefined;
}

export interface ReadOptions {
  range?: Range;
  onFault: (fault: Fault) => void;
  /** Uncompressed bytes read since the last call. */
  onBytes?: (bytes: number) => void;
}

const FIRST_EVENT = 4;
const NO_RANGE: Range = { from: undefined, to: undefined };

/** What a sink cannot do for its own sake, whatever is in the log: it is no fault of the log, and ends the reading. */
class SinkFailure extends Error {}

/** Of our disk and our output; nothing that is wrong with a log is told so. */
const SINK_CODES: ReadonlySet<ErrorCode> = new Set(["DISK_FULL", "OUTPUT"]);

/**
 * Reads transactions event by event, holding none: a transaction of any size passes through. What cannot be read is told to `onFault`; reading goes on at the next
 * transaction, or at the next file. What `sink` cannot do (DISK_FULL, OUTPUT, or anything that `flush` fails with) is thrown.
 * @returns the bound that names a transaction or place which never came
 */
export async function readTransactions(
  inputs: readonly BinlogInput[],
  options: ReadOptions,
  sink: TransactionSink,
): Promise<Bound | undefined> {
  const filter = new RangeFilter(
    options.range ?? NO_RANGE,
    inputs.map(({ name }) => name),
  );
  try {
    for (const input of inputs) {
      if (filter.isOver) break;
      if (!filter.skipsFile(input.name)) await new FileReader(input, filter, options, sink).read();
    }
  } catch (error) {
    throw error instanceof SinkFailure ? error.cause : error;
  }
  return filter.missing;
}

/** One input. Positions, table ids and what is open begin anew with it. */
class FileReader {
  readonly #input: BinlogInput;
  readonly #filter: RangeFilter;
  readonly #options: ReadOptions;
  readonly #sink: TransactionSink;
  #state: StreamState = "outside";
  #format: BinlogFormat | undefined;
  #plain: BinlogFormat | undefined;
  #file: string;
  #position = FIRST_EVENT;
  /** A transaction is open, and inside the range. */
  #wanted = false;
  #opened = false;
  /** Looking for the next transaction behind a fault. */
  #isLost = false;

  constructor(input: BinlogInput, filter: RangeFilter, options: ReadOptions, sink: TransactionSink) {
    this.#input = input;
    this.#filter = filter;
    this.#options = options;
    this.#sink = sink;
    this.#file = input.name;
  }

  async read(): Promise<void> {
    const splitter = new BinlogFileSplitter({ verify: false });
    try {
      for await (const chunk of this.#input.chunks()) {
        this.#options.onBytes?.(chunk.length);
        splitter.feed(chunk);
        for (let event = splitter.next(); event !== undefined; event = splitter.next()) {
          const waits = this.#event(event, splitter);
          if (waits !== undefined) await waits;
          if (this.#isOver()) return;
        }
        await this.#flush(true);
      }
      splitter.finish();
    } catch (error) {
      if (!(error instanceof ReplicationError)) throw error;
      this.#abandon();
      this.#fault(error, error.where.position ?? splitter.endOffset);
    } finally {
      this.#abandon();
    }
  }

  #isOver(): boolean {
    return this.#state === "outside" && this.#filter.isOver;
  }

  #event(event: Buffer, splitter: BinlogFileSplitter): Promise<void> | undefined {
    try {
      const payload = this.#push(event);
      return payload === undefined ? this.#flush(false) : this.#payload(payload, splitter.eventOffset);
    } catch (error) {
      const wasLost = this.#isLost;
      this.#lose(error, splitter.eventOffset);
      // What does not belong to the transaction before it may be the first event of the next one.
      const brokeOff = !wasLost && error instanceof ReplicationError && error.code === "GRAMMAR";
      return brokeOff && this.#format !== undefined ? this.#event(event, splitter) : undefined;
    }
  }

  async #payload(events: Iterable<Buffer>, offset: number): Promise<void> {
    try {
      for (const event of events) {
        this.#take(event, this.#plainFormat());
        await this.#flush(false);
      }
    } catch (error) {
      this.#lose(error, offset);
    }
  }

  #flush(idle: boolean): Promise<void> | undefined {
    return this.#sink.flush(idle)?.catch((error: unknown) => {
      throw sinkFailure(error);
    });
  }

  #lose(error: unknown, offset: number): void {
    if (!(error instanceof ReplicationError)) throw error;
    if (SINK_CODES.has(error.code)) throw sinkFailure(error);
    this.#abandon();
    if (!this.#isLost) this.#fault(error, offset);
    this.#isLost = true;
    this.#state = "outside";
  }

  #fault(error: ReplicationError, offset: number): void {
    this.#options.onFault({ file: this.#file, offset, reason: error.message });
  }

  /** The events inside, when it is a compressed transaction. */
  #push(event: Buffer): Iterable<Buffer> | undefined {
    const type = eventType(event);
    const isDescription = type === EVENT_TYPE.FORMAT_DESCRIPTION || type === EVENT_TYPE.START_V3;
    this.#position = nextSourcePosition(this.#position, event);
    if (isDescription) {
      this.#format = decodeFormatDescription(event).format;
      this.#plain = withoutChecksums(this.#format);
      this.#sink.restart();
    }
    const format = this.#format;
    if (format === undefined) throw new ReplicationError("GRAMMAR", "the file has no format description");
    if (this.#isLost && !isDescription && !begins(event, format)) return undefined;
    if (!isDescription) this.#isLost = false;
    if (type === EVENT_TYPE.TRANSACTION_PAYLOAD) {
      this.#take(event, format);
      return streamPayloadEvents(decodeTransactionPayload(event, format), EVENT_BYTES_MAX);
    }
    if (isCompressed(type))
      this.#take(uncompressEvent(event, format, EVENT_BYTES_MAX), this.#plainFormat(), event.length);
    else this.#take(event, format, event.length);
    if (type === EVENT_TYPE.ROTATE) {
      const next = decodeRotate(event, format);
      this.#file = next.file;
      this.#position = next.position;
    }
    return undefined;
  }

  #plainFormat(): BinlogFormat {
    return this.#plain as BinlogFormat;
  }

  #take(event: Buffer, format: BinlogFormat, bytes = 0): void {
    const type = eventType(event);
    const fact = eventFact(event, format);
    const { state, role, content, ending, abandons } = step(this.#state, type, eventFlags(event), fact);
    this.#state = state;
    if (abandons) this.#abandon();
    const sink = this.#sink;
    let xid: string | undefined;
    if (role === "begin" || role === "standalone") xid = this.#begin(event, format, bytes);
    if (!this.#wanted) return;
    if (!this.#opened && (state === "transaction" || state === "xa")) {
      this.#opened = true;
      sink.opened(fact === "xa-start" ? xaIdOf(event, format) : xid);
    }
    if (content) {
      if (type === EVENT_TYPE.TABLE_MAP) sink.tableMap(event, format);
      else if (isRowsType(type)) sink.rows(event, format);
      else sink.statement(event, format, fact);
    }
    if (ending !== undefined) {
      this.#wanted = false;
      sink.end(ending);
    }
  }

  /** The XA identifier that MariaDB's GTID event has. */
  #begin(event: Buffer, format: BinlogFormat, bytes: number): string | undefined {
    const type = eventType(event);
    const head: TransactionHead = {
      id: { kind: "anonymous" },
      start: { file: this.#file, position: this.#position - bytes },
      committedAtUs: eventTimestamp(event) * 1_000_000,
    };
    let xid: string | undefined;
    if (type === EVENT_TYPE.GTID || type === EVENT_TYPE.ANONYMOUS_GTID || type === EVENT_TYPE.GTID_TAGGED) {
      const gtid = type === EVENT_TYPE.GTID_TAGGED ? decodeGtidTagged(event, format) : decodeGtid(event, format);
      if (!gtid.anonymous) head.id = { kind: "mysql", uuid: gtid.uuid, tag: gtid.tag, gno: gtid.gno };
      if (gtid.originalCommitUs > 0) head.committedAtUs = gtid.originalCommitUs;
    } else if (type === EVENT_TYPE.MARIADB_GTID) {
      const { domainId, serverId, sequence, xa, ...rest } = decodeMariadbGtid(event, format);
      head.id = { kind: "mariadb", domainId, serverId, sequence };
      if (xa === "prepare") ({ xid } = rest);
    }
    this.#opened = false;
    this.#wanted = this.#filter.take(head) === "inside";
    if (this.#wanted) this.#sink.begin(head);
    return xid;
  }

  #abandon(): void {
    if (this.#wanted) this.#sink.abandon();
    this.#wanted = false;
  }
}

const sinkFailure = (cause: unknown): SinkFailure => new SinkFailure("", { cause });

/** Of `XA START X'31',X'',1`. */
function xaIdOf(event: Buffer, format: BinlogFormat): string | undefined {
  const end = event.length - (format.checksum === "crc32" ? 4 : 0);
  return /^\s*XA\s+(?:START|BEGIN)\s+(.*?)[\s;]*$/is.exec(
    event.toString("latin1", querySqlOffset(event, format), end),
  )?.[1];
}
