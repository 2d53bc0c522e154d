import type { HotRow } from "../report.ts";
import type { ChangedRow } from "./row-keys.ts";

/** Rows that are followed over the whole log. */
const ROWS_MAX = 2000;
const ROWS_REPORTED = 20;

interface Followed extends ChangedRow {
  /** Changes that may have been before it was followed. */
  missed: number;
}

/**
 * The most changed rows of a log, from those of its parts, with so many of them followed at a time (Metwally, Agrawal, El Abbadi: Space-Saving).
 *
 * Invariant: a followed row was changed at least `count` times and at most `count + missed` times.
 */
export class HotRows {
  readonly #followed = new Map<string, Followed>();
  /** What a row may have been changed in the parts so far without being followed. */
  #unseen = 0;

  /** `rows`: of one part, the most changed first; `untold`: so often a row that is not among them may have been changed there. */
  addPart(rows: readonly ChangedRow[], untold: number): void {
    const inPart = new Set<string>();
    for (const row of rows) {
      const name = `${row.table}\0${row.key}`;
      inPart.add(name);
      const followed = this.#followed.get(name);
      if (followed === undefined) this.#followed.set(name, { ...row, missed: this.#unseen });
      else followed.count += row.count;
    }
    for (const [name, followed] of this.#followed) if (!inPart.has(name)) followed.missed += untold;
    this.#unseen += untold;
    if (this.#followed.size > 2 * ROWS_MAX) this.#forget();
  }

  report(changedRows: number): HotRow[] {
    return [...this.#followed.values()]
      .filter(({ count }) => count > 1)
      .toSorted((a, b) => b.count - a.count)
      .slice(0, ROWS_REPORTED)
      .map(({ table, key, guessed, count, missed }) => ({
        table,
        key,
        guessed,
        count,
        countMax: count + missed,
        share: changedRows === 0 ? 0 : count / changedRows,
      }));
  }

  #forget(): void {
    const byCount = [...this.#followed].toSorted(([, a], [, b]) => b.count - a.count);
    for (const [name, { count, missed }] of byCount.slice(ROWS_MAX)) {
      this.#unseen = Math.max(this.#unseen, count + missed);
      this.#followed.delete(name);
    }
  }
}
