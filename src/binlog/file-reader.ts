import type { BinlogFormat } from "./format.ts";
import { assert } from "../base/assert.ts";
const todo = (): never => {
  assert(false, "not written yet");
};

export interface SplitterOptions {
  /** Offset in the file of the first byte fed: 0 (with magic) or an event's start (then `format` is needed). */
  offset?: number;
  format?: BinlogFormat;
  /** Check each event's CRC. Default true. */
  verify?: boolean;
  /** Longest event accepted, bytes. Default 1 GiB + header room. */
  eventBytesMax?: number;
}

/**
 * Cuts a binlog file into events as its bytes arrive. Give chunks to `feed`, take events with `next` until it says undefined, then feed again; at the
 * end of the file call `finish`. Faults are thrown as ReplicationError (CORRUPT_EVENT, ENCRYPTED, BINLOG_FORMAT) with the offset in `where.position`.
 */
export class BinlogFileSplitter {
  constructor(_options: SplitterOptions = {}) {
    todo();
  }
  feed(_chunk: Buffer): void {
    todo();
  }
  /** The next whole event (checksum still on it), or undefined when more bytes are needed. */
  next(): Buffer | undefined {
    return todo();
  }
  /** Offset in the file of the event `next` gave last, and of the byte after it. */
  get eventOffset(): number {
    return todo();
  }
  get endOffset(): number {
    return todo();
  }
  /** The format in force for the event `next` gave last; throws before the first event. */
  get format(): BinlogFormat {
    return todo();
  }
  /** Throws CORRUPT_EVENT when the bytes end in the middle of an event. */
  finish(): void {
    todo();
  }
}
