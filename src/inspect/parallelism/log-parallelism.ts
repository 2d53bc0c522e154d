import { ReplicationError } from "../../base/error.ts";
import type { BinlogFormat } from "../../binlog/format.ts";
import { POLICY_NAMES } from "../../schedule/policies/policies.ts";
import type { Schema } from "../../schema/dump.ts";
import type { BinlogInput } from "../input/input.ts";
import type { Range } from "../input/range.ts";
import { transactionsOf } from "../input/transactions.ts";
import { LogTransactions } from "../scheduler-transactions.ts";
import { Parallelism, type ParallelismReport } from "./parallelism.ts";

/** More of a transaction is not looked at: it counts as one that depends on all before it. */
const BYTES_IN_MEMORY_MAX = 8 << 20;

/** The parallelism of a log under every policy: reads it once more, some 30 µs a transaction. Its faults are those that `inspect` tells. */
export async function parallelismOf(
  inputs: readonly BinlogInput[],
  options: { range: Range | undefined; schema: Schema | undefined; onBytes: (bytes: number) => void },
): Promise<ParallelismReport> {
  const { range, schema, onBytes } = options;
  const log = new LogTransactions({ schema });
  const parallelism = new Parallelism(POLICY_NAMES);
  let format: BinlogFormat | undefined;
  const transactions = transactionsOf(inputs, {
    ...(range === undefined ? {} : { range }),
    onFault: () => {},
    onBytes,
    bytesInMemoryMax: BYTES_IN_MEMORY_MAX,
  });
  for await (const transaction of transactions) {
    if (transaction.format !== format) {
      format = transaction.format;
      parallelism.see(format.flavour, format.serverVersion);
    }
    try {
      parallelism.push(log.of(transaction));
    } catch (error) {
      // Its rows cannot be read: it is among the faults.
      if (!(error instanceof ReplicationError)) throw error;
    }
  }
  return parallelism.report();
}
