import { ReplicationError } from "../../base/error.ts";
import { checksumMatches, CHECKSUM_LENGTH, withoutChecksums } from "../../binlog/checksum.ts";
import { EVENT_TYPE } from "../../binlog/event-type.ts";
import { EVENT_HEADER_LENGTH } from "../../binlog/event.ts";
import { decodeFormatDescription } from "../../binlog/events/format-description.ts";
import { MARIADB_GTID_FLAG, MARIADB_GTID_FLAGS_OFFSET } from "../../binlog/events/mariadb-gtid.ts";
import { isRowsType, ROWS_FLAG } from "../../binlog/events/rows.ts";
import { decodeTransactionPayload } from "../../binlog/events/transaction-payload.ts";
import type { BinlogFormat } from "../../binlog/format.ts";
import { type EventFact, step, type StreamState } from "../../binlog/grammar.ts";
import { queryVerb } from "../../binlog/query-verb.ts";
import { isCompressed, uncompressEvent } from "../../binlog/uncompress.ts";
import type { RangeFilter } from "../input/range.ts";
import { streamPayloadEvents } from "../../transaction/payload-stream.ts";
import { OpenTransaction } from "../summary/open-transaction.ts";
import type { PartSummary } from "../summary/part.ts";
import { PartBuilder } from "../summary/part-builder.ts";
import { idOf } from "../summary/gtid-name.ts";
import { RowKeys } from "../summary/row-keys.ts";
import { u16, u32 } from "./bytes.ts";
import { readGtid } from "./gtid-event.ts";
import { readStatement } from "./query-event.ts";
import { RowsEventScanner, tableIdAt } from "./rows-event.ts";
import type { SchemaKeys } from "./scan-table.ts";
import { ScanTables } from "./scan-tables.ts";

export interface ScannerOptions {
  /** By `schema.table`. */
  schema: ReadonlyMap<string, SchemaKeys> | undefined;
  verifyChecksums: boolean;
  /** Only these transactions count. */
  range?: RangeFilter | undefined;
}

/** The servers' own limit of one event is max_allowed_packet (1 GiB) and its header. */
const EVENT_BYTES_MAX = 1024 * 1024 * 1024 + 64 * 1024;
/** A row event with this table id changes nothing (`sql/log_event.cc`, dummy_event). */
const DUMMY_TABLE_ID = 0xff_ff_ff;
const OLD_TABLE_ID_POST_HEADER = 6;
const QUERY_EXECUTION_TIME_OFFSET = 4;
/** Of the length field of a header. */
const LENGTH_END = 13;

/**
 * Counts what is in the events of a part of a log, where they lie.
 *
 * Invariant: a part begins between two transactions. Within it nothing is made per event: fields are read in place, and only what is to be shown becomes an object.
 * That is what its speed comes from.
 */
export class Scanner {
  readonly #options: ScannerOptions;
  readonly #keys = new RowKeys();
  readonly #rows = new RowsEventScanner();
  readonly #tables: ScanTables;
  readonly #open = new OpenTransaction();
  #part: PartBuilder;
  #file = "";
  #fileNumber = 0;
  #format: BinlogFormat | undefined;
  #state: StreamState = "outside";
  /** Behind a fault: no transaction is followed until the next one begins. */
  #isLost = false;
  /** Offset in the file of the first of the bytes that are scanned. */
  #base = 0;
  /** Where the last transaction that began lies, seen from the range. */
  #place: "before" | "inside" | "past";
  #bytes: Buffer = Buffer.alloc(0);
  #view: DataView = new DataView(new ArrayBuffer(0));

  constructor(options: ScannerOptions) {
    this.#options = options;
    this.#tables = new ScanTables(options.schema);
    this.#part = new PartBuilder(0, "", this.#keys);
    this.#place = options.range === undefined ? "inside" : "before";
  }

  /** Begins a part. `format`: of the description before it; undefined at a file's begin. */
  begin(file: { number: number; name: string }, format: BinlogFormat | undefined): void {
    this.#fileNumber = file.number;
    this.#file = file.name;
    this.#format = format;
    this.#state = "outside";
    this.#isLost = false;
    this.#newPart();
  }

  #newPart(): void {
    this.#part = new PartBuilder(this.#fileNumber, this.#file, this.#keys);
    this.#tables.begin(this.#part);
    this.#open.number = 0;
    this.#setFormat(this.#format);
  }

  /** Behind the range: nothing more counts. */
  get isOver(): boolean {
    return this.#place === "past";
  }

  /** Ends the part. `endsFile`: nothing follows that could end an open transaction. */
  end(endsFile: boolean): PartSummary {
    if (this.#place === "before") this.#newPart();
    if (this.#state !== "outside" && endsFile && this.#place !== "past") {
      this.#part.fault(this.#open.offset, "the file ends inside a transaction that begins here");
    }
    return this.#part.summary();
  }

  /** A fault that was met outside: what cannot be told apart into events. */
  fault(offset: number, reason: string): void {
    this.#part.fault(offset, reason);
  }

  /**
   * Scans the events in `[from, to)` of `bytes`, whose lengths are known to be possible. `base`: offset in the file of `bytes[0]`.
   * @returns where the first one begins that is not whole
   */
  scan(bytes: Buffer, from: number, to: number, base: number): number {
    this.#base = base;
    this.#setBytes(bytes);
    let at = from;
    while (at + LENGTH_END <= to && this.#place !== "past") {
      const next = at + u32(bytes, at + LENGTH_END - 4);
      if (next > to) break;
      this.#event(at, next);
      at = next;
    }
    return at;
  }

  #setBytes(bytes: Buffer): void {
    if (bytes === this.#bytes) return;
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** One event of the file. */
  #event(at: number, next: number): void {
    const bytes = this.#bytes;
    const type = bytes[at + 4] as number;
    this.#count(type, next - at, 1);
    const wasLost = this.#isLost;
    const fault = this.#read(at, next, type);
    // What does not belong to the transaction before it may be the first event of the next one.
    const isPlain = type !== EVENT_TYPE.TRANSACTION_PAYLOAD && !isCompressed(type);
    if (fault?.code === "GRAMMAR" && this.#format !== undefined && !wasLost && isPlain) {
      this.#part.unpackedBytes -= next - at;
      this.#read(at, next, type);
    }
  }

  #read(at: number, next: number, type: number): ReplicationError | undefined {
    const length = next - at;
    try {
      if (type === EVENT_TYPE.FORMAT_DESCRIPTION || type === EVENT_TYPE.START_V3) this.#describe(at, next);
      const format = this.#format;
      if (format === undefined) throw new ReplicationError("GRAMMAR", "there is no format description before it");
      if (this.#options.verifyChecksums) this.#verify(at, next, format);
      if (type === EVENT_TYPE.TRANSACTION_PAYLOAD) this.#payload(at, next, format);
      else if (isCompressed(type)) this.#compressed(at, next, format);
      else this.#plain(at, next, format, this.#base + at, length, length);
      return undefined;
    } catch (error) {
      if (!(error instanceof ReplicationError)) throw error;
      this.#failed(error, this.#base + at);
      return error;
    }
  }

  #failed(error: ReplicationError, offset: number): void {
    // Lost already, and this was no beginning: one fault is told once.
    if (!this.#isLost) this.#part.fault(offset, error.message);
    this.#isLost = true;
    this.#state = "outside";
  }

  #describe(at: number, next: number): void {
    this.#setFormat(decodeFormatDescription(this.#bytes.subarray(at, next)).format);
  }

  #setFormat(format: BinlogFormat | undefined): void {
    this.#format = format;
    if (format === undefined) return;
    this.#tables.setFormat(format);
    this.#part.serverVersion = format.serverVersion;
    this.#part.flavour = format.flavour;
    this.#part.checksum = format.checksum;
  }

  #verify(at: number, next: number, format: BinlogFormat): void {
    if (format.checksum === "crc32" && !checksumMatches(this.#bytes.subarray(at, next))) {
      throw new ReplicationError("CORRUPT_EVENT", "the event's checksum is wrong");
    }
  }

  /** What is in a compressed transaction counts as if it stood there. */
  #payload(at: number, next: number, format: BinlogFormat): void {
    const [bytes, base] = [this.#bytes, this.#base];
    const offset = base + at;
    if (this.#state === "outside" && !this.#isLost) {
      throw new ReplicationError("GRAMMAR", "a compressed transaction came without its GTID");
    }
    this.#plain(at, next, format, offset, next - at, 0);
    if (this.#isLost) return;
    const payload = decodeTransactionPayload(bytes.subarray(at, next), format);
    const plain = withoutChecksums(format);
    const part = this.#part;
    try {
      for (const event of streamPayloadEvents(payload, EVENT_BYTES_MAX)) {
        const type = event[4] as number;
        part.eventsByType[type] = (part.eventsByType[type] as number) + 1;
        part.bytesByType[type] = (part.bytesByType[type] as number) + event.length;
        this.#setBytes(event);
        this.#plain(0, event.length, plain, offset, 0, event.length);
      }
    } finally {
      this.#setBytes(bytes);
    }
  }

  #compressed(at: number, next: number, format: BinlogFormat): void {
    const bytes = this.#bytes;
    const event = uncompressEvent(bytes.subarray(at, next), format, EVENT_BYTES_MAX);
    try {
      this.#setBytes(event);
      this.#plain(0, event.length, withoutChecksums(format), this.#base + at, next - at, event.length);
    } finally {
      this.#setBytes(bytes);
    }
  }

  /** `offset`: in the file. `length`: what it counts for there; `unpacked`: what it is. */
  #plain(at: number, next: number, format: BinlogFormat, offset: number, length: number, unpacked: number): void {
    const bytes = this.#bytes;
    const type = bytes[at + 4] as number;
    const body = at + format.headerLength;
    const end = format.checksum === "crc32" ? next - CHECKSUM_LENGTH : next;
    if (body > end) throw new ReplicationError("CORRUPT_EVENT", "an event has no room for its checksum");
    this.#part.unpackedBytes += unpacked;
    const fact = this.#fact(type, body, end, format);
    const flags = format.headerLength >= EVENT_HEADER_LENGTH ? u16(bytes, at + 17) : 0;
    if (this.#isLost) {
      if (!begins(type, fact)) {
        // Rows are counted also where it is not known which transaction they belong to.
        this.#content(type, body, end, next);
        return;
      }
      this.#isLost = false;
    }
    const { state, role, content, ending } = step(this.#state, type, flags, fact);
    this.#state = state;
    if (role === "control") return;
    const open = this.#open;
    if (role === "begin" || role === "standalone") {
      open.begin(offset);
      readGtid(bytes, at, body, end, type, format, open);
      const { range } = this.#options;
      if (range !== undefined && !this.#mayEnter(range, at, length, unpacked)) return;
    }
    open.bytes += length;
    open.unpackedBytes += unpacked;
    if (open.beganAt === 0 && (role !== "begin" || type === EVENT_TYPE.QUERY)) open.beganAt = u32(bytes, at);
    if (content) {
      if (isRowsType(type) || type === EVENT_TYPE.TABLE_MAP) this.#content(type, body, end, next);
      else if (fact === "statement" || fact === "none")
        readStatement(bytes, type, at, next, format, this.#part, open, this.#file);
    }
    if (ending !== undefined) {
      const took =
        ending === "implicit" && type === EVENT_TYPE.QUERY ? u32(bytes, body + QUERY_EXECUTION_TIME_OFFSET) : 0;
      this.#part.transaction(open, u32(bytes, at) + took);
    }
  }

  /**
   * Asks the range at a transaction's begin. What was counted before the range is thrown away when it begins; the first event behind its end is taken back.
   * @returns whether the transaction is to be read
   */
  #mayEnter(range: RangeFilter, at: number, length: number, unpacked: number): boolean {
    const open = this.#open;
    const type = this.#bytes[at + 4] as number;
    const committedAtUs = open.committedAtUs === 0 ? u32(this.#bytes, at) * 1_000_000 : open.committedAtUs;
    const before = this.#place;
    this.#place = range.take({ id: idOf(open), start: { file: this.#file, position: open.offset }, committedAtUs });
    if (before === "before" && this.#place === "past") {
      this.#newPart();
      this.#state = "outside";
      return false;
    }
    if (before === "before" && this.#place === "inside") {
      this.#newPart();
      open.number = 1;
      this.#count(type, length, 1);
      this.#part.unpackedBytes += unpacked;
    } else if (this.#place === "past") {
      this.#count(type, length, -1);
      this.#part.unpackedBytes -= unpacked;
      this.#state = "outside";
      return false;
    }
    return true;
  }

  #count(type: number, length: number, events: 1 | -1): void {
    const part = this.#part;
    part.bytes += events * length;
    part.eventsByType[type] = (part.eventsByType[type] as number) + events;
    part.bytesByType[type] = (part.bytesByType[type] as number) + events * length;
  }

  /** What the grammar must know of an event beside its type. */
  #fact(type: number, body: number, end: number, format: BinlogFormat): EventFact {
    const bytes = this.#bytes;
    if (type === EVENT_TYPE.QUERY) return queryVerb(bytes, sqlOffset(bytes, type, body, end, format), end);
    if (isRowsType(type)) {
      const width = format.postHeaderLengths[type] === OLD_TABLE_ID_POST_HEADER ? 4 : 6;
      return (u16(bytes, body + width) & ROWS_FLAG.STATEMENT_END) === 0 ? "none" : "statement-end";
    }
    if (type === EVENT_TYPE.MARIADB_GTID) {
      const flags = bytes[body + MARIADB_GTID_FLAGS_OFFSET] as number;
      return (flags & MARIADB_GTID_FLAG.STANDALONE) === 0 ? "gtid-group" : "gtid-standalone";
    }
    if (type === EVENT_TYPE.XA_PREPARE) return bytes[body] === 0 ? "two-phase" : "one-phase";
    return "none";
  }

  #content(type: number, body: number, end: number, next: number): void {
    const format = this.#format;
    if (format === undefined) return;
    const bytes = this.#bytes;
    if (type === EVENT_TYPE.TABLE_MAP) {
      this.#tables.map(bytes, this.#view, body, end, next);
      return;
    }
    if (!isRowsType(type)) return;
    const width = format.postHeaderLengths[type] === OLD_TABLE_ID_POST_HEADER ? 4 : 6;
    const tableId = tableIdAt(bytes, body, width);
    if (tableId === DUMMY_TABLE_ID) return;
    const table = this.#tables.get(tableId);
    const { counts } = table;
    const open = this.#open;
    if (counts.lastTransaction !== open.number) {
      counts.lastTransaction = open.number;
      open.tables.push(table);
    }
    counts.bytes += next - body + format.headerLength;
    open.rows += this.#rows.scan(bytes, this.#view, type, body + width, end, table, this.#part, open.number);
  }
}

/** Whether a transaction begins here whatever came before: with a GTID, or with BEGIN where there are none. */
function begins(type: number, fact: EventFact): boolean {
  return (
    type === EVENT_TYPE.GTID ||
    type === EVENT_TYPE.ANONYMOUS_GTID ||
    type === EVENT_TYPE.GTID_TAGGED ||
    type === EVENT_TYPE.MARIADB_GTID ||
    fact === "begin"
  );
}

const QUERY_POST_HEADER = 13;
const OLD_QUERY_POST_HEADER = 11;

/** Where a Query event's statement begins, as querySqlOffset has it (binlog/events/query.ts). */
function sqlOffset(bytes: Buffer, type: number, body: number, end: number, format: BinlogFormat): number {
  const told = format.postHeaderLengths[type] ?? 0;
  const postHeader = told === 0 ? QUERY_POST_HEADER : told;
  const statusLength = postHeader > OLD_QUERY_POST_HEADER ? u16(bytes, body + 11) : 0;
  const offset = body + postHeader + statusLength + (bytes[body + 8] as number) + 1;
  if (!(offset <= end)) throw new ReplicationError("CORRUPT_EVENT", "a query has no room for its statement");
  return offset;
}
