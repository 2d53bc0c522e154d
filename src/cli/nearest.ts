/** `did you mean workers?`, when a known word is close enough. */
export function didYouMean(word: string, known: Iterable<string>): string | undefined {
  const nearest = nearestWord(word, known);
  return nearest === undefined ? undefined : `did you mean ${nearest}?`;
}

/** The known word closest to a mistyped one, if it is close enough to be meant: a third of its letters may be wrong. */
function nearestWord(word: string, known: Iterable<string>): string | undefined {
  let nearest: string | undefined;
  let distanceMin = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(word, candidate);
    if (distance < distanceMin) {
      nearest = candidate;
      distanceMin = distance;
    }
  }
  return nearest;
}

/** Levenshtein's: single letters added, removed or replaced. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
