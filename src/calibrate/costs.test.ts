import { expect, it } from "vitest";
import { DEFAULT_COSTS } from "../simulate/cost-model.ts";
import { type CalibrationTimes, costsFrom, ROWS_OF_LARGE_RUN } from "./costs.ts";

const TRUTH = {
  roundTripUs: 50,
  engineCpuUs: 250,
  beforeRowsUs: 150,
  insertUs: 22,
  updateUs: 20,
  deleteUs: 16,
  kbUs: 5,
  commitUs: 90,
  flushUs: 400,
};

/** What a target of these costs would be measured to take. */
function timesOf(truth: typeof TRUTH): CalibrationTimes {
  const run = (rows: number, rowUs: number, kb: number): CalibrationTimes["insert"] => ({
    runs: 1000,
    executeUs:
      truth.roundTripUs +
      truth.engineCpuUs / 2 +
      truth.beforeRowsUs +
      rows * rowUs +
      kb * (truth.kbUs + DEFAULT_COSTS.engine.encodeKbUs),
    commitUs: truth.roundTripUs + truth.engineCpuUs / 2 + truth.commitUs + truth.flushUs,
    kb,
  });
  const small = run(1, truth.updateUs, 0.4);
  const targetUs = truth.beforeRowsUs + truth.updateUs + 0.4 * truth.kbUs + truth.commitUs;
  return {
    pingUs: truth.roundTripUs + 40 + 15,
    pingCpuUs: 40,
    smallUpdate: small,
    smallUpdateCpuUs: truth.engineCpuUs,
    largeUpdate: run(ROWS_OF_LARGE_RUN, truth.updateUs, 0.4 + 0.3 * (ROWS_OF_LARGE_RUN - 1)),
    insert: run(ROWS_OF_LARGE_RUN, truth.insertUs, 5),
    wideInsert: run(ROWS_OF_LARGE_RUN, truth.insertUs, 80),
    delete: run(ROWS_OF_LARGE_RUN, truth.deleteUs, 5),
    together: { runUs: (targetUs + truth.engineCpuUs) / 2, cpuUs: truth.engineCpuUs },
  };
}

it("what runs took gives back what they were made of", () => {
  const costs = costsFrom(DEFAULT_COSTS, timesOf(TRUTH), 2);
  const { target } = costs;
  expect(costs).toMatchObject({ cores: 2, roundTripUs: 50, engine: DEFAULT_COSTS.engine });
  expect(Math.abs(costs.flushUs - TRUTH.flushUs)).toBeLessThan(5);
  expect(Math.abs(target.commitUs - TRUTH.commitUs)).toBeLessThan(5);
  for (const name of ["insertUs", "updateUs", "deleteUs", "kbUs"] as const) {
    expect(Math.abs(target[name] - TRUTH[name]), name).toBeLessThan(1);
  }
  expect(Math.abs(target.runUs + target.transactionUs + target.tableUs - TRUTH.beforeRowsUs)).toBeLessThan(3);
});

it("a slower disk is a longer flush and nothing else", () => {
  const fast = costsFrom(DEFAULT_COSTS, timesOf(TRUTH), 2);
  const slow = costsFrom(DEFAULT_COSTS, timesOf({ ...TRUTH, flushUs: 5_000 }), 2);
  expect(slow.flushUs - fast.flushUs).toBeCloseTo(4_600, 0);
  expect({ ...slow, flushUs: 0, native: 0 }).toEqual({ ...fast, flushUs: 0, native: 0 });
});

it("whatever noise was measured, no cost is negative", () => {
  const times = timesOf(TRUTH);
  const noisy = costsFrom(
    DEFAULT_COSTS,
    { ...times, pingUs: 10, largeUpdate: { ...times.largeUpdate, executeUs: 1 }, wideInsert: times.insert },
    2,
  );
  const numbers: number[] = [];
  JSON.stringify(noisy, (_, value: unknown) => {
    if (typeof value === "number") numbers.push(value);
    return value;
  });
  expect(numbers.length).toBeGreaterThan(20);
  expect(numbers.filter((value) => !(value >= 0))).toEqual([]);
});
