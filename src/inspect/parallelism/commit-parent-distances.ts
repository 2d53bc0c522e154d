import type { SchedulerTransaction } from "../../schedule/scheduler-types.ts";

/** Transactions whose `sequence_number - last_committed` is at most this and above half of it. */
export interface DistanceCount {
  upTo: number;
  transactions: number;
}

/** How far back the source's clock says that a transaction must wait: 1 is the one right before. By powers of two; without a clock nothing is counted. */
export class CommitParentDistances {
  readonly #byPower: number[] = [];

  push({ sequenceNumber, lastCommitted }: SchedulerTransaction): void {
    if (sequenceNumber <= lastCommitted) return;
    const power = Math.ceil(Math.log2(sequenceNumber - lastCommitted));
    this.#byPower[power] = (this.#byPower[power] ?? 0) + 1;
  }

  /** From 1 on, without holes. */
  counts(): DistanceCount[] {
    return Array.from(this.#byPower, (transactions: number | undefined, power) => ({
      upTo: 2 ** power,
      transactions: transactions ?? 0,
    }));
  }
}
