import type { HotRow } from "../report.ts";
import type { ChangedRow } from "./row-keys.ts";

/** Rows that are followed over the whole log. */
const ROWS_MAX = 2000;
const ROWS_REPORTED = 20;

interface Followed extends ChangedRow {
  /** What it may have been changed beside `count`, less `#unseen`, which grows with each part: in those in which it was seen nothing was missed. */
  missed: number;
}

/**
 * The most changed rows of a log, from those of its parts, with so many of them followed at a time (Metwally, Agrawal, El Abbadi: Space-Saving).
 *
 * Invariant: a followed row was changed at least `count` times, and at most `missed + #unseen` times more.
 */
export class HotRows {
  readonly #followed = new Map<string, Followed>();
  /** What a row may have been changed in the parts so far without being followed. */
  #unseen = 0;
  /** What one that is not followed may have been changed, more than that: the most changed of those that were forgotten. */
  #forgotten = 0;

  /** `rows`: of one part, the most changed first; `untold`: so often a row that is not among them may have been changed there. */
  addPart(rows: readonly ChangedRow[], untold: number): void {
    for (const row of rows) {
      const name = `${row.table}\0${row.key}`;
      const followed = this.#followed.get(name);
      if (followed === undefined) this.#followed.set(name, { ...row, missed: this.#forgotten - untold });
      else {
        followed.count += row.count;
        followed.missed -= untold;
      }
    }
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
        countMax: count + missed + this.#unseen,
        share: changedRows === 0 ? 0 : count / changedRows,
      }));
  }

  #forget(): void {
    const byCount = [...this.#followed].toSorted(([, a], [, b]) => b.count - a.count);
    for (const [name, { count, missed }] of byCount.slice(ROWS_MAX)) {
      this.#forgotten = Math.max(this.#forgotten, count + missed);
      this.#followed.delete(name);
    }
  }
}
