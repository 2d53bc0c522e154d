import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Course, Lies } from "../../test/helpers/scheduler-course.ts";
import { drive } from "../../test/helpers/scheduler-drive.ts";
import {
  type Attempt,
  type ModelTransaction,
  type Plan,
  Rows,
  runOnSource,
} from "../../test/helpers/scheduler-model.ts";
import { POLICY_NAMES, type PolicyName } from "./policies/policies.ts";
import { EMPTY_WRITESET } from "./writeset.ts";

/** ABREAST_PROPERTY_RUNS=20000 looks longer. A failure prints its seed. */
const RUNS = Number(process.env["ABREAST_PROPERTY_RUNS"] ?? 300);
const LIMITS = { numRuns: RUNS, interruptAfterTimeLimit: 20_000 * Math.ceil(RUNS / 300) };

const once = (inSoMany: number): fc.Arbitrary<boolean> =>
  fc.integer({ min: 1, max: inSoMany }).map((n) => n === inSoMany);

const attempts: fc.Arbitrary<Attempt> = fc.record({
  schema: fc.constantFrom("a", "b"),
  table: fc.constantFrom("child", "parent", "child", "child", "log"),
  what: fc.constantFrom("insert", "update", "update", "key", "unique", "parent", "delete"),
  pick: fc.nat(40),
  n: fc.nat(40),
});
const plans: fc.Arbitrary<Plan> = fc.record({
  attempts: fc.array(attempts, { minLength: 0, maxLength: 4 }),
  bytes: fc.integer({ min: 10, max: 60 }),
  ddl: once(40),
  alone: once(30),
  startsRun: once(25),
  newFile: once(25),
  session: fc.option(fc.nat(3), { nil: undefined, freq: 20 }),
  unknown: once(40),
  back: fc.nat(12),
  gap: fc.integer({ min: -8, max: 2 }).map((n) => Math.max(0, n)),
  hasClock: once(20).map((isWithout) => !isWithout),
});

const courses = (policies: readonly PolicyName[]): fc.Arbitrary<Course> => {
  const epochs = fc
    .record({
      policy: fc.constantFrom(...policies),
      historySize: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.constant(25_000)),
      options: fc.record({
        workers: fc.integer({ min: 1, max: 6 }),
        commitOrder: fc.constantFrom("preserve" as const, "relaxed" as const),
        dependency: fc.constantFrom("graph" as const, "graph" as const, "low-water-mark" as const),
        packTransactionsMax: fc.oneof(fc.integer({ min: 1, max: 6 }), fc.constantFrom(20, 100)),
        packBytesMax: fc.oneof(fc.integer({ min: 20, max: 300 }), fc.constant(100_000)),
        packRowsMax: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.constant(100_000)),
        packMsMax: fc.constantFrom(1, 50, 100_000),
      }),
    })
    // A guess is only noticed when the commit order is preserved.
    .map((epoch) =>
      epoch.policy === "optimistic"
        ? { ...epoch, options: { ...epoch.options, commitOrder: "preserve" as const } }
        : epoch,
    );
  return fc
    .record({
      plans: fc.array(plans, { minLength: 1, maxLength: 50, size: "max" }),
      clock: fc.constantFrom("none" as const, "mysql" as const, "mysql" as const, "mariadb" as const),
      epochs: fc.array(epochs, { minLength: 1, maxLength: 3 }),
      choices: fc.array(fc.nat(9_999), { maxLength: 400, size: "max" }),
      poison: fc.option(fc.record({ at: fc.nat(60), resolves: fc.boolean() }), { nil: undefined, freq: 3 }),
    })
    .map(({ plans: planned, clock, poison, ...course }) => ({
      ...course,
      clock,
      transactions: runOnSource(planned, clock),
      poison:
        poison === undefined ? undefined : { ordinal: 1 + (poison.at % planned.length), resolves: poison.resolves },
    }));
};

/** Plays the course and compares the end with what the source's order gives. */
function playAndCompare(course: Course, lies?: Lies): void {
  const { rows, committed, haltedAt } = drive(course, lies);
  const { transactions, poison, epochs } = course;
  expect(haltedAt).toBe(poison === undefined || poison.resolves ? undefined : poison.ordinal);
  const inOrder = [...committed].sort((a, b) => a - b);
  const isPreserved = epochs.every(({ options }) => options.commitOrder === "preserve");
  if (haltedAt === undefined) expect(inOrder).toEqual(transactions.map(({ ordinal }) => ordinal));
  else if (isPreserved) expect(committed).toEqual(Array.from({ length: haltedAt - 1 }, (_, index) => index + 1));
  if (isPreserved) expect(committed).toEqual(inOrder);
  expect(rows.toText()).toBe(serially(transactions.filter(({ ordinal }) => committed.includes(ordinal))).toText());
}

function serially(transactions: readonly ModelTransaction[]): Rows {
  const rows = new Rows();
  for (const change of transactions.flatMap(({ changes }) => changes)) {
    const result = rows.apply(change);
    if ("conflict" in result) throw new Error(`the source's own order does not fit: ${result.conflict}`);
  }
  return rows;
}

describe("whatever the load, the workers, their failures and restarts: the rows, the order and the limits are right, and it comes to an end", () => {
  for (const policy of POLICY_NAMES) {
    test(policy, () => {
      fc.assert(
        fc.property(courses([policy]), (course) => playAndCompare(course)),
        LIMITS,
      );
    });
  }

  test("when each restart chooses another policy and order", () => {
    fc.assert(
      fc.property(courses(POLICY_NAMES), (course) => playAndCompare(course)),
      LIMITS,
    );
  });
});

describe("the same test finds", () => {
  test("a policy that forgets one dependency in a hundred", () => {
    let count = 0;
    const lies: Lies = {
      policy: (policy) => ({
        ...policy,
        dependencies(transaction) {
          const { upTo, also } = policy.dependencies(transaction);
          return { upTo, also: also.filter(() => ++count % 100 > 0) };
        },
      }),
    };
    expect(found(courses(["writeset"]), lies)).toMatch(/meets a conflict/);
  });

  test("writesets without the parents that children rely on", () => {
    const childless = courses(["writeset"]).map((course) => ({
      ...course,
      transactions: course.transactions.map((one) => ({
        ...one,
        writeset: one.writeset === undefined ? undefined : { ...EMPTY_WRITESET, ...one.writeset, reads: [] },
      })),
    }));
    expect(found(childless, {})).toMatch(/meets a conflict/);
  });

  test("a source whose clock says that transactions in conflict ran together", () => {
    const lying = courses(["logical-clock"]).map((course) => ({
      ...course,
      transactions: course.transactions.map((one) => ({ ...one, lastCommitted: Math.min(one.lastCommitted, 1) })),
    }));
    expect(found(lying, {})).toMatch(/meets a conflict/);
  });

  test("guesses that are not known as such", () => {
    expect(found(courses(["optimistic"]), { policy: (policy) => ({ ...policy, speculative: false }) })).toMatch(
      /meets a conflict/,
    );
  });

  test("a scheduler that commits in any order where the source's was asked for", () => {
    expect(found(courses(["writeset"]), { options: (options) => ({ ...options, commitOrder: "relaxed" }) })).toMatch(
      /is committed before|is consecutive/,
    );
  });

  test("a scheduler that packs one transaction too many, or ten bytes", () => {
    expect(
      found(courses(["single"]), {
        options: (options) => ({ ...options, packTransactionsMax: options.packTransactionsMax + 1 }),
      }),
    ).toMatch(/are too many/);
    expect(
      found(courses(["single"]), { options: (options) => ({ ...options, packBytesMax: options.packBytesMax + 10 }) }),
    ).toMatch(/bytes are too many/);
  });

  test("a scheduler that is not told of lock waits: those that wait for each other do so for ever", () => {
    expect(found(courses(["optimistic"]), { isDeafToLockWaits: true })).toMatch(/nobody works/);
    expect(found(courses(["writeset"]), { isDeafToLockWaits: true })).toMatch(/nobody works/);
  });

  test("a scheduler that is not woken", () => {
    expect(found(courses(["single"]), { isDeafToTime: true })).toMatch(/nobody works/);
  });

  test("a restart that forgets what the target has already", () => {
    expect(found(courses(["writeset"]), { forgetsApplied: true })).toMatch(
      /committed twice|meets a conflict|is there already/,
    );
  });
});

/** What the test says of the first course that goes wrong. */
function found(load: fc.Arbitrary<Course>, lies: Lies): string {
  const details = fc.check(
    fc.property(load, (course) => playAndCompare(course, lies)),
    { numRuns: 2_000, endOnFailure: true },
  );
  return details.errorInstance instanceof Error ? details.errorInstance.message : "nothing";
}
