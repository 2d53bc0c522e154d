/** Keys kept apart in one part of the log; those that come when all places are taken are not followed. */
const SLOTS_START = 1 << 15;
const SLOTS_MAX = 1 << 20;
/** A key's text is taken at this many changes, or already at the second while few have been taken. */
const CHANGES_TOLD = 4;
const EARLY_TEXTS_MAX = 32;
const TEXTS_MAX = 1024;
/** In a count: the key's text was taken. */
const TOLD = 1 << 30;

/** A row that was changed several times in a part of the log. */
export interface ChangedRow {
  /** `schema.table`. */
  table: string;
  key: string;
  guessed: boolean;
  count: number;
}

/**
 * How often each row of a part of the log was changed, and which transaction deleted it last: an open hash table by the 53 bits of a key's hash, 0 being none.
 *
 * Invariant: `counts[slot]` is exact for every key that has a slot. Two keys of one hash would be counted as one row: with a million keys, once in nine thousand logs.
 */
export class RowKeys {
  #hashes = new Float64Array(SLOTS_START);
  #counts = new Int32Array(SLOTS_START);
  /** Number of the transaction that deleted the row last and has not inserted it since; 0: none. */
  #deletedBy = new Int32Array(SLOTS_START);
  #mask = SLOTS_START - 1;
  #used = 0;
  #highest = 0;
  readonly #told: { hash: number; row: ChangedRow }[] = [];

  clear(): void {
    if (this.#used > 0) {
      this.#hashes.fill(0);
      this.#counts.fill(0);
      this.#deletedBy.fill(0);
    }
    this.#used = 0;
    this.#highest = 0;
    this.#told.length = 0;
  }

  /** The key's slot, a new one when it has none yet; -1 when there is no room. */
  slotOf(hash: number): number {
    const slot = this.find(hash);
    if (slot >= 0) return slot;
    if (this.#used * 2 > this.#mask && !this.#grow()) return -1;
    this.#used++;
    return this.#take(hash);
  }

  /** The key's slot, or -1. */
  find(hash: number): number {
    const hashes = this.#hashes;
    const mask = this.#mask;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const there = hashes[slot];
      if (there === hash) return slot;
      if (there === 0) return -1;
    }
  }

  /** Counts a change. @returns whether the row's text is wanted now: then call `tell`. */
  count(slot: number): boolean {
    const value = (this.#counts[slot] as number) + 1;
    this.#counts[slot] = value;
    const count = value & ~TOLD;
    if (count > this.#highest) this.#highest = count;
    if (count === CHANGES_TOLD) return value < TOLD && this.#told.length < TEXTS_MAX;
    return count === 2 && this.#told.length < EARLY_TEXTS_MAX;
  }

  tell(slot: number, table: string, key: string, guessed: boolean): void {
    this.#counts[slot] = (this.#counts[slot] as number) | TOLD;
    this.#told.push({ hash: this.#hashes[slot] as number, row: { table, key, guessed, count: 0 } });
  }

  setDeleted(slot: number, transaction: number): void {
    this.#deletedBy[slot] = transaction;
  }

  /** The transaction that deleted the row last, once: it is inserted again now. 0: none. */
  takeDeleted(slot: number): number {
    const transaction = this.#deletedBy[slot] as number;
    this.#deletedBy[slot] = 0;
    return transaction;
  }

  /** The rows whose text was taken, with their counts, the most changed first. */
  changedRows(max: number): ChangedRow[] {
    for (const { hash, row } of this.#told) row.count = (this.#counts[this.find(hash)] as number) & ~TOLD;
    const rows = this.#told.map(({ row }) => row).toSorted((a, b) => b.count - a.count);
    return rows.length > max ? rows.slice(0, max) : rows;
  }

  /** So often at most a row was changed that `changedRows` leaves out; `lowest`: the count of the last one when the list was full. */
  untoldChanges(lowest: number | undefined): number {
    const untold = this.#told.length < TEXTS_MAX ? Math.min(CHANGES_TOLD - 1, this.#highest) : this.#highest;
    return Math.max(lowest ?? 0, untold);
  }

  #take(hash: number): number {
    let slot = hash & this.#mask;
    while (this.#hashes[slot] !== 0) slot = (slot + 1) & this.#mask;
    this.#hashes[slot] = hash;
    return slot;
  }

  #grow(): boolean {
    const size = this.#hashes.length * 2;
    if (size > SLOTS_MAX) return false;
    const [hashes, counts, deletedBy] = [this.#hashes, this.#counts, this.#deletedBy];
    this.#hashes = new Float64Array(size);
    this.#counts = new Int32Array(size);
    this.#deletedBy = new Int32Array(size);
    this.#mask = size - 1;
    for (let old = 0; old < hashes.length; old++) {
      const hash = hashes[old] as number;
      if (hash === 0) continue;
      const slot = this.#take(hash);
      this.#counts[slot] = counts[old] as number;
      this.#deletedBy[slot] = deletedBy[old] as number;
    }
    return true;
  }
}
