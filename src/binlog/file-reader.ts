import { assert } from "../base/assert.ts";
import { ReplicationError } from "../base/error.ts";
import { checksumMatches, verifyChecksum } from "./checksum.ts";
import { EVENT_HEADER_LENGTH, eventType } from "./event.ts";
import { EVENT_TYPE, eventTypeName } from "./event-type.ts";
import { decodeFormatDescription } from "./events/format-description.ts";
import type { BinlogFormat } from "./format.ts";

export interface SplitterOptions {
  /** Offset in the file of the first byte fed: 0 (with magic) or an event's start (then `format` is needed). */
  offset?: number;
  format?: BinlogFormat;
  /** Check each event's CRC. Default true. */
  verify?: boolean;
  /** Longest event accepted, bytes. Default 1 GiB (max_log_event_size, binlog_event.h, MySQL 9) and what headers add to it. */
  eventBytesMax?: number;
}

const MAGIC = Buffer.from([0xfe, 0x62, 0x69, 0x6e]);
/** A file that MySQL 8.0.14 or later encrypts (sql/rpl_log_encryption.h). */
const ENCRYPTED_MAGIC = Buffer.from([0xfd, 0x62, 0x69, 0x6e]);
const EVENT_BYTES_MAX = 1024 * 1024 * 1024 + 64 * 1024;
/** Header of version 1: enough to know an event's type and length. */
const SHORTEST_HEADER = 13;

/**
 * Cuts a binlog file into events as its bytes arrive. Give chunks to `feed`, take events with `next` until it says undefined, then feed again; at the
 * end of the file call `finish`. Faults are thrown as ReplicationError (CORRUPT_EVENT, ENCRYPTED, BINLOG_FORMAT) with the offset in `where.position`.
 *
 * Invariant: `endOffset` is the offset of the first byte not given out, and every event before it was whole. After a fault nothing is given out any more: there is no
 * way to find the next event, and going on from a guess would apply garbage.
 */
export class BinlogFileSplitter {
  readonly #verify: boolean;
  readonly #eventBytesMax: number;
  #chunks: Buffer[] = [];
  /** Of the first chunk: bytes given out. */
  #used = 0;
  /** Bytes in all chunks not given out. */
  #waiting = 0;
  #eventOffset: number;
  #endOffset: number;
  #format: BinlogFormat | undefined;
  #encrypted = false;
  #fault: ReplicationError | undefined;

  constructor({ offset = 0, format, verify = true, eventBytesMax = EVENT_BYTES_MAX }: SplitterOptions = {}) {
    assert(offset === 0 || format !== undefined, "a file that is read from its middle needs its format");
    this.#verify = verify;
    this.#eventBytesMax = eventBytesMax;
    this.#eventOffset = offset;
    this.#endOffset = offset;
    this.#format = format;
  }

  /** The splitter keeps the chunk, and events may be views of it. */
  feed(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#chunks.push(chunk);
    this.#waiting += chunk.length;
  }

  /** The next whole event (checksum still on it), or undefined when more bytes are needed. */
  next(): Buffer | undefined {
    if (this.#fault !== undefined) throw this.#fault;
    try {
      if (this.#endOffset === 0 && !this.#takeMagic()) return undefined;
      return this.#takeEvent();
    } catch (error) {
      if (!(error instanceof ReplicationError)) throw error;
      this.#fault = error.at({ position: this.#endOffset });
      throw this.#fault;
    }
  }

  /** Offset in the file of the event that `next` gave last. */
  get eventOffset(): number {
    return this.#eventOffset;
  }

  /** Of the byte after it. */
  get endOffset(): number {
    return this.#endOffset;
  }

  /** The format in force for the events after the one that `next` gave last, and for that one too. */
  get format(): BinlogFormat {
    assert(this.#format !== undefined, "a file's format is known from its first event on");
    return this.#format;
  }

  /** Throws CORRUPT_EVENT when the bytes end in the middle of an event, or before any. */
  finish(): void {
    if (this.#fault !== undefined) throw this.#fault;
    if (this.#waiting === 0 && this.#endOffset > 0) return;
    const what =
      this.#endOffset === 0
        ? "the file ends before its first event"
        : `the file ends inside an event: ${this.#waiting} bytes of it are there`;
    this.#fault = new ReplicationError("CORRUPT_EVENT", what, {
      retry: "never",
      where: { position: this.#endOffset },
      hint: "the server died while it wrote the file, or the copy is cut: what is before this offset is whole",
    });
    throw this.#fault;
  }

  #takeMagic(): boolean {
    const bytes = this.#gather(MAGIC.length);
    if (bytes === undefined) return false;
    const magic = bytes.subarray(this.#used, this.#used + MAGIC.length);
    if (magic.equals(MAGIC)) {
      this.#give(bytes, MAGIC.length);
      return true;
    }
    if (magic.equals(ENCRYPTED_MAGIC)) throw encrypted();
    throw new ReplicationError(
      "BINLOG_FORMAT",
      "this is no binlog file: it does not begin with the four bytes of one",
      {
        hint: "give a binlog or relay log file, not its index",
      },
    );
  }

  #takeEvent(): Buffer | undefined {
    if (this.#encrypted && this.#waiting > 0) throw encrypted();
    const headerLength = this.#format?.headerLength ?? SHORTEST_HEADER;
    const header = this.#gather(headerLength);
    if (header === undefined) return undefined;
    const length = header.readUInt32LE(this.#used + 9);
    if (length < headerLength) throw damaged(`an event says it is ${length} bytes long, less than its header`);
    if (length > this.#eventBytesMax) throw damaged(`an event says it is ${length} bytes long`);
    const bytes = this.#gather(length);
    if (bytes === undefined) return undefined;
    const event = bytes.subarray(this.#used, this.#used + length);
    this.#adopt(event, eventType(event));
    this.#eventOffset = this.#endOffset;
    this.#give(bytes, length);
    return event;
  }

  /** Checks the event, and takes from it what tells how to read those behind it. */
  #adopt(event: Buffer, type: number): void {
    if (type === EVENT_TYPE.FORMAT_DESCRIPTION || type === EVENT_TYPE.START_V3) {
      const { format } = decodeFormatDescription(event);
      if (this.#verify && format.checksum === "crc32" && !checksumMatches(event)) verifyChecksum(event, format);
      this.#format = format;
      return;
    }
    if (this.#format === undefined) {
      throw new ReplicationError(
        "BINLOG_FORMAT",
        `the file begins with a ${eventTypeName(type, "mysql")} event instead of its format description`,
      );
    }
    if (event.length < EVENT_HEADER_LENGTH && this.#format.binlogVersion !== 1)
      throw damaged("an event has no whole header");
    if (this.#verify) verifyChecksum(event, this.#format);
    this.#encrypted = type === EVENT_TYPE.START_ENCRYPTION;
  }

  /** The chunk that has the next `length` bytes from `#used` on, in one piece; undefined when they are not all there. */
  #gather(length: number): Buffer | undefined {
    if (this.#waiting < length) return undefined;
    const first = this.#chunks[0] as Buffer;
    if (first.length - this.#used >= length) return first;
    // Join only as much as is needed, and once all is there: an event over many chunks is copied one time, and what follows it in the last of them not at all.
    let count = 1;
    let bytes = first.length - this.#used;
    while (bytes < length) bytes += (this.#chunks[count++] as Buffer).length;
    const last = this.#chunks[count - 1] as Buffer;
    const kept = last.subarray(last.length - (bytes - length));
    const parts = [first.subarray(this.#used), ...this.#chunks.slice(1, count)];
    const joined = Buffer.concat(parts, length);
    this.#chunks.splice(0, count, joined, ...(kept.length > 0 ? [kept] : []));
    this.#used = 0;
    return joined;
  }

  /** Counts the next `length` bytes of the first chunk as given out. */
  #give(first: Buffer, length: number): void {
    this.#used += length;
    this.#waiting -= length;
    this.#endOffset += length;
    if (this.#used === first.length) {
      this.#chunks.shift();
      this.#used = 0;
    }
  }
}

function damaged(what: string): ReplicationError {
  return new ReplicationError("CORRUPT_EVENT", what, {
    hint: "check the file with mysqlbinlog; what is before this offset is whole",
  });
}

function encrypted(): ReplicationError {
  return new ReplicationError("ENCRYPTED", "the file is encrypted from here on", {
    hint: "read it through the server that wrote it: give its URL instead of the file",
  });
}
