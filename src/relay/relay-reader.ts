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
 * Reads events in order and waits at the end for more. The first batch, and the first batch of each file, begins with the file's own three events:
 * FORMAT_DESCRIPTION, an artificial Rotate that names the source's file and the position at which the events after it go on, and Previous_gtids or Gtid_list (when the
 * stream has GTIDs). So a consumer may start anywhere; to it an artificial Rotate inside a transaction means: what came of that transaction is void, it will
 * come again from its start (the connection was lost in its middle).
 */
export class RelayReader {
  /** The next events, at least one; undefined once closed, or when a range is at its end. One call at a time. Throws ReplicationError RELAY_LOG. */
  next(): Promise<RelayBatch | undefined> {
    throw new Error("not written yet");
  }
  /** Ends a waiting `next` with undefined. */
  close(): Promise<void> {
    throw new Error("not written yet");
  }
}
