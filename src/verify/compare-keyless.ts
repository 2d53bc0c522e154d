import type { CompareOptions, Comparison } from "./compare-keyed.ts";
import type { DifferentRow } from "./report.ts";
import { type Checksum, same, type Side } from "./side.ts";

/** Hashes of so many rows are fetched at once. */
const FETCHED_ROWS_MAX = 50_000;
const DIGITS_PER_STEP = 2;
const HASH_DIGITS = 56;

/**
 * Compares a table whose rows cannot be walked in one order on both sides, in one scan: how many rows there are and the sum of their hashes, so that order does
 * not matter and a row that is there twice does. What differs is then looked for by the first digits of the rows' hashes, with a scan per step.
 */
export async function compareKeyless(source: Side, target: Side, options: CompareOptions): Promise<Comparison> {
  const [sourceSum, targetSum] = await Promise.all([source.checksum(), target.checksum()]);
  options.onRows(sourceSum.rows);
  const comparison: Comparison = { rows: sourceSum.rows, chunks: 1, differences: [] };
  if (same(sourceSum, targetSum)) return comparison;
  const rows: DifferentRow[] = [];
  await search(source, target, "", sourceSum, targetSum, rows, options);
  comparison.differences.push({
    keyFrom: null,
    keyTo: null,
    sourceRows: sourceSum.rows,
    targetRows: targetSum.rows,
    rows,
  });
  return comparison;
}

async function search(
  source: Side,
  target: Side,
  prefix: string,
  sourceSum: Checksum,
  targetSum: Checksum,
  found: DifferentRow[],
  options: CompareOptions,
): Promise<void> {
  options.signal?.throwIfAborted();
  if (found.length >= options.rowsShownMax) return;
  if (Math.max(sourceSum.rows, targetSum.rows) > FETCHED_ROWS_MAX && prefix.length < HASH_DIGITS) {
    const length = prefix.length + DIGITS_PER_STEP;
    const [ours, theirs] = await Promise.all([source.buckets(prefix, length), target.buckets(prefix, length)]);
    const none: Checksum = { rows: 0, sum: "0" };
    for (const bucket of new Set([...ours.keys(), ...theirs.keys()])) {
      const [a, b] = [ours.get(bucket) ?? none, theirs.get(bucket) ?? none];
      if (!same(a, b)) await search(source, target, bucket, a, b, found, options);
    }
    return;
  }
  const [ours, theirs] = await Promise.all([source.hashCounts(prefix), target.hashCounts(prefix)]);
  for (const hash of new Set([...ours.keys(), ...theirs.keys()])) {
    const [a, b] = [ours.get(hash) ?? 0, theirs.get(hash) ?? 0];
    if (a === b) continue;
    if (found.length >= options.rowsShownMax) return;
    const values = await (a > b ? source : target).describeRow(hash);
    const times = a > 0 && b > 0 ? ` (${occurrences(a)} on the source, ${occurrences(b)} on the target)` : "";
    found.push({ row: `${values}${times}`, what: a > b ? "only on source" : "only on target" });
  }
}

function occurrences(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}
