import { ReplicationError } from "../base/error.ts";
import { countRows, rowsTableId } from "../binlog/events/rows.ts";
import { TableMaps } from "../binlog/events/table-map.ts";
import type { BinlogFormat } from "../binlog/format.ts";
import { type ReadOptions, readTransactions, type TransactionSink } from "../inspect/rows/transaction-reader.ts";
import type { BinlogInput } from "../inspect/input/input.ts";
import type { FollowedCounts } from "./render/follow.ts";

/** Reads on and on; `take` of what it gives answers what has come since it was called last. */
export function followCounts(
  inputs: readonly BinlogInput[],
  options: ReadOptions,
): { take(): FollowedCounts; done: Promise<unknown> } {
  const counter = new Counter();
  const onBytes = (bytes: number): void => {
    counter.bytes += bytes;
    options.onBytes?.(bytes);
  };
  const done = readTransactions(inputs, { ...options, onBytes }, counter);
  return { take: () => counter.take(), done };
}

class Counter implements TransactionSink {
  bytes = 0;
  #transactions = 0;
  #rows = 0;
  #statements = 0;
  readonly #maps = new TableMaps();
  readonly #byTable = new Map<string, number>();

  begin(): void {}
  opened(): void {}

  tableMap(event: Buffer, format: BinlogFormat): void {
    this.#maps.add(event, format);
  }

  rows(event: Buffer, format: BinlogFormat): void {
    const map = this.#maps.get(rowsTableId(event, format));
    if (map === undefined) throw new ReplicationError("GRAMMAR", "row events without a table map before them");
    const rows = countRows(event, map, format);
    const name = `${map.schema}.${map.table}`;
    this.#rows += rows;
    this.#byTable.set(name, (this.#byTable.get(name) ?? 0) + rows);
  }

  statement(): void {
    this.#statements++;
  }

  end(): void {
    this.#transactions++;
  }

  abandon(): void {}

  restart(): void {
    this.#maps.clear();
  }

  flush(): undefined {}

  take(): FollowedCounts {
    const counts: FollowedCounts = {
      transactions: this.#transactions,
      rows: this.#rows,
      statements: this.#statements,
      bytes: this.bytes,
      topTable: undefined,
    };
    for (const [name, rows] of this.#byTable) {
      if (rows > (counts.topTable?.rows ?? 0)) counts.topTable = { name, rows };
    }
    this.#transactions = this.#rows = this.#statements = this.bytes = 0;
    this.#byTable.clear();
    return counts;
  }
}
