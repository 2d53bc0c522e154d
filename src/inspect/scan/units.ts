import { fstatSync, readSync } from "node:fs";
import { ReplicationError } from "../../base/error.ts";
import { systemReason } from "../../base/system-error.ts";
import type { BinlogFormat } from "../../binlog/format.ts";
import { checkMagic, cutEvent, EventWalk, MAGIC_BYTES } from "./event-walk.ts";

/** A part of a file that one thread scans: whole transactions. */
export interface Unit {
  from: number;
  to: number;
  /** Of the description before it; undefined at the file's begin. */
  format: BinlogFormat | undefined;
  /** It is the last one, */
  endsFile: boolean;
  /** and this is why nothing follows. */
  fault: { offset: number; reason: string } | undefined;
}

/** Small enough that several threads end together, large enough that handing it over costs nothing. */
export const UNIT_BYTES = 2 << 20;
const BLOCK_BYTES = 1 << 20;

/** Cuts an open file into units, looking at the headers of its events only. Where depends on its bytes alone: any number of threads gives the same report. */
export function* unitsOf(descriptor: number): Generator<Unit> {
  const { size } = fstatSync(descriptor);
  const reader = new BlockReader(descriptor, size);
  const walk = new EventWalk();
  let at = 0;
  let from = 0;
  let format: BinlogFormat | undefined;
  let fault: Unit["fault"];
  try {
    reader.need(0, MAGIC_BYTES);
    checkMagic(reader.bytes.subarray(0, reader.end));
    at = from = MAGIC_BYTES;
    while (at < size) {
      const before = walk.format;
      const length = lookAt(walk, reader, at, size);
      if (walk.atBorder && at - from >= UNIT_BYTES) {
        yield { from, to: at, format, endsFile: true, fault };
        from = at;
        format = before;
      }
      if (at + length > size) throw cutEvent(size - at);
      at += length;
    }
  } catch (error) {
    if (!(error instanceof ReplicationError)) throw error;
    fault = { offset: at, reason: error.message };
  }
  yield { from, to: at, format, endsFile: true, fault };
}

function lookAt(walk: EventWalk, reader: BlockReader, at: number, size: number): number {
  let length = walk.look(reader.bytes, at - reader.base, reader.end);
  while (length < 0) {
    if (at - length > size) throw cutEvent(size - at);
    reader.need(at, -length);
    length = walk.look(reader.bytes, at - reader.base, reader.end);
  }
  return length;
}

/** A window on a file, which moves on. */
class BlockReader {
  readonly #descriptor: number;
  readonly #size: number;
  bytes = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  /** Offset in the file of `bytes[0]`. */
  base = 0;
  /** How many of `bytes` are there. */
  end = 0;

  constructor(descriptor: number, size: number) {
    this.#descriptor = descriptor;
    this.#size = size;
  }

  /** Moves the window to `at`, with `length` bytes in it as far as the file has them. */
  need(at: number, length: number): void {
    if (length > this.bytes.length) this.bytes = Buffer.allocUnsafeSlow(length);
    this.base = at;
    this.end = readFully(this.#descriptor, this.bytes, 0, Math.min(this.bytes.length, this.#size - at), at);
  }
}

/** Reads `length` bytes at `position` into `bytes` from `at` on. @returns how many there were @throws ReplicationError CORRUPT_EVENT */
export function readFully(descriptor: number, bytes: Buffer, at: number, length: number, position: number): number {
  let done = 0;
  try {
    while (done < length) {
      const count = readSync(descriptor, bytes, at + done, length - done, position + done);
      if (count === 0) break;
      done += count;
    }
  } catch (error) {
    throw new ReplicationError("CORRUPT_EVENT", `it cannot be read on: ${systemReason(error)}`, { cause: error });
  }
  return done;
}
