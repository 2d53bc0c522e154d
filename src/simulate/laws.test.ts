import fc from "fast-check";
import { expect, test } from "vitest";
import { POLICIES, type PolicyName } from "../schedule/policies/policies.ts";
import { Cell, type CellOptions, type CellResult } from "./cell.ts";
import { type CostModel, DEFAULT_COSTS } from "./cost-model.ts";
import { NativeCell } from "./native.ts";
import { PLAIN_COSTS } from "./script.fixture.ts";
import { Simulation } from "./simulation.ts";
import { CostSheet, type SimulatedTransaction } from "./simulated-transaction.ts";

interface Drawn {
  rows: number;
  keys: number[];
  schema: number;
  session: number;
  behind: number;
  barrier: boolean;
}

const drawn = fc.record<Drawn>({
  rows: fc.integer({ min: 1, max: 30 }),
  keys: fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 4 }),
  schema: fc.integer({ min: 1, max: 3 }),
  session: fc.integer({ min: 1, max: 5 }),
  behind: fc.integer({ min: 0, max: 8 }),
  barrier: fc.integer({ min: 0, max: 30 }).map((number) => number === 0),
});

const logs = fc.array(drawn, { minLength: 1, maxLength: 60 }).map((all) => all.map(transactionOf));

function transactionOf({ rows, keys, schema, session, behind, barrier }: Drawn, index: number): SimulatedTransaction {
  const ordinal = index + 1;
  return {
    scheduler: {
      ordinal,
      bytes: 200 + rows * 100,
      rows: barrier ? 0 : rows,
      alone: barrier,
      barrier,
      startsRun: false,
      applied: false,
      file: "binlog.000001",
      lastCommitted: Math.max(0, ordinal - 1 - behind),
      sequenceNumber: ordinal,
      commitId: undefined,
      sessionId: session,
      schemas: new Set([`s${schema}`]),
      writeset: { writes: keys, reads: [], fallback: false, opaque: false },
    },
    committedAtUs: 1e12 + ordinal * 500,
    name: `u:${ordinal}`,
    rows: barrier ? [] : [{ table: `s${schema}.t`, inserts: 0, updates: rows, deletes: 0, bytes: rows * 100 }],
  };
}

const settings: fc.Arbitrary<CellOptions> = fc
  .record({
    policy: fc.constantFrom<PolicyName>(
      "single",
      "database",
      "logical-clock",
      "writeset",
      "writeset-session",
      "optimistic",
    ),
    workers: fc.integer({ min: 1, max: 8 }),
    commitOrder: fc.constantFrom("preserve" as const, "relaxed" as const),
    packTransactionsMax: fc.constantFrom(1, 5, 500),
  })
  .filter(({ policy, commitOrder }) => policy !== "optimistic" || commitOrder === "preserve");

function simulate(log: readonly SimulatedTransaction[], options: CellOptions, costs: CostModel): CellResult {
  const cell = new Cell(options, costs);
  for (const transaction of log) cell.push(transaction);
  return cell.end();
}

function simulateNative(log: readonly SimulatedTransaction[], workers: number, costs: CostModel): CellResult {
  const cell = new NativeCell({ policy: "logical-clock", workers, commitOrder: "preserve" }, costs);
  for (const transaction of log) cell.push(transaction);
  return cell.end();
}

/** Without what is added to the simulated time. */
const COSTS: CostModel = {
  ...DEFAULT_COSTS,
  engine: { ...DEFAULT_COSTS.engine, startUs: 0 },
  startUs: 0,
  workerStartUs: 0,
  native: { ...DEFAULT_COSTS.native, startUs: 0 },
};

test("everything is applied once, and all parts of the answer fit together", () => {
  fc.assert(
    fc.property(logs, settings, (log, options) => {
      const result = simulate(log, options, COSTS);
      const seconds = result.predictedSeconds;
      expect(result.transactions).toBe(log.length);
      expect(result.rows).toBe(log.reduce((sum, { scheduler }) => sum + scheduler.rows, 0));
      // No faster than all work spread over all cores, nor than the engine's one thread, nor than the disk.
      expect(seconds * COSTS.cores).toBeGreaterThanOrEqual(result.engineCpuSeconds + result.targetCpuSeconds - 1e-9);
      expect(seconds).toBeGreaterThanOrEqual(result.engineThreadSeconds - 1e-9);
      expect(seconds).toBeGreaterThanOrEqual(result.flushSeconds - 1e-9);
      // The critical path has no gaps.
      expect(result.criticalPath.seconds).toBeCloseTo(seconds, 9);
      expect(result.meanBusyWorkers).toBeLessThanOrEqual(options.workers + 1e-9);
      // Each worker's time is spent on something.
      const told = Object.values(result.waits).reduce((sum, wait) => sum + wait, result.workSeconds);
      // The answer to a commit is on the wire while the next run is executed. Of what is rolled back some microseconds more are told twice.
      const twice = (result.runs * COSTS.roundTripUs) / 1e6;
      if (result.lockBreaks === 0) expect(told).toBeLessThanOrEqual(seconds * options.workers + twice + 1e-9);
      expect(told).toBeGreaterThanOrEqual(seconds * options.workers - 1e-9);
    }),
    { numRuns: 150 },
  );
});

test("keys that nobody else has change nothing, however many they are", () => {
  fc.assert(
    fc.property(logs, settings, fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }), (log, options, which) => {
      const larger = log.map((transaction, at): SimulatedTransaction => {
        const { scheduler } = transaction;
        if (scheduler.writeset === undefined || which[at % which.length] !== true) return transaction;
        const others = Array.from({ length: 1_100 }, (_, key) => 1_000_000 + at * 10_000 + key);
        const writes = [...others.slice(0, 500), ...scheduler.writeset.writes, ...others.slice(500)];
        return { ...transaction, scheduler: { ...scheduler, writeset: { ...scheduler.writeset, writes } } };
      });
      const history = { ...options, writesetHistory: 1_000_000 };
      expect(simulate(larger, history, COSTS)).toEqual(simulate(log, history, COSTS));
    }),
    { numRuns: 100 },
  );
});

test("the same log and setting give the same answer, whoever else is simulated beside", () => {
  fc.assert(
    fc.property(logs, settings, (log, options) => {
      const alone = simulate(log, options, COSTS);
      expect(simulate(log, options, COSTS)).toEqual(alone);
      const { policy, workers, commitOrder, packTransactionsMax } = options;
      const simulation = new Simulation(
        {
          policies: policy === "writeset" ? ["writeset"] : [policy, "writeset"],
          workers: [workers],
          commitOrders: [commitOrder],
          packing: [packTransactionsMax],
          dependency: "graph",
          limits: {},
          native: true,
        },
        { flavour: "mysql", serverVersion: "9.7.0" },
        COSTS,
      );
      for (const transaction of log) simulation.push(transaction);
      const { results } = simulation.end();
      const { predictedSeconds } = policy === "single" ? simulate(log, { ...options, workers: 1 }, COSTS) : alone;
      expect(results[0]?.predictedSeconds).toBe(predictedSeconds);
    }),
    { numRuns: 40 },
  );
});

test("with free disk, network and engine and a core for everybody, it takes as long as its longest chain of dependencies", () => {
  fc.assert(
    fc.property(logs, fc.constantFrom<PolicyName>("single", "database", "logical-clock", "writeset"), (log, policy) => {
      const options: CellOptions = { policy, workers: 100, commitOrder: "relaxed", packTransactionsMax: 1 };
      const { predictedSeconds } = simulate(log, options, PLAIN_COSTS);
      expect(predictedSeconds).toBeCloseTo(longestChainUs(log, policy) / 1e6, 9);
    }),
    { numRuns: 100 },
  );
});

/** By the policy's own words alone. */
function longestChainUs(log: readonly SimulatedTransaction[], policy: PolicyName): number {
  const asked = POLICIES[policy].make({ historySize: 25_000 });
  const sheet = new CostSheet(PLAIN_COSTS);
  const ends: number[] = [0];
  let barrier = 0;
  for (const transaction of log) {
    const { ordinal, barrier: isBarrier } = transaction.scheduler;
    const { upTo, also } = asked.dependencies(transaction.scheduler);
    const bound = Math.max(isBarrier ? ordinal - 1 : upTo, barrier);
    if (isBarrier) barrier = ordinal;
    const begin = Math.max(...ends.slice(0, bound + 1), ...also.map((other) => ends[other] ?? 0));
    ends.push(begin + sheet.of(transaction).costs.targetUs);
  }
  return Math.max(...ends);
}

test("one worker is never slower with more cores, with a faster disk, or on a faster machine", () => {
  fc.assert(
    fc.property(logs, settings, (log, setting) => {
      const options: CellOptions = { ...setting, workers: 1, packTransactionsMax: 1 };
      const seconds = (costs: Partial<CostModel>): number =>
        simulate(log, options, { ...COSTS, ...costs }).predictedSeconds;
      const usual = seconds({});
      expect(seconds({ cores: 16 })).toBeLessThanOrEqual(usual + 1e-9);
      expect(seconds({ flushUs: 0 })).toBeLessThanOrEqual(usual + 1e-9);
      expect(seconds({ cpuFactor: 0.5 })).toBeLessThanOrEqual(usual + 1e-9);
    }),
    { numRuns: 60 },
  );
});

test("a machine of half the speed takes twice as long when nothing but computing takes time", () => {
  const computing: CostModel = { ...COSTS, roundTripUs: 0, flushUs: 0, flushKbUs: 0 };
  fc.assert(
    fc.property(logs, settings, (log, options) => {
      // The lock breaker has a clock of its own.
      fc.pre(options.policy !== "optimistic");
      const once = simulate(log, options, computing).predictedSeconds;
      expect(simulate(log, options, { ...computing, cpuFactor: 2 }).predictedSeconds).toBeCloseTo(2 * once, 9);
    }),
    { numRuns: 60 },
  );
});

test.each([
  [1, "preserve"],
  [1, "relaxed"],
  [500, "preserve"],
  [500, "relaxed"],
] as const)("the critical path of a long log has no gaps, with runs of up to %i, order %s", (packed, commitOrder) => {
  const cell = new Cell({ policy: "writeset", workers: 8, commitOrder, packTransactionsMax: packed }, COSTS);
  for (let index = 0; index < 25_000; index++) {
    const keys = [index % 977, 10_000 + ((index * 7) % 5_003)];
    cell.push(
      transactionOf(
        { rows: 3, keys, schema: 1, session: index % 5, behind: 3, barrier: index % 9_000 === 8_999 },
        index,
      ),
    );
  }
  const { criticalPath, predictedSeconds, transactions } = cell.end();
  expect(transactions).toBe(25_000);
  expect(criticalPath.seconds).toBeCloseTo(predictedSeconds, 6);
});

test("the server's replica keeps the laws too, and shares flushes only with several workers", () => {
  fc.assert(
    fc.property(logs, fc.integer({ min: 1, max: 8 }), (log, workers) => {
      const result = simulateNative(log, workers, COSTS);
      expect(result.transactions).toBe(log.length);
      expect(result.predictedSeconds * COSTS.cores).toBeGreaterThanOrEqual(result.targetCpuSeconds - 1e-9);
      expect(result.predictedSeconds).toBeGreaterThanOrEqual(result.flushSeconds - 1e-9);
      if (workers === 1) expect(result.flushes).toBe(log.length);
    }),
    { numRuns: 60 },
  );
});
