import { OrdinalTable } from "../schedule/policies/ordinal-table.ts";

/** The hashes of the keys that a transaction changes; may repeat. */
export type KeyHashes = readonly number[];

/** Above this many it is worth to know them by hash. */
const MANY = 1_000;

/** The hashes of a large transaction by their first place, and what was found out about other large ones. */
interface Index {
  places: OrdinalTable;
  /** Of the first of `other` that is here too; -1: there is none. */
  firstOf: WeakMap<KeyHashes, number>;
}

/**
 * By identity, so that all cells that are fed with a transaction share what is known of it: each of them asks again and again whether the same two large transactions have a key in common, and to answer
 * that anew takes as long as they are large. Nothing is kept of those that are no longer in memory.
 */
const indexes = new WeakMap<KeyHashes, Index>();

export const areMany = (hashes: KeyHashes): boolean => hashes.length > MANY;

/** The place in `after` of its first hash that `before` has too, or -1. Of two large ones it is found out once, whoever asks. */
export function firstCommon(before: KeyHashes, after: KeyHashes): number {
  if (!areMany(after)) {
    if (areMany(before)) return firstIn(indexOf(before), after);
    return after.findIndex((hash) => before.includes(hash));
  }
  if (!areMany(before)) {
    const { places } = indexOf(after);
    let first = -1;
    for (const hash of before) {
      const place = places.get(hash);
      if (place >= 0 && (first < 0 || place < first)) first = place;
    }
    return first;
  }
  const index = indexOf(before);
  let first = index.firstOf.get(after);
  if (first === undefined) {
    first = firstIn(index, after);
    index.firstOf.set(after, first);
  }
  return first;
}

const firstIn = ({ places }: Index, hashes: KeyHashes): number => hashes.findIndex((hash) => places.get(hash) >= 0);

function indexOf(hashes: KeyHashes): Index {
  let index = indexes.get(hashes);
  if (index === undefined) {
    index = { places: new OrdinalTable(), firstOf: new WeakMap() };
    for (let place = hashes.length - 1; place >= 0; place--) index.places.set(hashes[place] ?? 0, place);
    indexes.set(hashes, index);
  }
  return index;
}
