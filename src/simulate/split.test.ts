import { expect, test } from "vitest";
import type { SimulatedTransaction } from "./simulated-transaction.ts";
import { Splitter } from "./split.ts";

function transactionOf(
  ordinal: number,
  rows: number,
  different: Partial<SimulatedTransaction["scheduler"]> = {},
): SimulatedTransaction {
  return {
    scheduler: {
      ordinal,
      bytes: rows * 100,
      rows,
      alone: rows > 1_000,
      barrier: false,
      startsRun: true,
      applied: false,
      file: "binlog.000001",
      lastCommitted: ordinal - 1,
      sequenceNumber: ordinal,
      commitId: 7n,
      sessionId: 1,
      schemas: new Set(["shop"]),
      writeset: { writes: Array.from({ length: rows }, (_, row) => row), reads: [], fallback: false, opaque: false },
      ...different,
    },
    committedAtUs: 1,
    name: `u:${ordinal}`,
    rows: [{ table: "shop.orders", inserts: rows, updates: 0, deletes: 0, bytes: rows * 100 }],
  };
}

const split = (splitter: Splitter, ...transactions: SimulatedTransaction[]): SimulatedTransaction[] =>
  transactions.flatMap((transaction) => [...splitter.of(transaction)]);

test("small transactions pass as they are", () => {
  const transaction = transactionOf(1, 10);
  expect(split(new Splitter(10), transaction)).toEqual([transaction]);
  expect(split(new Splitter(undefined), transactionOf(2, 1_000_000 / 1_000))).toHaveLength(1);
});

test("the parts of a large one have all of its rows, bytes and keys, and can be packed", () => {
  const parts = split(new Splitter(1_000), transactionOf(1, 2_500));
  expect(parts.map(({ scheduler }) => scheduler.rows)).toEqual([833, 833, 834]);
  expect(parts.reduce((sum, { scheduler }) => sum + scheduler.bytes, 0)).toBe(250_000);
  expect(parts.flatMap(({ scheduler }) => scheduler.writeset?.writes)).toHaveLength(2_500);
  expect(parts.reduce((sum, { rows }) => sum + (rows[0]?.inserts ?? 0), 0)).toBe(2_500);
  expect(parts.map(({ scheduler }) => scheduler.alone)).toEqual([false, false, false]);
  expect(parts.map(({ scheduler }) => scheduler.startsRun)).toEqual([true, false, false]);
  expect(parts.map(({ name }) => name)).toEqual(["u:1 (part 1 of 3)", "u:1 (part 2 of 3)", "u:1 (part 3 of 3)"]);
});

test("ordinals and the source's clock go on behind the parts", () => {
  const parts = split(
    new Splitter(10),
    transactionOf(1, 5),
    transactionOf(2, 20),
    transactionOf(3, 5),
    transactionOf(4, 5, { lastCommitted: 1 }),
  );
  expect(
    parts.map(({ scheduler: { ordinal, lastCommitted, sequenceNumber } }) => [ordinal, lastCommitted, sequenceNumber]),
  ).toEqual([
    [1, 0, 1],
    [2, 1, 2],
    [3, 2, 3],
    // What waited for the whole of 2 waits for its last part; what waited for 1 does so still.
    [4, 3, 4],
    [5, 1, 5],
  ]);
});

test("the clock begins anew in each file, and no clock stays none", () => {
  const other = { file: "binlog.000002", lastCommitted: 0, sequenceNumber: 1 };
  const parts = split(new Splitter(10), transactionOf(1, 20), transactionOf(2, 5, other));
  expect(parts.at(-1)?.scheduler).toMatchObject({ ordinal: 3, lastCommitted: 0, sequenceNumber: 1 });
  const none = split(new Splitter(10), transactionOf(1, 20, { lastCommitted: 0, sequenceNumber: 0 }));
  expect(none.map(({ scheduler }) => scheduler.sequenceNumber)).toEqual([0, 0]);
});

test("DDL is never split", () => {
  expect(split(new Splitter(10), transactionOf(1, 20, { barrier: true }))).toHaveLength(1);
});
