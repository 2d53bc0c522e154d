/** A transaction as the server's tracker sees it. */
export interface TrackedTransaction {
  sequenceNumber: number;
  /** By the commit order: what the tracker may lower. */
  commitParent: number;
  /** Keys changed, and parents' keys that changed children refer to; the server makes no difference, and has one hash where we tell a parent's row from its existence. */
  hashes: ReadonlySet<number>;
  missingKeys: boolean;
  /** It changes a row of a table that foreign keys refer to (add_pke in `sql/rpl_write_set_handler.cc`). */
  relatedForeignKeys: boolean;
}

/**
 * A model of what MySQL computes as `last_committed` with WRITESET tracking: Writeset_trx_dependency_tracker::get_dependency in `sql/rpl_trx_tracking.cc` (8.0 to 9.x),
 * within one binlog file. It is what our own answers are compared with: an answer of ours may be earlier, never later.
 */
export class ServerWritesetTracker {
  readonly #sizeMax: number;
  readonly #history = new Map<number, number>();
  #historyStart = 0;

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  commitParent({ sequenceNumber, commitParent, hashes, missingKeys, relatedForeignKeys }: TrackedTransaction): number {
    if (relatedForeignKeys) {
      this.#clear(sequenceNumber);
      return commitParent;
    }
    const exceedsCapacity = this.#history.size + hashes.size > this.#sizeMax;
    let lastParent = this.#historyStart;
    for (const hash of hashes) {
      const last = this.#history.get(hash);
      if (last !== undefined) lastParent = Math.max(lastParent, last);
      if (last !== undefined || !exceedsCapacity) this.#history.set(hash, sequenceNumber);
    }
    if (exceedsCapacity) this.#clear(sequenceNumber);
    return missingKeys ? commitParent : Math.min(lastParent, commitParent);
  }

  #clear(sequenceNumber: number): void {
    this.#history.clear();
    this.#historyStart = sequenceNumber;
  }
}
