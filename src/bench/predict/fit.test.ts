import { expect, it } from "vitest";
import { noTimes } from "../../schedule/slots.ts";
import type { CellResult } from "../../simulate/cell.ts";
import { type CostModel, DEFAULT_COSTS } from "../../simulate/cost-model.ts";
import { calibrateOnCell, type Simulate } from "./fit.ts";
import type { MeasuredRun } from "./measured.ts";

const TRANSACTIONS = 1_000;

/** A machine that does one thing after the other. */
const simulate: Simulate = ({ engine, target, flushUs, cpuFactor }: CostModel) => {
  const computedUs = cpuFactor * (engine.runUs + target.runUs + target.commitUs);
  return { predictedSeconds: (TRANSACTIONS * (computedUs + flushUs)) / 1e6 } as CellResult;
};

const run: MeasuredRun = {
  seconds: 1.4,
  targetCpuSeconds: 0.6,
  flushes: { binlog: TRANSACTIONS, binlogSeconds: 0.1, redo: TRANSACTIONS, redoSeconds: 0.1 },
  identical: true,
  engine: { cpuSeconds: 0.3, runs: TRANSACTIONS, retries: 0, lockBreaks: 0, workerTimes: noTimes() },
};

it("a cell that was measured is predicted exactly, by its flushes and the speed of its processors", () => {
  const fitted = calibrateOnCell(DEFAULT_COSTS, [run], simulate);
  expect(simulate(fitted).predictedSeconds).toBeCloseTo(1.4, 4);
  expect(fitted.flushUs).toBeCloseTo(200, 3);
  expect(fitted.native.flushUs / DEFAULT_COSTS.native.flushUs).toBeCloseTo(200 / DEFAULT_COSTS.flushUs, 6);
  const { engine, target } = fitted;
  expect({ engine, target }).toEqual({ engine: DEFAULT_COSTS.engine, target: DEFAULT_COSTS.target });
});
