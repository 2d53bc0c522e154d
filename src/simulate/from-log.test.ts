import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { findInputs } from "../inspect/input/input.ts";
import { transactionsOf } from "../inspect/input/transactions.ts";
import { LogTransactions } from "../inspect/scheduler-transactions.ts";
import type { Transaction } from "../transaction/transaction.ts";
import { FromLog } from "./from-log.ts";
import type { SimulatedTransaction } from "./simulated-transaction.ts";

/** Binlogs of other projects' tests, which are not part of this one. */
const FOLDER = fileURLToPath(new URL("../../../shared/binlogs", import.meta.url));
const FILES = existsSync(FOLDER) ? readdirSync(FOLDER) : [];

async function read(
  file: string,
  options: { withoutTables?: string[]; bytesInMemoryMax?: number } = {},
): Promise<{ transaction: Transaction; simulated: SimulatedTransaction }[]> {
  const { withoutTables = [], bytesInMemoryMax = 1 << 30 } = options;
  const log = new LogTransactions({ schema: undefined, withoutTables });
  const fromLog = new FromLog(withoutTables);
  const found: { transaction: Transaction; simulated: SimulatedTransaction }[] = [];
  const inputs = await findInputs([path.join(FOLDER, file)]);
  for await (const transaction of transactionsOf(inputs, { onFault: () => {}, bytesInMemoryMax })) {
    found.push({ transaction, simulated: fromLog.of(transaction, log.of(transaction)) });
  }
  return found;
}

const rowsOf = ({ rows }: SimulatedTransaction): number =>
  rows.reduce((sum, { inserts, updates, deletes }) => sum + inserts + updates + deletes, 0);

describe.skipIf(FILES.length === 0)("on real binlogs", () => {
  test.each(FILES)("rows by table of %s add up to those of each transaction", async (file) => {
    for (const { transaction, simulated } of await read(file)) {
      expect(rowsOf(simulated)).toBe(transaction.rows);
      expect(simulated.rows.map(({ table }) => table).sort()).toEqual([...transaction.tables].sort());
    }
  });

  test.each(FILES)(
    "of %s with transactions too large for memory the rows are known, not what they do",
    async (file) => {
      for (const { transaction, simulated } of await read(file, { bytesInMemoryMax: 100 })) {
        expect(rowsOf(simulated)).toBeCloseTo(transaction.rows, 6);
      }
    },
  );

  test("a table that is left out takes its rows and bytes with it", async () => {
    const file = FILES.find((name) => name.endsWith("sakila")) ?? "";
    const all = await read(file);
    const tables = new Set(all.flatMap(({ simulated }) => simulated.rows.map(({ table }) => table)));
    const [left] = tables;
    expect(left).toBeDefined();
    const without = await read(file, { withoutTables: [left ?? ""] });
    for (const [index, { simulated }] of without.entries()) {
      const before = all[index]?.simulated;
      const gone = before?.rows.find(({ table }) => table === left);
      expect(simulated.rows).toEqual(before?.rows.filter(({ table }) => table !== left));
      if (before === undefined || gone === undefined) continue;
      expect(simulated.scheduler.rows).toBe(before.scheduler.rows - gone.inserts - gone.updates - gone.deletes);
      expect(simulated.scheduler.bytes).toBe(before.scheduler.bytes - gone.bytes);
    }
  });
});
