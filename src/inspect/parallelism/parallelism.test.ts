import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { POLICY_NAMES } from "../../schedule/policies/policies.ts";
import type { Policy } from "../../schedule/policy.ts";
import type { SchedulerTransaction } from "../../schedule/scheduler-types.ts";
import { Levels, type PolicyParallelism } from "./levels.ts";
import { Parallelism, type ParallelismReport } from "./parallelism.ts";

const NOTHING: Omit<SchedulerTransaction, "ordinal"> = {
  bytes: 100,
  rows: 1,
  alone: false,
  barrier: false,
  startsRun: false,
  applied: false,
  file: "1/binlog.000001",
  lastCommitted: 0,
  sequenceNumber: 0,
  commitId: undefined,
  sessionId: undefined,
  schemas: new Set(["shop"]),
  writeset: undefined,
};

type Told = Partial<Omit<SchedulerTransaction, "ordinal" | "writeset" | "schemas">> & {
  writes?: readonly number[];
  reads?: readonly number[];
  fallback?: boolean;
  opaque?: boolean;
  schema?: string;
};

function transactions(log: readonly Told[]): SchedulerTransaction[] {
  return log.map(({ writes = [], reads = [], fallback = false, opaque = false, schema = "shop", ...told }, index) => ({
    ...NOTHING,
    ...told,
    ordinal: index + 1,
    schemas: new Set([schema]),
    writeset: { writes, reads, fallback, opaque },
  }));
}

function reportOf(log: readonly Told[], options?: { window: number }): ParallelismReport {
  const parallelism = new Parallelism(POLICY_NAMES, options);
  for (const transaction of transactions(log)) parallelism.push(transaction);
  return parallelism.report();
}

function of(report: ParallelismReport, name: string): PolicyParallelism | undefined {
  return report.policies.find(({ policy }) => policy === name);
}

/** A policy that answers what is written down. */
const scripted = (dependencies: readonly { upTo: number; also: readonly number[] }[]): Policy => ({
  name: "scripted",
  needsWriteset: false,
  speculative: false,
  dependencies: ({ ordinal }) => dependencies[ordinal - 1] ?? { upTo: 0, also: [] },
});

function levelsOf(dependencies: readonly { upTo: number; also: readonly number[] }[], window: number) {
  const levels = new Levels(scripted(dependencies), window);
  for (const transaction of transactions(dependencies.map(() => ({})))) levels.push(transaction);
  return levels.result();
}

describe("what a policy gets out of a log", () => {
  test("transactions of the same key form a chain, others run beside it", () => {
    const log: Told[] = [{ writes: [1] }, { writes: [2] }, { writes: [1] }, { writes: [3] }, { writes: [1] }];
    expect(of(reportOf(log), "writeset")).toMatchObject({
      meanReady: 5 / 3,
      p95Ready: 3,
      longestChain: 3,
      waits: { conflict: 2 },
    });
  });

  test("children wait for their parent and not for each other", () => {
    const log: Told[] = [
      { writes: [1] },
      { writes: [2], reads: [1] },
      { writes: [3], reads: [1] },
      { writes: [4], reads: [1] },
    ];
    expect(of(reportOf(log), "writeset")).toMatchObject({ longestChain: 2, p95Ready: 3, waits: { conflict: 3 } });
  });

  test("schemas run side by side under database, and one clock tells group commits", () => {
    const log: Told[] = [
      { schema: "a", sequenceNumber: 1, lastCommitted: 0 },
      { schema: "b", sequenceNumber: 2, lastCommitted: 1 },
      { schema: "a", sequenceNumber: 3, lastCommitted: 1 },
      { schema: "b", sequenceNumber: 4, lastCommitted: 1 },
    ];
    const report = reportOf(log);
    expect(of(report, "database")).toMatchObject({ meanReady: 2, longestChain: 2, waits: { conflict: 2 } });
    expect(of(report, "logical-clock")).toMatchObject({ meanReady: 2, longestChain: 2 });
    expect(of(report, "logical-clock")?.waits).toEqual({ "commit-parent": 2, order: 1 });
    expect(report.commitParentDistance).toEqual([
      { upTo: 1, transactions: 2 },
      { upTo: 2, transactions: 1 },
      { upTo: 4, transactions: 1 },
    ]);
  });

  test("a barrier waits for all, and all behind wait for it", () => {
    const log: Told[] = [{}, {}, { barrier: true }, {}, {}];
    expect(of(reportOf(log), "optimistic")).toMatchObject({
      meanReady: 5 / 3,
      p95Ready: 2,
      longestChain: 3,
      waits: { barrier: 1, "behind-barrier": 2 },
    });
  });

  test("what no key tells apart and what hides its keys are told apart from conflicts", () => {
    const log: Told[] = [{ writes: [1] }, { fallback: true }, { writes: [2], opaque: true }, { writes: [3] }];
    expect(of(reportOf(log), "writeset")?.waits).toEqual({ "no-key": 1, opaque: 1, order: 1 });
  });

  test("no more transactions than the window's are looked at together", () => {
    const log = Array.from({ length: 1000 }, (): Told => ({}));
    expect(of(reportOf(log, { window: 10 }), "optimistic")).toMatchObject({
      meanReady: 10,
      p95Ready: 10,
      longestChain: 100,
    });
    expect(of(reportOf(log), "optimistic")).toMatchObject({ meanReady: 1000, waits: {} });
  });

  test("an empty log offers nothing, and a log without a clock no distances", () => {
    expect(reportOf([]).policies[0]).toMatchObject({ meanReady: 0, p95Ready: 0, longestChain: 0, waits: {} });
    expect(reportOf([{}, {}]).commitParentDistance).toEqual([]);
  });
});

const LOG = fc.array(
  fc.record({
    writes: fc.array(fc.nat(20), { maxLength: 3 }),
    reads: fc.array(fc.nat(20), { maxLength: 2 }),
    fallback: fc.boolean(),
    opaque: fc.constantFrom(false, false, false, true),
    barrier: fc.constantFrom(false, false, false, false, true),
    schema: fc.constantFrom("a", "b", "c"),
    sessionId: fc.constantFrom(1, 2, 3, undefined),
    rows: fc.constant(1),
  }),
  { maxLength: 80 },
);

test("under single one transaction is ready at a time, and no policy has fewer", () => {
  fc.assert(
    fc.property(LOG, fc.integer({ min: 1, max: 30 }), (log, window) => {
      fc.pre(log.length > 0);
      const report = reportOf(log, { window });
      expect(of(report, "single")).toMatchObject({ meanReady: 1, p95Ready: 1, longestChain: log.length });
      for (const { meanReady, longestChain } of report.policies) {
        expect(meanReady).toBeGreaterThanOrEqual(1);
        expect(longestChain * Math.min(window, log.length)).toBeGreaterThanOrEqual(log.length);
      }
    }),
  );
});

const DEPENDENCIES = fc.array(fc.record({ upTo: fc.nat(60), also: fc.array(fc.nat(60), { maxLength: 4 }) }), {
  minLength: 1,
  maxLength: 60,
});

test("more dependencies never shorten the chain or make more ready", () => {
  fc.assert(
    fc.property(DEPENDENCIES, DEPENDENCIES, fc.integer({ min: 1, max: 20 }), (some, more, window) => {
      const fewer = some.map(({ upTo, also }, index) => ({
        upTo: Math.min(upTo, index),
        also: also.filter((other) => other >= 1 && other <= index),
      }));
      const all = fewer.map(({ upTo, also }, index) => ({
        upTo: Math.max(upTo, Math.min(more[index]?.upTo ?? 0, index)),
        also: [...also, ...(more[index]?.also ?? []).filter((other) => other >= 1 && other <= index)],
      }));
      const less = levelsOf(fewer, window);
      const most = levelsOf(all, window);
      expect(most.longestChain).toBeGreaterThanOrEqual(less.longestChain);
      expect(most.meanReady).toBeLessThanOrEqual(less.meanReady);
    }),
  );
});

test("steps are those of an execution that keeps everything", () => {
  fc.assert(
    fc.property(DEPENDENCIES, fc.integer({ min: 1, max: 20 }), (some, window) => {
      const steps: number[] = [];
      const upTo = (index: number): number => Math.max(0, ...steps.slice(0, Math.max(0, index)));
      const dependencies = some.map((one, index) => ({
        upTo: Math.min(one.upTo, index),
        also: one.also.filter((other) => other >= 1 && other <= index),
      }));
      for (const [index, one] of dependencies.entries()) {
        const waitsFor = one.also.map((other) => steps[other - 1] ?? 0);
        steps.push(1 + Math.max(upTo(one.upTo), upTo(index + 1 - window), ...waitsFor));
      }
      const { longestChain, meanReady, p95Ready } = levelsOf(dependencies, window);
      expect(longestChain).toBe(Math.max(...steps));
      expect(meanReady).toBe(steps.length / longestChain);
      const sizes = Array.from({ length: longestChain }, (_, step) => steps.filter((at) => at === step + 1).length);
      expect(p95Ready).toBe(sizes.sort((a, b) => a - b)[Math.ceil(0.95 * longestChain) - 1]);
    }),
  );
});
