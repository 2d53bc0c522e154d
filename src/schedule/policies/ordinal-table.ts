const SLOTS_MIN = 1_024;
const EMPTY = -1;

/**
 * Hash → ordinal, without an object per entry: a Map of numbers above 2^31 allocates two for each, and takes three times as long. Open addressing with linear probing over two
 * typed arrays, at most half full; no single entry is ever removed, so no tombstones. The invariant: from its home slot to its own, an entry's slots are all taken.
 */
export class OrdinalTable {
  #keys = new Float64Array(SLOTS_MIN).fill(EMPTY);
  #ordinals = new Float64Array(SLOTS_MIN);
  /** A home slot is the upper bits of a 32-bit product. */
  #shift = 32 - Math.log2(SLOTS_MIN);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** @returns -1 when it is not there. */
  get(hash: number): number {
    const slot = this.#slotOf(hash);
    return this.#keys[slot] === hash ? (this.#ordinals[slot] ?? EMPTY) : EMPTY;
  }

  set(hash: number, ordinal: number): void {
    let slot = this.#slotOf(hash);
    if (this.#keys[slot] !== hash) {
      if (this.#size * 2 >= this.#keys.length) {
        this.#grow();
        slot = this.#slotOf(hash);
      }
      this.#keys[slot] = hash;
      this.#size++;
    }
    this.#ordinals[slot] = ordinal;
  }

  /** The room stays, unless so little of it was used that wiping it would cost more than growing again. */
  clear(): void {
    if (this.#size * 16 < this.#keys.length) {
      this.#keys = new Float64Array(SLOTS_MIN);
      this.#ordinals = new Float64Array(SLOTS_MIN);
      this.#shift = 32 - Math.log2(SLOTS_MIN);
    }
    this.#keys.fill(EMPTY);
    this.#size = 0;
  }

  /** Where it is, or where it would go. The low 32 bits, multiplied by 2^32 / golden ratio, so that hashes in a row spread as well. */
  #slotOf(hash: number): number {
    const keys = this.#keys;
    const mask = keys.length - 1;
    let slot = Math.imul(hash | 0, 0x9e37_79b1) >>> this.#shift;
    for (;;) {
      const key = keys[slot];
      if (key === hash || key === EMPTY) return slot;
      slot = (slot + 1) & mask;
    }
  }

  #grow(): void {
    const keys = this.#keys;
    const ordinals = this.#ordinals;
    this.#keys = new Float64Array(keys.length * 2).fill(EMPTY);
    this.#ordinals = new Float64Array(keys.length * 2);
    this.#shift--;
    for (const [slot, key] of keys.entries()) {
      if (key === EMPTY) continue;
      const next = this.#slotOf(key);
      this.#keys[next] = key;
      this.#ordinals[next] = ordinals[slot] ?? EMPTY;
    }
  }
}
