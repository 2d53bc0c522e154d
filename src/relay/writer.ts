import { open, rm, type FileHandle } from "node:fs/promises";
import { crc32 } from "node:zlib";
import { assert } from "../base/assert.ts";
import { ReplicationError } from "../base/error.ts";
import { diskError, syncFolder, writeFully } from "./disk.ts";
import { relayFileName, type RelayFiles } from "./files.ts";

/** Events are copied into blocks of this size: big enough that a write is worth its system call, small enough that a reader's views pin little. */
const BLOCK_BYTES = 1 << 20;
/** From here on an event is cheaper to keep where it is than to copy. */
const OWN_BLOCK_BYTES = 256 << 10;
/** Written blocks kept for readers that are close behind, so that a caught-up applier reads no disk. */
const MEMORY_BYTES_MAX = 8 << 20;
/** Buffers of one write; the system takes 1024. */
const BUFFERS_PER_WRITE_MAX = 64;

const RESTART = "check the disk, then start again: the relay log is repaired at start";

/** Bytes of one relay file, from `offset` in it. Up to `used` they are appended, up to `written` they are in the file; both are always ends of events. */
interface Block {
  readonly file: number;
  readonly offset: number;
  readonly bytes: Buffer;
  used: number;
  written: number;
  /** Others have views of it: readers, or whoever gave an event that is a block of its own. */
  isShared: boolean;
}

/** What this process has appended to a relay file between two offsets, both ends of events, told by one sum: what is read back needs no look at each event. */
export interface BlockSum {
  readonly offset: number;
  readonly end: number;
  readonly crc: number;
}

interface FlushWaiting {
  /** Appended bytes at the call: what must be synced. */
  readonly target: number;
  resolve(): void;
  reject(error: ReplicationError): void;
}

/**
 * Puts appended bytes into the relay files. One write and one sync at a time, side by side: while a group of flushes syncs, the next group is written, and everyone
 * who called `flush` before a sync began is served by that sync.
 *
 * Invariant: `appended` ≥ `written` ≥ `synced`, and the file never holds more than `written` for long: a write that fails in its middle is cut back, so that what
 * follows it later continues an intact file. Without it a full disk would leave half an event in front of whole ones.
 */
export class RelayWriter {
  readonly #files: RelayFiles;
  /** Blocks with bytes to write, oldest first; the last one may be written and still be filled. */
  #queue: Block[] = [];
  /** The one that is being filled. */
  #last: Block | undefined;
  #memory: Block[] = [];
  #memoryBytes = 0;
  #spare: Buffer | undefined;
  /** Of blocks that get no more events, by file, ascending. */
  readonly #sums = new Map<number, BlockSum[]>();
  #file: number;
  #offset = 0;
  #handle: FileHandle | undefined;
  #handleFile = 0;
  /** Counted over all files since `open`. */
  #appended = 0;
  #written = 0;
  #synced = 0;
  #waiting: FlushWaiting[] = [];
  #writing: Promise<void> | undefined;
  #syncing: Promise<void> | undefined;
  #failure: ReplicationError | undefined;

  /** `file`: the last one there is. It is not written to again. */
  constructor(files: RelayFiles, file: number) {
    this.#files = files;
    this.#file = file;
  }

  /** Where the next event will be. */
  get file(): number {
    return this.#file;
  }
  get offset(): number {
    return this.#offset;
  }
  get unwrittenBytes(): number {
    return this.#appended - this.#written;
  }
  /** Set once nothing can be written any more. */
  get failure(): ReplicationError | undefined {
    return this.#failure;
  }

  /** What follows belongs to this file, which is made when it is written. */
  begin(file: number): void {
    assert(file > this.#file, "relay files follow each other");
    this.#file = file;
    this.#offset = 0;
  }

  append(bytes: Buffer): void {
    const block = this.#room(bytes);
    if (block.bytes !== bytes) block.bytes.set(bytes, block.used);
    block.used += bytes.length;
    this.#offset += bytes.length;
    this.#appended += bytes.length;
  }

  flush(): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (this.#synced === this.#appended) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#waiting.push({ target: this.#appended, resolve, reject });
      this.#go();
    });
  }

  /** Written bytes of a file from `offset` on, when they are still in memory. */
  recent(file: number, offset: number): Buffer | undefined {
    for (let index = this.#memory.length - 1; index >= 0; index--) {
      const block = this.#memory[index] as Block;
      if (block.file < file || (block.file === file && block.offset + block.written <= offset)) return undefined;
      if (block.file === file && block.offset <= offset) {
        block.isShared = true;
        return block.bytes.subarray(offset - block.offset, block.written);
      }
    }
    return undefined;
  }

  /** The block of a file that holds this offset, once it is whole; undefined also for what another process wrote. */
  sumAt(file: number, offset: number): BlockSum | undefined {
    const sums = this.#sums.get(file) ?? [];
    let low = 0;
    let high = sums.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sums[middle] as BlockSum).end <= offset) low = middle + 1;
      else high = middle;
    }
    const sum = sums[low];
    return sum !== undefined && sum.offset <= offset ? sum : undefined;
  }

  /** The file is deleted. */
  forget(file: number): void {
    this.#sums.delete(file);
  }

  /** Forgets what is not written; for `reset`. */
  async discard(): Promise<void> {
    await this.#settled();
    this.#queue = [];
    this.#memory = [];
    this.#memoryBytes = 0;
    this.#sums.clear();
    this.#last = undefined;
    this.#written = this.#appended;
    this.#synced = this.#appended;
    await this.close();
  }

  async close(): Promise<void> {
    await this.#settled();
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close();
  }

  async #settled(): Promise<void> {
    while (this.#writing !== undefined || this.#syncing !== undefined) {
      await this.#writing;
      await this.#syncing;
    }
  }

  #room(bytes: Buffer): Block {
    const last = this.#queue.at(-1);
    if (last !== undefined && last.file === this.#file && bytes.length <= last.bytes.length - last.used) return last;
    this.#sum();
    const isShared = bytes.length >= OWN_BLOCK_BYTES;
    const block: Block = {
      file: this.#file,
      offset: this.#offset,
      bytes: isShared ? bytes : this.#newBytes(),
      used: 0,
      written: 0,
      isShared,
    };
    this.#queue.push(block);
    this.#last = block;
    return block;
  }

  #newBytes(): Buffer {
    const bytes = this.#spare ?? Buffer.allocUnsafeSlow(BLOCK_BYTES);
    this.#spare = undefined;
    return bytes;
  }

  /** The last block gets no more events. */
  #sum(): void {
    const last = this.#last;
    if (last === undefined) return;
    const { file, offset, bytes, used } = last;
    const sum: BlockSum = { offset, end: offset + used, crc: crc32(bytes.subarray(0, used)) };
    const sums = this.#sums.get(file);
    if (sums === undefined) this.#sums.set(file, [sum]);
    else sums.push(sum);
  }

  #go(): void {
    if (this.#writing === undefined && this.#isWanted()) {
      this.#writing = this.#write().finally(() => {
        this.#writing = undefined;
        this.#go();
      });
    }
    this.#goSync();
  }

  #goSync(): void {
    const first = this.#waiting[0];
    if (this.#syncing === undefined && first !== undefined && first.target <= this.#written) void this.#startSync();
  }

  #startSync(): Promise<void> {
    this.#syncing = this.#sync().finally(() => {
      this.#syncing = undefined;
      this.#goSync();
    });
    return this.#syncing;
  }

  /** Somebody waits for more than what is written. After a failure nobody does. */
  #isWanted(): boolean {
    const last = this.#waiting.at(-1);
    return last !== undefined && last.target > this.#written;
  }

  async #write(): Promise<void> {
    try {
      while (this.#isWanted()) {
        await this.#writeGroup();
        this.#goSync();
      }
    } catch (error) {
      this.#failed(diskError(error, "the relay log cannot be written", { file: relayFileName(this.#file) }));
    }
  }

  async #sync(): Promise<void> {
    const upTo = this.#written;
    try {
      await this.#handle?.datasync();
      this.#syncedTo(upTo);
    } catch (error) {
      // The system may have dropped the pages that it could not write: only reading the file again can tell. So no retry, whatever the cause.
      const cause = diskError(error, "the relay log cannot be synced", { file: relayFileName(this.#handleFile) });
      this.#fatal(
        new ReplicationError("RELAY_LOG", cause.message, { where: cause.where, hint: RESTART, cause: error }),
      );
    }
  }

  #syncedTo(upTo: number): void {
    this.#synced = Math.max(this.#synced, upTo);
    const open = this.#waiting.findIndex((waiting) => waiting.target > this.#synced);
    for (const waiting of this.#waiting.splice(0, open < 0 ? this.#waiting.length : open)) waiting.resolve();
  }

  /** Writes what is appended of the oldest file with something to write. */
  async #writeGroup(): Promise<void> {
    while ((this.#queue[0] as Block).written === (this.#queue[0] as Block).used) this.#queue.shift();
    const { file, offset, written } = this.#queue[0] as Block;
    const group: { block: Block; upTo: number }[] = [];
    for (const block of this.#queue) {
      if (block.file !== file || group.length === BUFFERS_PER_WRITE_MAX) break;
      group.push({ block, upTo: block.used });
    }
    const start = offset + written;
    const buffers = group.map(({ block, upTo }) => block.bytes.subarray(block.written, upTo));
    const bytes = lengthOf(buffers);
    if (file === this.#handleFile) await this.#continueFile(buffers, start);
    else await this.#newFile(file, buffers);
    this.#written += bytes;
    for (const { block, upTo } of group) {
      if (block.written === 0) this.#remember(block);
      block.written = upTo;
    }
    if (start === 0) this.#syncedTo(this.#written);
    else this.#files.grow(start + bytes);
  }

  async #continueFile(buffers: Buffer[], offset: number): Promise<void> {
    const handle = this.#handle;
    assert(handle !== undefined, "the file being written is open");
    try {
      await writeFully(handle, buffers, offset);
    } catch (error) {
      await handle.truncate(offset);
      throw error;
    }
  }

  /** The file before it is whole and synced, and so is this one, before the index names it. */
  async #newFile(file: number, buffers: Buffer[]): Promise<void> {
    await this.#closeFile();
    const path = this.#files.path(file);
    const handle = await open(path, "wx");
    try {
      await writeFully(handle, buffers, 0);
      await handle.datasync();
      await syncFolder(this.#files.folder);
      await this.#files.add(file, lengthOf(buffers));
    } catch (error) {
      await handle.close();
      if (diskError(error, "", {}).code === "DISK_FULL") await rm(path, { force: true });
      throw error;
    }
    this.#handle = handle;
    this.#handleFile = file;
  }

  async #closeFile(): Promise<void> {
    const handle = this.#handle;
    if (handle === undefined) return;
    while (this.#syncing !== undefined) await this.#syncing;
    if (this.#synced < this.#written) {
      await this.#startSync();
    }
    if (this.#failure !== undefined) throw this.#failure;
    this.#handle = undefined;
    await handle.close();
  }

  #remember(block: Block): void {
    this.#memory.push(block);
    this.#memoryBytes += block.bytes.length;
    while (this.#memoryBytes > MEMORY_BYTES_MAX) this.#forgetOldest();
  }

  /** Its bytes are for the next block, unless somebody may still look at them: new memory costs more than what is done with it. */
  #forgetOldest(): void {
    const block = this.#memory.shift() as Block;
    this.#memoryBytes -= block.bytes.length;
    const isDone = block !== this.#last && block.written === block.used;
    if (isDone && !block.isShared && block.bytes.length === BLOCK_BYTES) this.#spare = block.bytes;
  }

  #failed(error: ReplicationError): void {
    if (error.code !== "DISK_FULL") {
      this.#fatal(error);
      return;
    }
    // What is written already may still be synced for those who wait for no more than that.
    const rejected = this.#waiting.filter((waiting) => waiting.target > this.#written);
    this.#waiting = this.#waiting.filter((waiting) => waiting.target <= this.#written);
    for (const waiting of rejected) waiting.reject(error);
  }

  #fatal(error: ReplicationError): void {
    this.#failure = error;
    const rejected = this.#waiting;
    this.#waiting = [];
    for (const waiting of rejected) waiting.reject(error);
    this.#files.wake();
  }
}

const lengthOf = (buffers: readonly Buffer[]): number => buffers.reduce((sum, buffer) => sum + buffer.length, 0);
