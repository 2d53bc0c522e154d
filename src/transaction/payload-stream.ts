import { Decompress } from "fzstd";
import { ReplicationError } from "../base/error.ts";
import { EVENT_HEADER_LENGTH } from "../binlog/event.ts";
import type { TransactionPayloadEvent } from "../binlog/events/transaction-payload.ts";

/** Compressed bytes given to the decompressor at a time: what comes out of one slice is in memory, and 4 bytes can stand for a block of 128 KiB. 64 MiB at most. */
const SLICE_BYTES = 2 * 1024;

/**
 * The events inside a compressed payload, one after another, without holding all of them: memory is the decompressor's window, one slice's output and one event.
 * `eventBytesMax` guards against a length that is no length.
 */
export function* streamPayloadEvents(payload: TransactionPayloadEvent, eventBytesMax: number): Generator<Buffer> {
  const splitter = new InnerSplitter(eventBytesMax);
  if (payload.compression === "none") {
    splitter.feed(payload.payload);
    yield* splitter.events();
  } else {
    const pieces: Uint8Array[] = [];
    const decompress = new Decompress((piece) => pieces.push(piece));
    for (let at = 0; at < payload.payload.length; at += SLICE_BYTES) {
      const slice = payload.payload.subarray(at, at + SLICE_BYTES);
      try {
        decompress.push(slice, at + SLICE_BYTES >= payload.payload.length);
      } catch (cause) {
        throw corrupt("its zstd data is broken", cause);
      }
      for (const piece of pieces.splice(0)) {
        splitter.feed(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength));
        yield* splitter.events();
      }
    }
  }
  if (splitter.pendingBytes > 0) throw corrupt("its last event is cut");
}

/** Cuts a byte stream at the lengths in the event headers. An event inside one piece is a view of it; one across pieces is copied once. */
class InnerSplitter {
  readonly #eventBytesMax: number;
  #pieces: Buffer[] = [];
  pendingBytes = 0;

  constructor(eventBytesMax: number) {
    this.#eventBytesMax = eventBytesMax;
  }

  feed(piece: Buffer): void {
    if (piece.length === 0) return;
    this.#pieces.push(piece);
    this.pendingBytes += piece.length;
  }

  *events(): Generator<Buffer> {
    while (this.pendingBytes >= EVENT_HEADER_LENGTH) {
      const length = this.#joined(EVENT_HEADER_LENGTH).readUInt32LE(9);
      if (length < EVENT_HEADER_LENGTH || length > this.#eventBytesMax)
        throw corrupt(`an event in it has length ${length}`);
      if (this.pendingBytes < length) return;
      const first = this.#joined(length);
      this.pendingBytes -= length;
      if (first.length === length) this.#pieces.shift();
      else this.#pieces[0] = first.subarray(length);
      yield first.subarray(0, length);
    }
  }

  /** The first piece, after joining as many as `bytes` needs. */
  #joined(bytes: number): Buffer {
    let first = this.#pieces[0] as Buffer;
    if (first.length >= bytes) return first;
    let count = 0;
    for (let held = 0; held < bytes; count++) held += (this.#pieces[count] as Buffer).length;
    first = Buffer.concat(this.#pieces.slice(0, count));
    this.#pieces.splice(0, count, first);
    return first;
  }
}

function corrupt(what: string, cause?: unknown): ReplicationError {
  return new ReplicationError("CORRUPT_EVENT", `a compressed transaction cannot be read: ${what}`, { cause });
}
