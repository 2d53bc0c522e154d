import { areMany, firstCommon, type KeyHashes } from "./key-hashes.ts";

/** Who waits for a key that another has. */
export interface LockOwner {
  /** Everything that it waited for may be there now: it looks again. */
  retryLocks(): void;
}

/**
 * Row locks by key hash, for policies whose answers are guesses: all others never run two transactions at once that change the same key. Who cannot have all of its keys takes none: so there
 * are no circles but those with the commit order, which the lock breaker ends.
 *
 * Keys come by transaction. Those of a large one are not entered one by one: it is compared with what others have, which is known when another cell, or this one before, has asked.
 */
export class LockTable<Owner extends LockOwner> {
  /** Of small transactions. */
  readonly #owners = new Map<number, Owner>();
  /** What each has, by transaction. */
  readonly #held = new Map<Owner, readonly KeyHashes[]>();
  /** Who has keys of a large transaction. */
  readonly #large = new Map<Owner, readonly KeyHashes[]>();
  /** In the order in which they came. */
  readonly #waiting = new Set<Owner>();

  /** All of the keys, or none: then it is told when some are free. */
  take(owner: Owner, keys: readonly KeyHashes[]): boolean {
    if (!this.#others(owner, keys).next().done) {
      this.#waiting.add(owner);
      return false;
    }
    this.#waiting.delete(owner);
    this.#held.set(owner, keys);
    const large = keys.filter(areMany);
    if (large.length > 0) this.#large.set(owner, large);
    for (const hashes of keys) {
      if (areMany(hashes)) continue;
      for (const hash of hashes) this.#owners.set(hash, owner);
    }
    return true;
  }

  /** Who has some of the keys. */
  blockers(owner: Owner, keys: readonly KeyHashes[]): Owner[] {
    return [...new Set(this.#others(owner, keys))];
  }

  /** No longer waits. */
  leave(owner: Owner): void {
    this.#waiting.delete(owner);
  }

  release(owner: Owner, keys: readonly KeyHashes[]): void {
    this.#held.delete(owner);
    this.#large.delete(owner);
    for (const hashes of keys) {
      if (areMany(hashes)) continue;
      for (const hash of hashes) if (this.#owners.get(hash) === owner) this.#owners.delete(hash);
    }
    for (const waiting of this.#waiting) waiting.retryLocks();
  }

  /** Who else has some of the keys; may repeat. */
  *#others(owner: Owner, keys: readonly KeyHashes[]): Generator<Owner, undefined> {
    for (const hashes of keys) {
      const isLarge = areMany(hashes);
      for (const [other, theirs] of isLarge ? this.#held : this.#large) {
        if (other !== owner && theirs.some((their) => firstCommon(their, hashes) >= 0)) yield other;
      }
      if (isLarge) continue;
      for (const hash of hashes) {
        const other = this.#owners.get(hash);
        if (other !== undefined && other !== owner) yield other;
      }
    }
    return undefined;
  }
}
