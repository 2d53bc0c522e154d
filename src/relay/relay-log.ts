import type { Log } from "../base/log.ts";
import type { RelayPosition, SourcePosition, TransactionId } from "../transaction/transaction.ts";
import type { RelayReader } from "./relay-reader.ts";
import type { GtidState, RelayState, TransactionBoundary } from "./state.ts";

export interface RelayLogOptions {
  /** Made when missing. One engine at a time: a second one gets RELAY_LOG. */
  folder: string;
  /** A new file is begun between two transactions once the present one has this size. Default 256 MiB. */
  fileBytesMax?: number;
  /** `waitForRoom` waits at this size. At least twice `fileBytesMax`. Default 4 GiB. */
  totalBytesMax?: number;
  log: Log;
}

const todo = (): never => {
  throw new Error("not written yet");
};

/**
 * The events received from the source, on disk as binlog files that the servers' own mysqlbinlog reads.
 *
 * The receiver hands over every event of the stream in order: the source's artificial Rotate and FORMAT_DESCRIPTION after each (re)connect first. Those two begin a
 * new file; when they come inside a transaction, that transaction is abandoned (its bytes stay, its GTID does not count).
 */
export class RelayLog {
  /** Locks the folder, repairs the end of the log. Throws RELAY_LOG. */
  static open(_options: RelayLogOptions): Promise<RelayLog> {
    return todo();
  }
  /** What `open` found. */
  get recovered(): RelayState {
    return todo();
  }
  /** The end of the last complete transaction appended so far (flushed or not): where a reconnecting receiver resumes. */
  get received(): RelayState {
    return todo();
  }
  /** Bytes and files on disk, for the status. */
  get totalBytes(): number {
    return todo();
  }
  get fileCount(): number {
    return todo();
  }
  /**
   * Takes one event, checksum and all. Nothing is written before `flush`. Events under 256 KiB are copied; a bigger one must not be changed by the caller any more.
   * `sourceEnd`: the source's true position after the event (binlog/source-position.ts). `id`: with the GTID event of a transaction; counted at its "end".
   * False when 32 MiB or more wait to be written: await `flush` before the next one.
   */
  append(_event: Buffer, _sourceEnd: number, _boundary: TransactionBoundary, _id?: TransactionId): boolean {
    return todo();
  }
  /**
   * Resolves when everything appended before the call is on disk (fdatasync). Calls meanwhile share the next one.
   * Throws DISK_FULL: nothing is lost or torn, call it again later. Throws RELAY_LOG for any other failure: the log is unusable until it is opened again.
   */
  flush(): Promise<void> {
    return todo();
  }
  /** Back-pressure: resolves while the files hold less than `totalBytesMax`, else once `purge` has made room. To be called between transactions. */
  waitForRoom(): Promise<void> {
    return todo();
  }
  /** From a position that this log gave, or from the beginning. Many readers may read at once. */
  read(_from?: RelayPosition): RelayReader {
    return todo();
  }
  /** One transaction again, as a stream: the events from `from` up to, not including, `to` (of the same file); without the file's own events before it. */
  readRange(_from: RelayPosition, _to: RelayPosition): RelayReader {
    return todo();
  }
  /** Where reading must begin for what follows this source position or these GTIDs: a transaction's start at or before it. Undefined: not in this log any more, or not yet. */
  locate(_after: { source: SourcePosition } | { gtids: GtidState }): Promise<RelayPosition | undefined> {
    return todo();
  }
  /** Deletes the files that lie wholly before this position. */
  purge(_before: RelayPosition): Promise<void> {
    return todo();
  }
  /** Deletes everything; the log goes on as if these GTIDs had been received. Readers must be closed. Needed once before the first append of a new log that starts from GTIDs. */
  reset(_gtids?: GtidState): Promise<void> {
    return todo();
  }
  /** Flushes, closes the files, ends waiting readers, gives the lock back. */
  close(): Promise<void> {
    return todo();
  }
}
