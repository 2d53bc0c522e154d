import { type BinlogFormat, isSameFormat } from "../binlog/format.ts";
import { isPackable } from "../transaction/packable.ts";
import type { Transaction } from "../transaction/transaction.ts";
import type { SchedulerTransaction } from "./scheduler-types.ts";
import type { Writeset } from "./writeset.ts";

/**
 * What the scheduler is told of the transactions of one stream.
 *
 * Invariant: it sees each transaction once, in order: whether one can join those before it, and whose clock its numbers are of, depends on the ones before.
 */
export class SchedulerTransactions {
  #format: BinlogFormat | undefined;
  #formats = 0;
  #file = { name: "", key: "" };

  /** `ordinal`: one more than the last. `applied`: the target has it, though not all before it. */
  of(
    transaction: Transaction,
    { ordinal, writeset, applied }: { ordinal: number; writeset: Writeset | undefined; applied: boolean },
  ): SchedulerTransaction {
    const isPackableKind = isPackable(transaction);
    const file = this.#fileOf(transaction);
    return {
      ordinal,
      bytes: transaction.bytes,
      rows: transaction.rows,
      alone: !isPackableKind || !("events" in transaction.body),
      barrier: !isPackableKind,
      startsRun: !this.#continuesFormat(transaction.format),
      applied,
      file,
      lastCommitted: transaction.lastCommitted,
      sequenceNumber: transaction.sequenceNumber,
      commitId: transaction.commitId,
      sessionId: transaction.sessionId,
      schemas: transaction.schemas,
      writeset,
    };
  }

  /** With every format description the file counts as another one: the next source may have a file of the same name, and its own clock. */
  #fileOf({ start, format }: Transaction): string {
    if (this.#format !== format) this.#formats++;
    if (this.#format !== format || this.#file.name !== start.file) {
      this.#file = { name: start.file, key: `${this.#formats}/${start.file}` };
    }
    return this.#file.key;
  }

  #continuesFormat(format: BinlogFormat): boolean {
    const before = this.#format;
    this.#format = format;
    return before === undefined || isSameFormat(before, format);
  }
}
