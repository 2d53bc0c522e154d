import { ReplicationError } from "../base/error.ts";
import type { Transaction } from "../transaction/transaction.ts";
import { didYouMean } from "./nearest.ts";

/** Names that a log has, as far as they are remembered to find what may have been meant. */
const NAMES_MAX = 10_000;

/** Tables that flags and files name: what is said of one that the log does not change comes to nothing, and its owner should know. */
export class NamedTables {
  /** Which were named by whom, as `--with-key shop.orders(id)`, by `schema.table`. */
  readonly #missing = new Map<string, string[]>();
  readonly #met = new Set<string>();

  add(table: string, by: string): void {
    const all = this.#missing.get(table);
    if (all === undefined) this.#missing.set(table, [by]);
    else all.push(by);
  }

  meet({ tables }: Transaction): void {
    if (this.#missing.size === 0) return;
    for (const table of tables) {
      this.#missing.delete(table);
      if (this.#met.size < NAMES_MAX) this.#met.add(table);
    }
  }

  /** A sentence for each that was not met. */
  notes(): string[] {
    return [...this.#missing].flatMap(([table, all]) => {
      const meant = didYouMean(table, this.#met);
      return all.map(
        (by) =>
          `${by} changes nothing: what was read of the log has no rows of ${table}${meant === undefined ? "" : `; ${meant}`}`,
      );
    });
  }
}

/** `schema.table`. @throws ReplicationError CONFIG */
export function checkTable(flag: string, table: string): void {
  if (/^[^.]+\../s.test(table)) return;
  throw new ReplicationError("CONFIG", `${flag} ${JSON.stringify(table)} is no table`, {
    hint: "write it as shop.sessions: schema, dot, table",
  });
}
