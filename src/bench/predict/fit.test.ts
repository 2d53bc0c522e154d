import { expect, it } from "vitest";
import { noTimes } from "../../schedule/slots.ts";
import type { CellResult } from "../../simulate/cell.ts";
import { type CostModel, DEFAULT_COSTS } from "../../simulate/cost-model.ts";
import { calibrateOnCell, type Simulate } from "./fit.ts";
import type { MeasuredRun } from "./measured.ts";

const TRANSACTIONS = 1_000;

/** A machine that does one thing after the other. */
const simulate: Simulate = async (costs: CostModel) => {
  const engineCpuSeconds = (TRANSACTIONS * costs.engine.runUs) / 1e6;
  const targetCpuSeconds = (TRANSACTIONS * (costs.target.runUs + costs.target.commitUs)) / 1e6;
  const waitSeconds = (TRANSACTIONS * (costs.flushUs + 2 * costs.roundTripUs)) / 1e6;
  const predictedSeconds = engineCpuSeconds + targetCpuSeconds + waitSeconds;
  return { predictedSeconds, engineCpuSeconds, targetCpuSeconds } as CellResult;
};

it("a cell that was measured is predicted exactly, by what it showed of engine, target and disk", async () => {
  const run: MeasuredRun = {
    seconds: 1.4,
    targetCpuSeconds: 0.6,
    flushes: { binlog: TRANSACTIONS, binlogSeconds: 0.1, redo: TRANSACTIONS, redoSeconds: 0.1 },
    identical: true,
    engine: { cpuSeconds: 0.3, runs: TRANSACTIONS, retries: 0, lockBreaks: 0, workerTimes: noTimes() },
  };
  const fitted = await calibrateOnCell(DEFAULT_COSTS, [run], simulate);
  const result = await simulate(fitted);
  expect(result.predictedSeconds).toBeCloseTo(1.4, 2);
  expect(result.engineCpuSeconds).toBeCloseTo(0.3, 3);
  expect(result.targetCpuSeconds).toBeCloseTo(0.6, 3);
  expect(fitted.flushUs).toBeCloseTo(200, 3);
  // What is left: 1.4 - 0.3 - 0.6 - 0.2 = 0.3 s in 2,000 round trips.
  expect(fitted.roundTripUs).toBeCloseTo(150, -1);
  const { updateUs, runUs } = DEFAULT_COSTS.target;
  expect(fitted.target.updateUs / fitted.target.runUs).toBeCloseTo(updateUs / runUs, 6);
});
