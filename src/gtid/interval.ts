/** Closed intervals of 64-bit numbers; a list of them is sorted, and no two of its intervals overlap or touch. */
export interface GtidInterval {
  first: bigint;
  last: bigint;
}

/** Index of the first interval whose `last` is at or past `value`; the list's length when there is none. */
function indexAt(list: readonly GtidInterval[], value: bigint): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((list[middle] as GtidInterval).last < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function includes(list: readonly GtidInterval[], value: bigint): boolean {
  const found = list[indexAt(list, value)];
  return found !== undefined && found.first <= value;
}

/** Adds in place. */
export function insert(list: GtidInterval[], first: bigint, last: bigint): void {
  const newest = list.at(-1);
  if (newest !== undefined && newest.last + 1n === first) {
    newest.last = last;
    return;
  }
  // Those that overlap or touch become one: from `start` up to the one that begins past last + 1.
  const start = indexAt(list, first - 1n);
  let end = start;
  let from = first;
  let to = last;
  for (let one = list[end]; one !== undefined && one.first <= last + 1n; one = list[++end]) {
    if (one.first < from) from = one.first;
    if (one.last > to) to = one.last;
  }
  list.splice(start, end - start, { first: from, last: to });
}

export function intersection(a: readonly GtidInterval[], b: readonly GtidInterval[]): GtidInterval[] {
  const result: GtidInterval[] = [];
  let j = 0;
  for (const { first, last } of a) {
    while (j < b.length && (b[j] as GtidInterval).last < first) j++;
    for (let k = j; k < b.length && (b[k] as GtidInterval).first <= last; k++) {
      const other = b[k] as GtidInterval;
      result.push({
        first: first > other.first ? first : other.first,
        last: last < other.last ? last : other.last,
      });
    }
  }
  return result;
}

export function difference(a: readonly GtidInterval[], b: readonly GtidInterval[]): GtidInterval[] {
  const result: GtidInterval[] = [];
  let j = 0;
  for (const { first, last } of a) {
    let from = first;
    while (j < b.length && (b[j] as GtidInterval).last < first) j++;
    for (let k = j; k < b.length && (b[k] as GtidInterval).first <= last; k++) {
      const hole = b[k] as GtidInterval;
      if (hole.first > from) result.push({ first: from, last: hole.first - 1n });
      if (hole.last >= from) from = hole.last + 1n;
    }
    if (from <= last) result.push({ first: from, last });
  }
  return result;
}
