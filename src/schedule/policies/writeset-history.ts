import type { Writeset } from "../writeset.ts";
import { OrdinalTable } from "./ordinal-table.ts";

/** Of the readers of a key since its last change, the newest this many are remembered one by one; of older ones, only that nothing up to the last of them may be passed. */
const READERS_MAX = 8;

interface Readers {
  /** Everything up to this ordinal counts as a reader. */
  upTo: number;
  /** Growing. */
  each: number[];
}

interface Generation {
  writers: OrdinalTable;
  readers: Map<number, Readers>;
  /** The last transaction that it holds a hash of. */
  newest: number;
}

/**
 * Who changed and who relied on which key last: hash → ordinal, bounded. The invariant: a conflict with an earlier transaction is found here, or that transaction is at
 * or before `forgotten`. A hash that got lost without `forgotten` growing would let two changes of one row run side by side.
 *
 * The server keeps one map and clears all of it when the next transaction does not fit (`sql/rpl_trx_tracking.cc`, Writeset_trx_dependency_tracker::get_dependency);
 * then everything before is a dependency, and parallelism breaks off at once, again and again. Here are two maps of the server's size: when the young one is full it
 * becomes the old one, and only what was in the former old one is forgotten. A full young map means that the server, too, has cleared its map since the one before
 * was full, so what is forgotten here is never newer than what is forgotten there.
 */
export class WritesetHistory {
  readonly #size: number;
  #young: Generation = generation();
  #old: Generation = generation();
  #forgotten: number;

  /** @param size hashes of a generation: that many that were changed, and that many that were relied on. */
  constructor(size: number, forgotten: number) {
    this.#size = size;
    this.#forgotten = forgotten;
  }

  /** Everything up to this ordinal may be in conflict with anything. */
  get forgotten(): number {
    return this.#forgotten;
  }

  /** Hashes in memory: at most twice the size, of those changed and of those relied on. */
  get counts(): { writers: number; readers: number } {
    return {
      writers: this.#young.writers.size + this.#old.writers.size,
      readers: this.#young.readers.size + this.#old.readers.size,
    };
  }

  /** Forgets all: everything up to this ordinal may be in conflict. */
  forget(ordinal: number): void {
    this.#forgotten = ordinal;
    empty(this.#young);
    empty(this.#old);
  }

  /**
   * Adds the earlier transactions in conflict to `found`: they may repeat, and may lie at or before `forgotten`.
   * @returns the ordinal up to which everything is in conflict, because a key has too many readers to name; `forgotten` at least is not contained.
   */
  conflicts({ writes, reads }: Writeset, found: number[]): number {
    const young = this.#young;
    const old = this.#old;
    let upTo = 0;
    for (const hash of reads) {
      const writer = lastWriter(young, old, hash);
      if (writer >= 0) found.push(writer);
    }
    const anyReaders = young.readers.size + old.readers.size > 0;
    for (const hash of writes) {
      const readers = anyReaders ? (young.readers.get(hash) ?? old.readers.get(hash)) : undefined;
      if (readers === undefined) {
        const writer = lastWriter(young, old, hash);
        if (writer >= 0) found.push(writer);
        continue;
      }
      // Each of the readers waits for the writer.
      for (const reader of readers.each) found.push(reader);
      if (readers.upTo > upTo) upTo = readers.upTo;
    }
    return upTo;
  }

  /** To be called after `conflicts`, or a transaction is in conflict with itself. */
  remember({ writes, reads }: Writeset, ordinal: number): void {
    for (const hash of reads) {
      if (this.#young.readers.size >= this.#size && !this.#young.readers.has(hash)) this.#turn();
      this.#addReader(hash, ordinal);
    }
    const anyReaders = this.#young.readers.size + this.#old.readers.size > 0;
    for (const hash of writes) {
      if (this.#young.writers.size >= this.#size && this.#young.writers.get(hash) < 0) this.#turn();
      this.#young.writers.set(hash, ordinal);
      this.#young.newest = ordinal;
      // Who comes now waits for this writer, and this writer waits for the readers.
      if (anyReaders) {
        this.#young.readers.delete(hash);
        this.#old.readers.delete(hash);
      }
    }
  }

  #addReader(hash: number, ordinal: number): void {
    const readers = this.#young.readers.get(hash) ?? this.#old.readers.get(hash) ?? { upTo: 0, each: [] };
    if (readers.each.at(-1) !== ordinal) readers.each.push(ordinal);
    if (readers.each.length > READERS_MAX) {
      readers.upTo = readers.each[READERS_MAX / 2 - 1] ?? 0;
      readers.each.splice(0, READERS_MAX / 2);
    }
    this.#young.readers.set(hash, readers);
    this.#young.newest = ordinal;
  }

  #turn(): void {
    this.#forgotten = Math.max(this.#forgotten, this.#old.newest);
    const emptied = this.#old;
    this.#old = this.#young;
    this.#young = emptied;
    empty(emptied);
  }
}

function lastWriter(young: Generation, old: Generation, hash: number): number {
  const writer = young.writers.get(hash);
  return writer >= 0 ? writer : old.writers.get(hash);
}

const generation = (): Generation => ({ writers: new OrdinalTable(), readers: new Map(), newest: 0 });

function empty(generation: Generation): void {
  if (generation.writers.size > 0) generation.writers.clear();
  generation.readers.clear();
  generation.newest = 0;
}
