import { beforeAll, expect, test } from "vitest";
import { dumpedSchema } from "../../test/helpers/offline-writesets.ts";
import { query, useServer } from "../../test/helpers/servers.ts";
import { transactionsOf } from "../../test/helpers/writesets.ts";
import type { Schema } from "../schema/dump.ts";
import type { Transaction } from "../transaction/transaction.ts";
import { Parallelism, type ParallelismReport } from "./parallelism/parallelism.ts";
import { LogTransactions } from "./scheduler-transactions.ts";

const server = useServer("mysql-9.7");

const ROWS = 60;
const HOT = 20;

let log: Transaction[] = [];
let schema: Schema = { tables: [], foreignKeys: [] };

beforeAll(async () => {
  await query(server(), "CREATE DATABASE w");
  log = await transactionsOf(server(), [
    "USE w",
    "CREATE TABLE many(id INT PRIMARY KEY, n INT)",
    "CREATE TABLE hot(id INT PRIMARY KEY, n INT)",
    "INSERT INTO hot VALUES (1,0)",
    ...Array.from({ length: ROWS }, (_, id) => `INSERT INTO many VALUES (${id},0)`),
    ...Array.from({ length: HOT }, (_, n) => `UPDATE hot SET n=${n + 1} WHERE id=1`),
  ]);
  schema = await dumpedSchema(server(), "w");
});

function reportOf(withoutTables: readonly string[]): ParallelismReport {
  const transactions = new LogTransactions({ schema, withoutTables });
  const parallelism = new Parallelism(["single", "logical-clock", "writeset", "optimistic", "auto"]);
  for (const [index, transaction] of log.entries()) {
    if (index === 0) parallelism.see(transaction.format.flavour, transaction.format.serverVersion);
    parallelism.push(transactions.of(transaction));
  }
  return parallelism.report();
}

test("a hot row is the longest chain under writeset, and under the clock of a source that counts writesets", () => {
  const report = reportOf([]);
  const of = (name: string) => report.policies.find(({ policy }) => policy === name);
  const all = log.length;
  expect(all).toBe(ROWS + HOT + 3);
  expect(of("single")).toMatchObject({ meanReady: 1, p95Ready: 1, longestChain: all });
  // The two definitions, and the row with all its changes.
  expect(of("writeset")).toMatchObject({ longestChain: 2 + 1 + HOT, meanReady: all / (3 + HOT) });
  expect(of("writeset")?.waits).toEqual({ conflict: HOT, barrier: 1, "behind-barrier": ROWS + 1 });
  expect(of("optimistic")).toMatchObject({ longestChain: 3 });
  expect(of("auto")).toEqual({ ...of("logical-clock"), policy: "auto" });
  expect(of("logical-clock")?.longestChain).toBeGreaterThanOrEqual(2 + 1 + HOT);
  expect(report.commitParentDistance.reduce((sum, { transactions }) => sum + transactions, 0)).toBe(all);
});

test("without the table of that row there is no chain", () => {
  const writeset = reportOf(["w.hot"]).policies.find(({ policy }) => policy === "writeset");
  expect(writeset).toMatchObject({ longestChain: 3 });
  expect(writeset?.waits.conflict).toBeUndefined();
});
