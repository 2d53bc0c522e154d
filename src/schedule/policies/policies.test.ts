import fc from "fast-check";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { playPolicyScript } from "../../../test/helpers/policy-script.ts";
import { ServerWritesetTracker } from "../../../test/helpers/server-writeset-tracker.ts";
import type { Dependencies, Policy } from "../policy.ts";
import type { SchedulerTransaction } from "../scheduler-types.ts";
import { EMPTY_WRITESET, type Writeset } from "../writeset.ts";
import { logicalClockPolicy } from "./logical-clock.ts";
import { OrdinalTable } from "./ordinal-table.ts";
import { POLICIES, POLICY_NAMES } from "./policies.ts";
import { WritesetHistory } from "./writeset-history.ts";
import { writesetPolicy } from "./writeset.ts";

const FOLDER = new URL("testdata/", import.meta.url);

describe("scripts: ABREAST_REWRITE=1 writes the answers, the diff is the review", () => {
  for (const name of readdirSync(FOLDER)) {
    test(name, () => {
      const script = readFileSync(new URL(name, FOLDER), "utf8");
      const played = playPolicyScript(script);
      if (process.env["ABREAST_REWRITE"] === "1") writeFileSync(new URL(name, FOLDER), played);
      else expect(played).toBe(script);
    });
  }
});

const keys = fc.array(fc.nat(7), { maxLength: 4 });
const writesets: fc.Arbitrary<Writeset> = fc.record({
  writes: keys,
  reads: fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, keys),
  fallback: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
  opaque: fc.integer({ min: 0, max: 19 }).map((n) => n === 0),
});
const parts = fc.record({
  writeset: writesets,
  sessionId: fc.option(fc.nat(3), { nil: undefined, freq: 10 }),
  barrier: fc.integer({ min: 0, max: 29 }).map((n) => n === 0),
  schema: fc.nat(4),
  commitId: fc.option(fc.bigInt(1n, 3n), { nil: undefined }),
  gap: fc.integer({ min: -2, max: 12 }).map((n) => (n > 3 ? 1 : n)),
  back: fc.nat(12),
  newFile: fc.integer({ min: 0, max: 19 }).map((n) => n === 0),
  clock: fc.integer({ min: 0, max: 9 }).map((n) => n > 0),
});
type Part = typeof parts extends fc.Arbitrary<infer T> ? T : never;
const loads = fc.array(parts, { minLength: 1, maxLength: 40 });

describe("every policy", () => {
  for (const name of POLICY_NAMES) {
    test(`${name}: waits for earlier transactions only, the first for all before it, and never again for less`, () => {
      fc.assert(
        fc.property(
          loads,
          fc.nat(50),
          fc.integer({ min: 1, max: 6 }),
          fc.constantFrom(clocked, grouped, plain),
          (load, start, historySize, shape) => {
            const answers = ask(POLICIES[name].make({ historySize }), shape(load, start));
            expect(answers[0]).toEqual({ upTo: start, also: [] });
            for (const [index, { upTo, also }] of answers.entries()) {
              const ordinal = start + 1 + index;
              expect(upTo).toBeGreaterThanOrEqual(start);
              expect(upTo).toBeLessThan(ordinal);
              expect([...also].sort((a, b) => a - b)).toEqual(
                [...new Set(also)].filter((one) => one > upTo && one < ordinal).sort((a, b) => a - b),
              );
            }
          },
        ),
      );
    });
  }
});

describe("database", () => {
  test("transactions of one schema are in order, and one that belongs to no single schema with all others", () => {
    fc.assert(
      fc.property(loads, (load) => {
        const transactions = plain(load, 0);
        const order = closure(ask(POLICIES.database.make(), transactions));
        const isSingle = ({ barrier, schemas }: SchedulerTransaction) => !barrier && schemas.size === 1;
        for (const [one, other] of pairs(transactions)) {
          const together = isSingle(one) && isSingle(other) && [...one.schemas][0] !== [...other.schemas][0];
          if (!together) expect(order.isBefore(one.ordinal, other.ordinal)).toBe(true);
        }
      }),
    );
  });
});

describe("writeset", () => {
  for (const name of ["writeset", "writeset-session"] as const) {
    test(`${name}: two transactions in conflict are always in order, with any size of history, without a clock`, () => {
      fc.assert(
        fc.property(loads, fc.integer({ min: 1, max: 30 }), (load, historySize) => {
          const transactions = plain(load, 0);
          const order = closure(ask(POLICIES[name].make({ historySize }), transactions));
          for (const [one, other] of pairs(transactions))
            if (conflict(one, other, true) || (name === "writeset-session" && sameSession(one, other)))
              expect(order.isBefore(one.ordinal, other.ordinal)).toBe(true);
        }),
      );
    });

    test(`${name}: and with a source's clock`, () => {
      fc.assert(
        fc.property(loads, fc.integer({ min: 1, max: 30 }), (load, historySize) => {
          const transactions = truthfullyClocked(load);
          const order = closure(ask(POLICIES[name].make({ historySize }), transactions));
          for (const [one, other] of pairs(transactions))
            if (conflict(one, other, false) || (name === "writeset-session" && sameSession(one, other)))
              expect(order.isBefore(one.ordinal, other.ordinal)).toBe(true);
        }),
      );
    });
  }

  test("without limits it waits for nobody it is not in conflict with", () => {
    fc.assert(
      fc.property(fc.array(writesets, { minLength: 2, maxLength: 8 }), (load) => {
        const transactions = load.map(({ writes, reads }, index) =>
          transaction(index + 1, { writeset: { writes, reads, fallback: false, opaque: false } }),
        );
        const answers = ask(writesetPolicy({ historySize: 1_000 }), transactions);
        const order = closure(answers);
        const truly = closure(
          transactions.map((one) => ({
            upTo: 0,
            also: transactions
              .filter((other) => other.ordinal < one.ordinal && conflict(other, one, true))
              .map(({ ordinal }) => ordinal),
          })),
        );
        for (const [one, other] of pairs(transactions))
          expect(order.isBefore(one.ordinal, other.ordinal)).toBe(truly.isBefore(one.ordinal, other.ordinal));
      }),
    );
  });

  test("a commit parent is never later than the server's own for the same transactions and size", () => {
    fc.assert(
      fc.property(loads, fc.integer({ min: 1, max: 12 }), fc.boolean(), (load, historySize, withClock) => {
        const transactions = withClock
          ? truthfullyClocked(load)
          : plain(load, 0).map((one) => ({ ...one, barrier: false }));
        const server = new ServerWritesetTracker(historySize);
        const answers = ask(writesetPolicy({ historySize }), transactions);
        for (const [index, { ordinal, lastCommitted, writeset = EMPTY_WRITESET }] of transactions.entries()) {
          const servers = server.commitParent({
            sequenceNumber: ordinal,
            commitParent: withClock ? lastCommitted : ordinal - 1,
            hashes: new Set([...writeset.writes, ...writeset.reads]),
            missingKeys: writeset.fallback,
            relatedForeignKeys: writeset.opaque,
          });
          const { upTo = 0, also = [] } = answers[index] ?? {};
          expect(Math.max(upTo, ...also)).toBeLessThanOrEqual(servers);
        }
      }),
      { numRuns: 500 },
    );
  });

  test("its memory is two histories at most, whatever the size of a transaction", () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ writes: fc.array(fc.nat(200)), reads: fc.array(fc.nat(200)) })),
        fc.integer({ min: 1, max: 9 }),
        (load, size) => {
          const history = new WritesetHistory(size, 0);
          for (const [index, { writes, reads }] of load.entries()) {
            history.remember({ writes, reads, fallback: false, opaque: false }, index + 1);
            expect(history.counts.writers).toBeLessThanOrEqual(2 * size);
            expect(history.counts.readers).toBeLessThanOrEqual(2 * size);
          }
        },
      ),
    );
  });

  test("a parent with a thousand children waits for all of them, the last eight by name", () => {
    const policy = writesetPolicy({ historySize: 10_000 });
    ask(
      policy,
      Array.from({ length: 1_000 }, (_, index) =>
        transaction(index + 1, { writeset: { ...EMPTY_WRITESET, writes: [index + 1], reads: [0] } }),
      ),
    );
    const { upTo, also } = policy.dependencies(transaction(1_001, { writeset: { ...EMPTY_WRITESET, writes: [0] } }));
    expect(also.length).toBeLessThanOrEqual(8);
    expect([...Array.from({ length: upTo }, (_, index) => index + 1), ...also]).toHaveLength(1_000);
  });
});

describe("logical-clock", () => {
  test("waits for exactly those that the server's rule names, over any list of files, gaps and restarts", () => {
    fc.assert(
      fc.property(loads, fc.constantFrom(clocked, grouped), (load, shape) => {
        const transactions = shape(load, 0);
        const answers = ask(logicalClockPolicy(), transactions);
        for (const [index, one] of transactions.entries()) {
          const named = transactions.slice(0, index).filter((other) => serversRule(other, one, transactions));
          expect({ ordinal: one.ordinal, ...answers[index] }).toEqual({
            ordinal: one.ordinal,
            upTo: named.length,
            also: [],
          });
        }
      }),
      { numRuns: 500 },
    );
  });

  test("with more gaps than it remembers it waits for too much rather than for too little", () => {
    const policy = logicalClockPolicy();
    for (let ordinal = 1; ordinal <= 6_000; ordinal++) {
      const { upTo } = policy.dependencies(
        transaction(ordinal, { sequenceNumber: ordinal * 2, lastCommitted: ordinal < 10 ? 1 : ordinal }),
      );
      const exactly = ordinal < 10 ? 0 : Math.floor(ordinal / 2);
      expect(upTo).toBeGreaterThanOrEqual(ordinal === 1 ? 0 : Math.min(exactly, ordinal - 1));
      expect(upTo).toBeLessThan(ordinal);
      if (ordinal > 10 && ordinal < 4_000) expect(upTo).toBe(exactly);
    }
  });
});

/**
 * The rule as the server's sources say it, by looking at the whole list: must `one` wait for the earlier `other`? Yes if there is no clock to compare, which is so
 * across a change of file, a number that does not grow, and a transaction without a clock; else if `other`'s number is not above `one`'s last_committed.
 */
function serversRule(
  other: SchedulerTransaction,
  one: SchedulerTransaction,
  all: readonly SchedulerTransaction[],
): boolean {
  const between = all.slice(other.ordinal - 1, one.ordinal);
  const hasClock = ({ sequenceNumber, lastCommitted }: SchedulerTransaction) => sequenceNumber > lastCommitted;
  if (between.every((each) => !hasClock(each)))
    return (
      one.commitId === undefined || !between.every((each) => each.commitId === one.commitId && each.file === one.file)
    );
  const comparable = between.every(
    (each, index) =>
      hasClock(each) && each.file === one.file && each.sequenceNumber > (between[index - 1]?.sequenceNumber ?? 0),
  );
  return !comparable || one.lastCommitted === 0 || other.sequenceNumber <= one.lastCommitted;
}

const ask = (policy: Policy, transactions: readonly SchedulerTransaction[]): Dependencies[] =>
  transactions.map((one) => policy.dependencies(one));

function transaction(ordinal: number, its: Partial<SchedulerTransaction>): SchedulerTransaction {
  return {
    ordinal,
    bytes: 100,
    rows: 1,
    alone: false,
    barrier: false,
    startsRun: false,
    applied: false,
    file: "binlog.000001",
    lastCommitted: 0,
    sequenceNumber: 0,
    commitId: undefined,
    sessionId: undefined,
    schemas: new Set(),
    writeset: EMPTY_WRITESET,
    ...its,
  };
}

const common = ({ writeset, sessionId, barrier, schema }: Part) => ({
  writeset,
  sessionId,
  barrier,
  schemas: new Set(schema === 0 ? [] : schema === 4 ? ["s1", "s2"] : [`s${schema}`]),
});

/** Of a source without a clock. */
const plain = (load: readonly Part[], start: number): SchedulerTransaction[] =>
  load.map((part, index) => transaction(start + 1 + index, common(part)));

/** Of a MySQL source, with gaps, files, and numbers that contradict themselves. */
function clocked(load: readonly Part[], start: number): SchedulerTransaction[] {
  let file = 1;
  let number = 0;
  return load.map((part, index) => {
    if (part.newFile) file++;
    number = Math.max(1, part.newFile ? 1 : number + part.gap);
    const clock = part.clock ? { sequenceNumber: number, lastCommitted: Math.max(0, number - part.back) } : {};
    return transaction(start + 1 + index, { ...common(part), ...clock, file: `binlog.00000${file}` });
  });
}

/** Of a MariaDB source. */
function grouped(load: readonly Part[], start: number): SchedulerTransaction[] {
  let file = 1;
  return load.map((part, index) => {
    if (part.newFile) file++;
    return transaction(start + 1 + index, { ...common(part), commitId: part.commitId, file: `binlog.00000${file}` });
  });
}

/** Of a MySQL source that tells the truth: no commit parent is before a conflict. One file, without gaps; the first transaction is everybody's parent at least. */
function truthfullyClocked(load: readonly Part[]): SchedulerTransaction[] {
  const transactions = plain(load, 0).map((one) => ({ ...one, barrier: false, sequenceNumber: one.ordinal }));
  for (const [index, one] of transactions.entries()) {
    const conflicts = transactions.slice(0, index).filter((other) => conflict(other, one, false));
    const least = Math.max(index === 0 ? 0 : 1, conflicts.at(-1)?.ordinal ?? 0);
    one.lastCommitted = Math.max(least, index - (load[index]?.back ?? 0));
  }
  return transactions;
}

/** @param hidden whether what no hash tells counts as a conflict: without a source's word it has to. */
function conflict(earlier: SchedulerTransaction, later: SchedulerTransaction, hidden: boolean): boolean {
  const [one, other] = [earlier.writeset, later.writeset];
  if (one === undefined || other === undefined || earlier.barrier || later.barrier) return true;
  const isEmpty = ({ writes, reads, fallback, opaque }: Writeset) =>
    writes.length + reads.length === 0 && !fallback && !opaque;
  if (hidden && !isEmpty(one) && !isEmpty(other) && (one.opaque || other.opaque || (one.fallback && other.fallback)))
    return true;
  return (
    one.writes.some((hash) => other.writes.includes(hash) || other.reads.includes(hash)) ||
    one.reads.some((hash) => other.writes.includes(hash))
  );
}

const sameSession = (one: SchedulerTransaction, other: SchedulerTransaction): boolean =>
  one.sessionId === undefined || other.sessionId === undefined || one.sessionId === other.sessionId;

const pairs = (transactions: readonly SchedulerTransaction[]): [SchedulerTransaction, SchedulerTransaction][] =>
  transactions.flatMap((later, index) =>
    transactions.slice(0, index).map((earlier): [SchedulerTransaction, SchedulerTransaction] => [earlier, later]),
  );

/** Who is before whom when each waits for its own dependencies only; ordinals from 1. */
function closure(answers: readonly Dependencies[]): { isBefore(earlier: number, later: number): boolean } {
  const before: Set<number>[] = [];
  for (const { upTo, also } of answers) {
    const all = new Set(Array.from({ length: upTo }, (_, index) => index + 1));
    for (const one of also) for (const other of [one, ...(before[one - 1] ?? [])]) all.add(other);
    before.push(all);
  }
  return { isBefore: (earlier, later) => before[later - 1]?.has(earlier) ?? false };
}

describe("the table of ordinals", () => {
  test("answers as a Map does, through growing and clearing", () => {
    const hashes = fc.oneof(fc.nat(40), fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }));
    const steps = fc.array(fc.oneof({ weight: 300, arbitrary: hashes }, fc.constant("clear" as const)), {
      maxLength: 3_000,
      size: "max",
    });
    fc.assert(
      fc.property(steps, (steps) => {
        const table = new OrdinalTable();
        const map = new Map<number, number>();
        for (const [ordinal, step] of steps.entries()) {
          if (step === "clear") {
            table.clear();
            map.clear();
          } else {
            if (table.get(step) !== (map.get(step) ?? -1)) throw new Error(`${step} before ${ordinal}`);
            table.set(step, ordinal);
            map.set(step, ordinal);
          }
        }
        expect(table.size).toBe(map.size);
        for (const [hash, ordinal] of map) if (table.get(hash) !== ordinal) throw new Error(`${hash} at the end`);
      }),
      { numRuns: 20 },
    );
  });
});
