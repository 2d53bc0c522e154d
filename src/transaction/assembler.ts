import { assert } from "../base/assert.ts";
import type { BinlogFormat } from "../binlog/format.ts";
import type { RelayPosition, SourcePosition, Transaction } from "./transaction.ts";

/** False drops the table's row events and their table map. `at` is the end of the event in the source. */
export type TableFilter = (schema: string, table: string, at: SourcePosition) => boolean;

export interface AssemblerOptions {
  /** A transaction whose events, unpacked, take more than this becomes a range of the relay log. */
  bytesInMemoryMax: number;
  tableFilter?: TableFilter;
}

export class Assembler {
  constructor(_options: AssemblerOptions, _start: { source: SourcePosition }) {
    assert(false, "not written yet");
  }

  /**
   * Takes the next event of the relay log, as it lies there (checksum included), the place of its first byte, and the place after its last.
   * @returns the transaction that this event ends
   * @throws ReplicationError GRAMMAR, UNKNOWN_EVENT, CORRUPT_EVENT, INCIDENT, ENCRYPTED
   */
  push(_event: Buffer, _relay: RelayPosition, _relayNext: RelayPosition): Transaction | undefined {
    return undefined;
  }

  /** The true place in the source after the last event. */
  get source(): SourcePosition {
    return { file: "", position: 0 };
  }
  /** No transaction is open: a resume point. */
  get atBoundary(): boolean {
    return true;
  }
  /** Bytes received of the transaction that is open. */
  get partialBytes(): number {
    return 0;
  }
  /** Unknown events that were flagged ignorable. */
  get ignoredEvents(): number {
    return 0;
  }
  /** Transactions that the source's crash had cut and its applier would roll back: dropped. */
  get cutTransactions(): number {
    return 0;
  }
}

export interface BodyEventsOptions {
  tableFilter?: TableFilter;
  /** A batch that reaches this is given out. */
  batchBytesMax: number;
}

/**
 * The body of a transaction that is a range of the relay log, as a stream: batches of the same events that `body.events` of a small one has. `raw` is
 * what the relay log holds from the range's `from` to its `to`, in batches of any size. Memory: one batch in, one batch out, and the window of a
 * compressed payload.
 */
export async function* bodyEvents(
  _transaction: { format: BinlogFormat; start: SourcePosition },
  _raw: AsyncIterable<readonly Buffer[]>,
  _options: BodyEventsOptions,
): AsyncGenerator<Buffer[]> {
  assert(false, "not written yet");
}
