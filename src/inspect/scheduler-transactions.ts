import { SchedulerTransactions } from "../schedule/scheduler-transactions.ts";
import type { SchedulerTransaction } from "../schedule/scheduler-types.ts";
import type { Transaction } from "../transaction/transaction.ts";
import { OfflineWritesets, type OfflineWritesetsOptions } from "./keys/writesets.ts";
import { WithoutTables } from "./keys/without-tables.ts";

/**
 * The transactions of a log as the scheduler of a replica would be told of them, in the order of the log. With `withoutTables` their rows are in no writeset and their schemas
 * are not changed; `bytes` and `rows` are still those of the log.
 */
export class LogTransactions {
  readonly writesets: OfflineWritesets;
  readonly #stream = new SchedulerTransactions();
  readonly #without: WithoutTables;
  #ordinal = 0;

  constructor(options: OfflineWritesetsOptions) {
    this.writesets = new OfflineWritesets(options);
    this.#without = new WithoutTables(options.withoutTables ?? []);
  }

  /** @throws as OfflineWritesets */
  of(transaction: Transaction): SchedulerTransaction {
    const writeset = this.writesets.of(transaction);
    // Counted behind what may throw: the scheduler knows no gaps.
    const ordinal = ++this.#ordinal;
    const told = this.#stream.of(transaction, { ordinal, writeset, applied: false });
    if (!this.#without.touches(transaction)) return told;
    return { ...told, schemas: this.#without.schemasOf(transaction) };
  }
}
