import { assert } from "../base/assert.ts";
import { ReplicationError } from "../base/error.ts";
import type { RelayPosition } from "../transaction/transaction.ts";
import { cutEvents, RelayFileEvents, type RelayBatch } from "./file-events.ts";
import { relayFileName, startOver, type RelayFile, type RelayFiles } from "./files.ts";
import { BINLOG_MAGIC, encodeRotate } from "./prologue.ts";
import { SourceTracker } from "./source-tracker.ts";
import type { RelayWriter } from "./writer.ts";

export type { RelayBatch } from "./file-events.ts";

/** What the process that reads has written itself: bytes from an offset on that are still in memory, and sums of what is on disk only. */
type Written = Pick<RelayWriter, "recent" | "sumAt">;

/**
 * Reads events in order and waits at the end for more. The first batch, and the first batch of each file, begins with the file's own events:
 * FORMAT_DESCRIPTION, Previous_gtids or Gtid_list (when GTIDs are known and reading begins at the file's start), and an artificial Rotate that names the source's file and
 * position at which the events after it go on. So a consumer may start anywhere; to it an artificial Rotate inside a transaction means: what came of that
 * transaction is void, it will come again from its start (the connection was lost in its middle).
 *
 * Invariant: only written bytes are given out. What is appended but not written could still be refused by the disk, and the applier would be ahead of the log.
 */
export class RelayReader {
  readonly #files: RelayFiles;
  readonly #written: Written | undefined;
  /** Where a range ends. */
  readonly #to: RelayPosition | undefined;
  /** Where to begin, until reading has begun. */
  #from: RelayPosition | undefined;
  #file: RelayFileEvents | undefined;
  /** The file that is or was read last. */
  #number = 0;
  #offset = 0;
  /** A block of `#file` that was read and has its sum. */
  #block: { offset: number; bytes: Buffer } | undefined;
  #closed = false;
  #busy = false;

  constructor(files: RelayFiles, written: Written | undefined, from: RelayPosition | undefined, to?: RelayPosition) {
    assert(to === undefined || from?.file === to.file, "a range lies in one relay file");
    this.#files = files;
    this.#written = written;
    this.#from = from;
    this.#to = to;
  }

  /** The next events, at least one; undefined once closed, or when a range is at its end. One call at a time. Throws ReplicationError RELAY_LOG. */
  async next(): Promise<RelayBatch | undefined> {
    assert(!this.#busy, "a reader has one next at a time");
    this.#busy = true;
    try {
      while (!this.#isOver() && !this.#isRangeDone()) {
        const batch = await (this.#file === undefined ? this.#enterFile() : this.#readFile(this.#file));
        if (batch !== undefined && !this.#isOver()) return batch;
      }
      return undefined;
    } finally {
      this.#busy = false;
      if (this.#isOver()) await this.#leaveFile();
    }
  }

  /** Ends a waiting `next` with undefined. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#files.wake();
    if (!this.#busy) await this.#leaveFile();
  }

  #isOver(): boolean {
    return this.#closed || this.#files.isClosed;
  }

  #isRangeDone(): boolean {
    return this.#to !== undefined && this.#file !== undefined && this.#offset >= this.#to.offset;
  }

  /** Gives a batch only when reading begins in the middle of the file: what a consumer must know of the part before. */
  async #enterFile(): Promise<RelayBatch | undefined> {
    const next = this.#nextFile();
    if (next === undefined) {
      await this.#files.changed();
      return undefined;
    }
    this.#file = await RelayFileEvents.open(this.#files, next.number);
    this.#number = next.number;
    const from = this.#from;
    this.#from = undefined;
    if (this.#to === undefined && (from === undefined || from.offset <= this.#file.start)) {
      this.#offset = BINLOG_MAGIC.length;
      return undefined;
    }
    this.#offset = from?.offset ?? 0;
    return this.#to === undefined ? this.#beginInside(this.#file, next.bytes) : undefined;
  }

  /** The file to read next; undefined when it, or the place in it to begin at, is not written yet. */
  #nextFile(): RelayFile | undefined {
    const from = this.#from;
    if (from === undefined || from.file === 0) return this.#files.after(this.#number);
    const file = this.#files.find(from.file);
    if (file === undefined) {
      if (from.file > (this.#files.last?.number ?? 0)) return undefined;
      throw this.#error(from, `${relayFileName(from.file)} is not in the relay log any more`);
    }
    if (from.offset < file.bytes || this.#to !== undefined) return file;
    if (!file.sealed) return from.offset === file.bytes ? file : undefined;
    if (from.offset > file.bytes) throw this.#error(from, `the file ends at ${file.bytes}`);
    // Its end: nothing more comes of this file.
    this.#number = from.file;
    this.#from = undefined;
    return this.#files.after(from.file);
  }

  async #beginInside(file: RelayFileEvents, bytes: number): Promise<RelayBatch> {
    const { description, format, source } = file.prologue;
    const tracker = new SourceTracker(source);
    let at = file.start;
    while (at < this.#offset) {
      const batch = await file.read(at, bytes);
      for (let index = 0; index < batch.events.length && at < this.#offset; index++) {
        tracker.take(batch.events[index] as Buffer);
        at = batch.ends[index] as number;
      }
    }
    const here = { file: file.number, offset: this.#offset };
    if (at !== this.#offset) throw this.#error(here, "no event starts at this place");
    const first = BINLOG_MAGIC.length;
    const second = first + description.length;
    return {
      file: file.number,
      events: [description, encodeRotate(tracker.source, description, format)],
      offsets: [first, second],
      ends: [second, this.#offset],
    };
  }

  async #readFile(file: RelayFileEvents): Promise<RelayBatch | undefined> {
    // A purged file stays readable while it is open: its end may hold control events that nobody waited for.
    const limit = this.#to?.offset ?? this.#files.find(file.number)?.bytes ?? (await file.bytes());
    if (this.#offset < limit) {
      const batch = this.#readMemory(file.number) ?? (await this.#readDisk(file, limit));
      this.#offset = batch.ends.at(-1) as number;
      return batch;
    }
    if (this.#files.after(file.number) === undefined) await this.#files.changed();
    else await this.#leaveFile();
    return undefined;
  }

  #readMemory(file: number): RelayBatch | undefined {
    const bytes = this.#written?.recent(file, this.#offset);
    return bytes === undefined ? undefined : this.#cut(file, bytes);
  }

  /** A block that this process wrote is checked as a whole; where its sum is another one, and everywhere else, each event is. */
  async #readDisk(file: RelayFileEvents, limit: number): Promise<RelayBatch> {
    const offset = this.#offset;
    let block = this.#block;
    if (block === undefined || offset < block.offset || offset >= block.offset + block.bytes.length) {
      const sum = this.#written?.sumAt(file.number, offset);
      const upTo = sum === undefined ? limit : Math.min(limit, sum.end);
      const bytes = sum?.offset === offset && sum.end <= limit ? await file.readBlock(sum) : undefined;
      this.#block = block = bytes === undefined ? undefined : { offset, bytes };
      if (block === undefined) return file.read(offset, upTo);
    }
    return this.#cut(file.number, block.bytes.subarray(offset - block.offset));
  }

  #cut(file: number, bytes: Buffer): RelayBatch {
    const batch: RelayBatch = { file, events: [], offsets: [], ends: [] };
    cutEvents(batch, bytes, this.#offset, false);
    assert(batch.events.length > 0, "blocks hold whole events");
    return batch;
  }

  async #leaveFile(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    this.#block = undefined;
    await file?.close();
  }

  #error(at: RelayPosition, what: string): ReplicationError {
    return new ReplicationError("RELAY_LOG", `the relay log cannot be read from there: ${what}`, {
      where: { file: relayFileName(at.file), position: at.offset },
      hint: startOver(this.#files.folder),
    });
  }
}
