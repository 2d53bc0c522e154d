import type { SchedulerTransaction } from "../scheduler-types.ts";

/** Gap-free stretches of sequence numbers that are remembered. A log without filtered transactions has one per file; 4,096 of them are 64 KiB. */
const STRETCHES_MAX = 4_096;

/**
 * What the source says about order, as an ordinal: everything up to a transaction's commit parent had committed on the source when the transaction was about to commit
 * itself; whatever lies between the two ran beside it there.
 *
 * - MySQL 5.7 and later write `last_committed` and `sequence_number` into every GTID event (`sql/rpl_mta_submode.cc`, Mts_submode_logical_clock): T may run when every
 *   transaction with a sequence number ≤ T's last_committed has committed. Both count from the start of their binlog file, so a new file, or a number that does
 *   not grow, waits for everything before. last_committed 0 (SEQ_UNINIT: the parent lies in a former file), a last_committed that is not below the own number, or
 *   no clock at all waits for everything before; what comes behind an unclocked one waits for it.
 * - MariaDB 10.0 and later write a commit id into the GTID events of a group commit of two or more (`sql/rpl_parallel.cc`, rpl_parallel::do_event, mode conservative):
 *   neighbours with one id run together; a new id, or none, waits for everything before.
 *
 * The server also makes a transaction behind a gap in the numbers wait for all before, as its low-water mark cannot see over a gap. Here the number alone decides: a
 * filtered transaction changes nothing on the target, and what it depended on itself is below its number.
 *
 * The invariant: an answer is never below the true parent. So it must be told of every transaction, in order, and `file` must differ between two sources: the clock of
 * another source counts other transactions.
 */
export class SourceClock {
  #file = "";
  #lastSequenceNumber = 0;
  #group: { commitId: bigint; parent: number } | undefined;
  /** Where each gap-free stretch of sequence numbers begins: a number and the ordinal that has it. Both grow. What is not in a stretch lies before the first. */
  readonly #numbers: number[] = [];
  readonly #ordinals: number[] = [];

  /** The last ordinal that the transaction must wait for by the source's word; `ordinal - 1` when the source says nothing. */
  commitParent(transaction: SchedulerTransaction): number {
    const { ordinal, file, lastCommitted, sequenceNumber, commitId } = transaction;
    const before = ordinal - 1;
    if (file !== this.#file) this.#startAnew(file);
    if (sequenceNumber <= lastCommitted) {
      if (commitId !== undefined && commitId === this.#group?.commitId) return this.#group.parent;
      this.#startAnew(file);
      if (commitId !== undefined) this.#group = { commitId, parent: before };
      return before;
    }
    if (sequenceNumber <= this.#lastSequenceNumber || this.#group !== undefined) this.#startAnew(file);
    this.#lastSequenceNumber = sequenceNumber;
    this.#extend(sequenceNumber, ordinal);
    return lastCommitted === 0 ? before : this.#ordinalOf(lastCommitted, before);
  }

  #startAnew(file: string): void {
    this.#file = file;
    this.#lastSequenceNumber = 0;
    this.#group = undefined;
    this.#numbers.length = 0;
    this.#ordinals.length = 0;
  }

  #extend(sequenceNumber: number, ordinal: number): void {
    const last = this.#numbers.length - 1;
    const number = this.#numbers[last];
    const first = this.#ordinals[last];
    if (number !== undefined && first !== undefined && sequenceNumber - number === ordinal - first) return;
    if (this.#numbers.length >= STRETCHES_MAX) {
      this.#numbers.splice(0, STRETCHES_MAX / 2);
      this.#ordinals.splice(0, STRETCHES_MAX / 2);
    }
    this.#numbers.push(sequenceNumber);
    this.#ordinals.push(ordinal);
  }

  /** The newest ordinal whose sequence number is ≤ this one. Of forgotten stretches, which are long past, the end of the newest. */
  #ordinalOf(sequenceNumber: number, before: number): number {
    let low = 0;
    let high = this.#numbers.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#numbers[middle] ?? 0) <= sequenceNumber) low = middle + 1;
      else high = middle;
    }
    const next = this.#ordinals[low];
    const end = next === undefined ? before : next - 1;
    if (low === 0) return end;
    return Math.min(end, (this.#ordinals[low - 1] ?? 0) + sequenceNumber - (this.#numbers[low - 1] ?? 0));
  }
}
