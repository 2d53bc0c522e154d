import type { SchedulerTransaction } from "../schedule/scheduler-types.ts";
import type { Writeset } from "../schedule/writeset.ts";
import type { SimulatedTransaction, TableRows } from "./simulated-transaction.ts";

/** A transaction that became several, by the clock of its file. */
interface Added {
  sequenceNumber: number;
  /** How much later numbers behind it are, all splits before it counted in. */
  total: number;
}

/**
 * A log as if no transaction had more than a number of rows: larger ones are several, one after the other on the same session of the source, each with its part of rows, bytes and keys.
 * Ordinals and the source's clock are counted anew. Each part's clock says that it began when the part before it was committed, as a source tells whose clock counts commits.
 */
export class Splitter {
  readonly #rowsMax: number;
  #ordinal: number | undefined;
  #file = "";
  #added: Added[] = [];

  /** `rowsMax` undefined: nothing is split. */
  constructor(rowsMax: number | undefined) {
    this.#rowsMax = rowsMax ?? Infinity;
  }

  *of(transaction: SimulatedTransaction): Generator<SimulatedTransaction, undefined> {
    const { scheduler } = transaction;
    const parts = scheduler.barrier ? 1 : Math.max(1, Math.ceil(scheduler.rows / this.#rowsMax));
    if (parts === 1 && this.#added.length === 0 && this.#ordinal === undefined) {
      yield transaction;
      return undefined;
    }
    this.#ordinal ??= scheduler.ordinal - 1;
    if (this.#file !== scheduler.file) {
      this.#file = scheduler.file;
      this.#added = [];
    }
    const sequenceNumber = this.#later(scheduler.sequenceNumber);
    const lastCommitted = this.#later(scheduler.lastCommitted);
    for (let part = 0; part < parts; part++) {
      const clock = scheduler.sequenceNumber === 0 ? undefined : { sequenceNumber: sequenceNumber + part };
      const own: Partial<SchedulerTransaction> =
        clock === undefined ? {} : { ...clock, lastCommitted: part === 0 ? lastCommitted : sequenceNumber + part - 1 };
      yield {
        ...(parts === 1 ? transaction : partOf(transaction, part, parts)),
        scheduler: {
          ...(parts === 1 ? scheduler : schedulerPart(scheduler, part, parts)),
          ...own,
          ordinal: ++this.#ordinal,
        },
      };
    }
    if (parts > 1 && scheduler.sequenceNumber > 0) {
      const total = (this.#added.at(-1)?.total ?? 0) + parts - 1;
      this.#added.push({ sequenceNumber: scheduler.sequenceNumber, total });
    }
    return undefined;
  }

  /** The new number of what had this one; of a transaction that was split the last part's. */
  #later(sequenceNumber: number): number {
    let low = 0;
    let high = this.#added.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#added[middle]?.sequenceNumber ?? 0) <= sequenceNumber) low = middle + 1;
      else high = middle;
    }
    return sequenceNumber + (this.#added[low - 1]?.total ?? 0);
  }
}

/** What falls to one part of a whole number, so that all parts together are the whole. */
const share = (whole: number, part: number, parts: number): number =>
  Math.floor((whole * (part + 1)) / parts) - Math.floor((whole * part) / parts);

function partOf(transaction: SimulatedTransaction, part: number, parts: number): SimulatedTransaction {
  const rows = transaction.rows.map(({ table, inserts, updates, deletes, bytes }): TableRows => ({
    table,
    inserts: share(inserts, part, parts),
    updates: share(updates, part, parts),
    deletes: share(deletes, part, parts),
    bytes: share(bytes, part, parts),
  }));
  return { ...transaction, name: `${transaction.name} (part ${part + 1} of ${parts})`, rows };
}

const schedulerPart = (scheduler: SchedulerTransaction, part: number, parts: number): SchedulerTransaction => ({
  ...scheduler,
  alone: false,
  startsRun: scheduler.startsRun && part === 0,
  bytes: share(scheduler.bytes, part, parts),
  rows: share(scheduler.rows, part, parts),
  commitId: part === 0 ? scheduler.commitId : undefined,
  writeset: scheduler.writeset === undefined ? undefined : writesetPart(scheduler.writeset, part, parts),
});

function writesetPart({ writes, reads, fallback, opaque }: Writeset, part: number, parts: number): Writeset {
  const slice = (hashes: readonly number[]): readonly number[] =>
    hashes.slice(Math.floor((hashes.length * part) / parts), Math.floor((hashes.length * (part + 1)) / parts));
  return { writes: slice(writes), reads: slice(reads), fallback, opaque };
}
