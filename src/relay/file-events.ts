import { open, type FileHandle } from "node:fs/promises";
import { crc32 } from "node:zlib";
import { ReplicationError } from "../base/error.ts";
import { checksumMatches } from "../binlog/checksum.ts";
import { EVENT_HEADER_LENGTH } from "../binlog/event.ts";
import { diskError, readFully } from "./disk.ts";
import { relayFileName, startOver, type RelayFiles } from "./files.ts";
import { BINLOG_MAGIC, decodePrologue, type Prologue } from "./prologue.ts";
import type { BlockSum } from "./writer.ts";

/** Bytes of one read, and of one batch: large enough for hundreds of events, small enough that a consumer's turn on one batch takes only milliseconds. */
const BATCH_BYTES = 256 << 10;

/**
 * Events of one relay file that lie one after another; `events[i]` starts at `offsets[i]` and ends at `ends[i]` there. The buffers are views: they stay valid, and keep
 * their chunk (about 1 MiB) alive as long as one of them is referenced.
 */
export interface RelayBatch {
  /** Number of the relay file. */
  file: number;
  events: Buffer[];
  offsets: number[];
  ends: number[];
}

/**
 * Cuts whole events out of bytes that lie at `offset` in the relay file. Stops before one that is not whole or damaged, or when the batch has about BATCH_BYTES.
 * @returns the offset after the last one
 * @throws ReplicationError RELAY_LOG when the very first one has a length that cannot be or, with `checksums`, a wrong one
 */
export function cutEvents(batch: RelayBatch, bytes: Buffer, offset: number, checksums: boolean): number {
  let at = 0;
  while (at + EVENT_HEADER_LENGTH <= bytes.length && at < BATCH_BYTES) {
    const length = bytes.readUInt32LE(at + 9);
    if (length < EVENT_HEADER_LENGTH) {
      if (at > 0) break;
      throw fault(batch.file, offset, `an event of ${length} bytes`);
    }
    if (at + length > bytes.length) break;
    const event = bytes.subarray(at, at + length);
    if (checksums && !checksumMatches(event)) {
      if (at > 0) break;
      throw fault(batch.file, offset, "an event with a wrong checksum");
    }
    batch.events.push(event);
    batch.offsets.push(offset + at);
    at += length;
    batch.ends.push(offset + at);
  }
  return offset + at;
}

function fault(file: number, position: number, what: string): ReplicationError {
  return new ReplicationError("RELAY_LOG", `the relay log is damaged: ${what}`, {
    where: { file: relayFileName(file), position },
  });
}

/** One relay file, open for reading. */
export class RelayFileEvents {
  readonly number: number;
  readonly prologue: Prologue;
  /** Where the events after the prologue begin. */
  readonly start: number;
  readonly #handle: FileHandle;
  readonly #checksums: boolean;
  readonly #hint: string;

  private constructor(number: number, handle: FileHandle, prologue: Prologue, start: number, hint: string) {
    this.number = number;
    this.prologue = prologue;
    this.start = start;
    this.#handle = handle;
    this.#checksums = prologue.format.checksum === "crc32";
    this.#hint = hint;
  }

  /** Reads the prologue. Throws RELAY_LOG when it is torn or the file is none of ours. */
  static async open(files: RelayFiles, number: number): Promise<RelayFileEvents> {
    const hint = startOver(files.folder);
    const where = { file: relayFileName(number) };
    let handle: FileHandle | undefined;
    try {
      handle = await open(files.path(number), "r");
      const { prologue, start } = await readPrologue(handle, number, files.find(number)?.bytes ?? 0);
      return new RelayFileEvents(number, handle, prologue, start, hint);
    } catch (error) {
      await handle?.close();
      throw withHint(diskError(error, "a relay file cannot be read", where), hint);
    }
  }

  /**
   * The next whole events from `offset`, none past `limit`; at least one. An event bigger than a chunk comes whole.
   * @throws ReplicationError RELAY_LOG, where the bytes are no event or its checksum is wrong
   */
  async read(offset: number, limit: number): Promise<RelayBatch> {
    const batch: RelayBatch = { file: this.number, events: [], offsets: [], ends: [] };
    try {
      let bytes = await readBytes(this.#handle, offset, Math.min(BATCH_BYTES, limit - offset));
      if (cutEvents(batch, bytes, offset, this.#checksums) > offset) return batch;
      const length = bytes.length < EVENT_HEADER_LENGTH ? EVENT_HEADER_LENGTH : bytes.readUInt32LE(9);
      if (offset + length > limit) {
        throw fault(this.number, offset, `an event of ${length} bytes where the file has ${limit - offset} more`);
      }
      bytes = await readBytes(this.#handle, offset, length);
      if (cutEvents(batch, bytes, offset, this.#checksums) > offset) return batch;
      throw fault(this.number, offset, "the file is shorter than it was");
    } catch (error) {
      const where = { file: relayFileName(this.number), position: offset };
      throw withHint(diskError(error, "the relay log cannot be read", where), this.#hint);
    }
  }

  /** What the file has where this process wrote a block of whole events; undefined when it is something else now. */
  async readBlock({ offset, end, crc }: BlockSum): Promise<Buffer | undefined> {
    try {
      const bytes = await readBytes(this.#handle, offset, end - offset);
      return crc32(bytes) === crc ? bytes : undefined;
    } catch (error) {
      const where = { file: relayFileName(this.number), position: offset };
      throw withHint(diskError(error, "the relay log cannot be read", where), this.#hint);
    }
  }

  /** Its size on disk; it may be deleted already. */
  async bytes(): Promise<number> {
    return (await this.#handle.stat()).size;
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

function withHint(error: ReplicationError, hint: string): ReplicationError {
  return new ReplicationError(error.code, error.message, { where: error.where, hint, cause: error.cause });
}

async function readBytes(handle: FileHandle, offset: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafeSlow(length);
  return bytes.subarray(0, await readFully(handle, bytes, offset));
}

async function readPrologue(
  handle: FileHandle,
  file: number,
  limit: number,
): Promise<{ prologue: Prologue; start: number }> {
  // A GTID set may be long; the rest of a prologue is not.
  for (let want = 64 << 10; ; want *= 8) {
    const bytes = await readBytes(handle, 0, Math.min(want, limit));
    if (!bytes.subarray(0, BINLOG_MAGIC.length).equals(BINLOG_MAGIC)) throw fault(file, 0, "no binlog file");
    const batch: RelayBatch = { file, events: [], offsets: [], ends: [] };
    cutEvents(batch, bytes.subarray(BINLOG_MAGIC.length), BINLOG_MAGIC.length, false);
    if (batch.events.length < 3 && bytes.length === want) continue;
    const found = decodePrologue(batch.events);
    if (found === undefined) throw fault(file, BINLOG_MAGIC.length, "the file's own first events are not there");
    const { prologue, count } = found;
    if (prologue.format.checksum === "crc32" && !batch.events.slice(0, count).every(checksumMatches)) {
      throw fault(file, BINLOG_MAGIC.length, "the file's own first events have a wrong checksum");
    }
    return { prologue, start: batch.ends[count - 1] as number };
  }
}
