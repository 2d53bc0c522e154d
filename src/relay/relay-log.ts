import { mkdir } from "node:fs/promises";
import { assert } from "../base/assert.ts";
import type { Log } from "../base/log.ts";
import { EVENT_TYPE } from "../binlog/event-type.ts";
import { eventType } from "../binlog/event.ts";
import { decodeFormatDescription } from "../binlog/events/format-description.ts";
import type { BinlogFormat } from "../binlog/format.ts";
import { nextSourcePosition } from "../binlog/source-position.ts";
import type { RelayPosition, SourcePosition, TransactionId } from "../transaction/transaction.ts";
import { diskError } from "./disk.ts";
import { RelayFiles } from "./files.ts";
import { locate, type LocateTarget } from "./locate.ts";
import { lockFolder, type RelayLock } from "./lock.ts";
import { decodeAnyRotate, encodePrologue, encodeRotate, isArtificialRotate } from "./prologue.ts";
import { recover, type Recovered } from "./recovery.ts";
import { RelayReader } from "./relay-reader.ts";
import { copyGtids, countGtid, type GtidState, type RelayState, type TransactionBoundary } from "./state.ts";
import { RelayWriter } from "./writer.ts";

/** A file is deleted whole, so smaller ones free room sooner; each costs a few syncs to begin. The servers' default is 1 GiB (max_binlog_size). */
const FILE_BYTES_MAX = 256 << 20;
const TOTAL_BYTES_MAX = 4 * 2 ** 30;
/** Some milliseconds of a fast source: enough that a slow sync does not stop the stream, little beside the engine's memory. */
const UNWRITTEN_BYTES_MAX = 32 << 20;

export interface RelayLogOptions {
  /** Made when missing. One engine at a time: a second one gets RELAY_LOG. */
  folder: string;
  /** A new file is begun between two transactions once the present one has this size. Default 256 MiB. */
  fileBytesMax?: number;
  /** `waitForRoom` waits at this size. Default 4 GiB. */
  totalBytesMax?: number;
  log: Log;
}

/**
 * The events received from the source, on disk as binlog files that the servers' own mysqlbinlog reads (prologue.ts says how each begins).
 *
 * The receiver hands over every event of the stream in order; after each (re)connect the source's artificial Rotate and FORMAT_DESCRIPTION come first, and the event after
 * them begins a new file. When they come inside a transaction, it is abandoned: its bytes stay, its GTID does not count, it comes again from its start.
 *
 * Invariant: bytes are only ever added, and a file begins between two transactions. So readers never see what they read change, and a crash can tear the last file only.
 */
export class RelayLog {
  /** What `open` found. */
  readonly recovered: RelayState;
  readonly #files: RelayFiles;
  readonly #writer: RelayWriter;
  readonly #lock: RelayLock;
  readonly #fileBytesMax: number;
  readonly #totalBytesMax: number;
  readonly #log: Log;
  /** The format of the stream, and its event; undefined until the source has sent it. */
  #description: { event: Buffer; format: BinlogFormat } | undefined;
  /** The next event begins a new file. */
  #isNewStream = true;
  /** Where the source goes on after the last boundary. */
  #sourceFile: string | undefined;
  #sourcePosition = 0;
  /** Where a reader of the files believes the source to be: the two are the same between transactions. */
  #readPosition = 0;
  #gtids: GtidState;
  #isInside = false;
  #openId: TransactionId | undefined;
  /** The last boundary in our files. */
  #endFile: number;
  #endOffset: number;
  /** By file: where its last transaction ends; 0 when it has none. Old files are missing. */
  readonly #transactionEnds: Map<number, number>;
  #purgedBefore: RelayPosition = { file: 0, offset: 0 };
  #waitingForRoom: (() => void)[] = [];
  #isClosed = false;

  private constructor(options: RelayLogOptions, files: RelayFiles, lock: RelayLock, recovered: Recovered) {
    const { state, transactionEnds } = recovered;
    this.#fileBytesMax = options.fileBytesMax ?? FILE_BYTES_MAX;
    this.#totalBytesMax = options.totalBytesMax ?? TOTAL_BYTES_MAX;
    this.#log = options.log;
    this.#files = files;
    this.#lock = lock;
    this.#writer = new RelayWriter(files, state.end.file);
    this.#transactionEnds = transactionEnds;
    this.recovered = state;
    this.#sourceFile = state.source?.file;
    this.#sourcePosition = state.source?.position ?? 0;
    this.#gtids = copyGtids(state.gtids);
    this.#endFile = state.end.file;
    this.#endOffset = state.end.offset;
  }

  /** Locks the folder, repairs the end of the log. Throws RELAY_LOG. */
  static async open(options: RelayLogOptions): Promise<RelayLog> {
    const { folder, log } = options;
    let lock: RelayLock | undefined;
    try {
      await mkdir(folder, { recursive: true });
      lock = await lockFolder(folder, log);
      const files = await RelayFiles.open(folder, log);
      return new RelayLog(options, files, lock, await recover(files, log));
    } catch (error) {
      await lock?.release();
      throw diskError(error, `the relay log in ${folder} cannot be opened`, {});
    }
  }

  /** The end of the last complete transaction appended so far (flushed or not): where a reconnecting receiver resumes. */
  get received(): RelayState {
    return {
      source: this.#sourceFile === undefined ? undefined : { file: this.#sourceFile, position: this.#sourcePosition },
      gtids: copyGtids(this.#gtids),
      end: { file: this.#endFile, offset: this.#endOffset },
    };
  }

  get folder(): string {
    return this.#files.folder;
  }

  /** Bytes and files on disk, for the status. */
  get totalBytes(): number {
    return this.#files.totalBytes;
  }
  get fileCount(): number {
    return this.#files.all.length;
  }

  /**
   * Takes one event, checksum and all. Nothing is written before `flush`. Events under 256 KiB are copied; a bigger one must not be changed by the caller any more.
   * `sourceEnd`: the source's true position after the event (binlog/source-position.ts). `id`: with the GTID event of a transaction; counted at its "end".
   * False when 32 MiB or more wait to be written: await `flush` before the next one.
   */
  append(event: Buffer, sourceEnd: number, boundary: TransactionBoundary, id?: TransactionId): boolean {
    if (this.#writer.failure !== undefined) throw this.#writer.failure;
    const type = eventType(event);
    if (type === EVENT_TYPE.FORMAT_DESCRIPTION) this.#describe(event, sourceEnd);
    else if (type === EVENT_TYPE.ROTATE && isArtificialRotate(event)) this.#redirect(event);
    else this.#append(event, type, sourceEnd, boundary, id);
    return this.#writer.unwrittenBytes < UNWRITTEN_BYTES_MAX;
  }

  /**
   * Resolves when everything appended before the call is on disk (fdatasync). Calls meanwhile share the next one.
   * Throws DISK_FULL: nothing is lost or torn, call it again later. Throws RELAY_LOG for any other failure: the log is unusable until it is opened again.
   */
  flush(): Promise<void> {
    return this.#writer.flush();
  }

  /**
   * Back-pressure: resolves while the files hold less than `totalBytesMax`, else once `purge` has made room. To be called between transactions.
   * It never waits when all is purged up to the last transaction received: then nobody could make room, and the next transaction begins a new file.
   */
  async waitForRoom(): Promise<void> {
    while (!this.#isClosed && this.totalBytes >= this.#totalBytesMax && this.#hasUnpurged()) {
      await new Promise<void>((resolve) => this.#waitingForRoom.push(resolve));
    }
  }

  /** From a position that this log gave, or from the beginning. Many readers may read at once. */
  read(from?: RelayPosition): RelayReader {
    return new RelayReader(this.#files, this.#writer, from);
  }

  /** One transaction again, as a stream: the events from `from` up to, not including, `to` (of the same file); without the file's own events before it. */
  readRange(from: RelayPosition, to: RelayPosition): RelayReader {
    return new RelayReader(this.#files, undefined, from, to);
  }

  /**
   * Where reading must begin when this much is applied: the start of the first transaction written that is not.
   * Undefined when the log begins later than that, or ends before it (for a source position only; GTIDs that it lacks do not matter).
   */
  locate(applied: LocateTarget): Promise<RelayPosition | undefined> {
    return locate(this.#files, applied);
  }

  /** Deletes the files whose transactions all end at or before this position; the last file stays. */
  async purge(before: RelayPosition): Promise<void> {
    if (isBefore(this.#purgedBefore, before)) this.#purgedBefore = { ...before };
    const done: number[] = [];
    for (const { number, bytes } of this.#files.all.slice(0, -1)) {
      const end = this.#transactionEnds.get(number) ?? bytes;
      if (end !== 0 && isBefore(before, { file: number, offset: end })) break;
      done.push(number);
    }
    await this.#files.remove(done);
    for (const number of done) {
      this.#transactionEnds.delete(number);
      this.#writer.forget(number);
    }
    this.#wakeForRoom();
  }

  /** Deletes everything; the log goes on as if these GTIDs had been received. Readers must be closed. Needed once before the first append of a new log that starts from GTIDs. */
  async reset(gtids: GtidState = { kind: "none" }): Promise<void> {
    await this.#writer.discard();
    await this.#files.remove(this.#files.all.map((file) => file.number));
    this.#transactionEnds.clear();
    this.#description = undefined;
    this.#startStream();
    this.#sourceFile = undefined;
    this.#sourcePosition = 0;
    this.#gtids = copyGtids(gtids);
    this.#endFile = 0;
    this.#endOffset = 0;
    this.#wakeForRoom();
  }

  /** Flushes, closes the files, ends waiting readers and waits for room, gives the lock back. What a full disk refuses is left out: the source has it. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    try {
      await this.#writer.flush();
    } catch (error) {
      this.#log.warn("the end of what was received is not in the relay log; the source sends it again", {
        reason: error instanceof Error ? error.message : String(error),
      });
    }
    await this.#writer.close();
    this.#files.close();
    this.#wakeForRoom();
    await this.#lock.release();
  }

  #describe(event: Buffer, sourceEnd: number): void {
    assert(this.#sourceFile !== undefined, "a Rotate event names the source's file before its FORMAT_DESCRIPTION");
    this.#description = { event: Buffer.from(event), format: decodeFormatDescription(event).format };
    this.#sourcePosition = sourceEnd;
    this.#startStream();
  }

  #redirect(event: Buffer): void {
    const { file, position } = decodeAnyRotate(event);
    this.#sourceFile = file;
    this.#sourcePosition = position;
    this.#startStream();
  }

  #startStream(): void {
    this.#isNewStream = true;
    this.#isInside = false;
    this.#openId = undefined;
  }

  #append(
    event: Buffer,
    type: number,
    sourceEnd: number,
    boundary: TransactionBoundary,
    id: TransactionId | undefined,
  ): void {
    if (!this.#isInside) this.#beginTransaction(event, sourceEnd);
    if (id !== undefined) this.#openId = id;
    this.#writer.append(event);
    this.#readPosition = nextSourcePosition(this.#readPosition, event);
    this.#isInside = boundary === "inside";
    if (this.#isInside) return;
    this.#endOffset = this.#writer.offset;
    if (boundary === "end") {
      if (this.#openId !== undefined) countGtid(this.#gtids, this.#openId);
      this.#openId = undefined;
      this.#transactionEnds.set(this.#endFile, this.#endOffset);
    }
    if (type === EVENT_TYPE.ROTATE) {
      this.#redirect(event);
    } else {
      assert(sourceEnd === this.#readPosition, "the source's position after a transaction is what its events say");
      this.#sourcePosition = sourceEnd;
    }
  }

  #beginTransaction(event: Buffer, sourceEnd: number): void {
    assert(this.#sourceFile !== undefined && this.#description !== undefined, "a stream begins with its format");
    const { event: description, format } = this.#description;
    const source: SourcePosition = { file: this.#sourceFile, position: this.#sourcePosition };
    if (this.#isNewStream || this.#writer.offset >= this.#fileBytesMax) {
      this.#isNewStream = false;
      this.#writer.begin(this.#writer.file + 1);
      for (const part of encodePrologue({ description, format, source, gtids: this.#gtids })) this.#writer.append(part);
      this.#endFile = this.#writer.file;
      this.#endOffset = this.#writer.offset;
      this.#transactionEnds.set(this.#endFile, 0);
      this.#readPosition = source.position;
    }
    // The source may leave out more than 4 GiB (GTIDs that we have): then the header's 32 bits are not enough to follow it.
    if (nextSourcePosition(this.#readPosition, event) !== sourceEnd && eventType(event) !== EVENT_TYPE.ROTATE) {
      const position = sourceEnd - event.length;
      this.#writer.append(encodeRotate({ file: source.file, position }, description, format));
      this.#readPosition = position;
    }
  }

  #hasUnpurged(): boolean {
    const ends = [...this.#transactionEnds].filter(([, offset]) => offset > 0);
    return ends.some(([file, offset]) => isBefore(this.#purgedBefore, { file, offset }));
  }

  #wakeForRoom(): void {
    const waiting = this.#waitingForRoom;
    this.#waitingForRoom = [];
    for (const resolve of waiting) resolve();
  }
}

const isBefore = (a: RelayPosition, b: RelayPosition): boolean =>
  a.file < b.file || (a.file === b.file && a.offset < b.offset);
