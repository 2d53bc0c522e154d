/** Who waits for a key that another has. */
export interface LockOwner {
  /** Everything that it waited for may be there now: it looks again. */
  retryLocks(): void;
}

/**
 * Row locks by key hash, for policies whose answers are guesses: all others never run two transactions at once that change the same key. Who cannot have all of its keys takes none: so there
 * are no circles but those with the commit order, which the lock breaker ends.
 */
export class LockTable<Owner extends LockOwner> {
  readonly #owners = new Map<number, Owner>();
  /** In the order in which they came. */
  readonly #waiting = new Set<Owner>();

  /** All of the keys, or none: then it is told when some are free. */
  take(owner: Owner, keys: readonly number[]): boolean {
    const isFree = keys.every((key) => (this.#owners.get(key) ?? owner) === owner);
    if (!isFree) {
      this.#waiting.add(owner);
      return false;
    }
    this.#waiting.delete(owner);
    for (const key of keys) this.#owners.set(key, owner);
    return true;
  }

  /** Who has some of the keys. */
  blockers(owner: Owner, keys: readonly number[]): Owner[] {
    const blockers = new Set<Owner>();
    for (const key of keys) {
      const other = this.#owners.get(key);
      if (other !== undefined && other !== owner) blockers.add(other);
    }
    return [...blockers];
  }

  /** No longer waits. */
  leave(owner: Owner): void {
    this.#waiting.delete(owner);
  }

  release(owner: Owner, keys: readonly number[]): void {
    for (const key of keys) if (this.#owners.get(key) === owner) this.#owners.delete(key);
    for (const waiting of this.#waiting) waiting.retryLocks();
  }
}
