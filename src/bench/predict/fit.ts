import type { CellResult } from "../../simulate/cell.ts";
import type { CostModel } from "../../simulate/cost-model.ts";
import { median } from "../units.ts";
import type { MeasuredRun } from "./measured.ts";

/** What simulating the cell with these costs gives. */
export type Simulate = (costs: CostModel) => CellResult;

const CPU_FACTOR_MAX = 20;
const STEPS = 20;

/**
 * Fits a cost model to one measured cell. Two numbers of the cell set two of the model, and all others are as they were:
 * - how long the target waited for its disk in each commit: a flush, and a factor for those of its own replica
 * - its seconds: how fast processors are, of engine and target alike
 */
export function calibrateOnCell(costs: CostModel, runs: readonly MeasuredRun[], simulate: Simulate): CostModel {
  const flushUs = median(runs.map(flushUsOf));
  const native = { ...costs.native, flushUs: (costs.native.flushUs * flushUs) / costs.flushUs };
  const seconds = median(runs.map((run) => run.seconds));
  // By halving: a slower processor never makes a run shorter.
  let low = 0;
  let high = CPU_FACTOR_MAX;
  for (let step = 0; step < STEPS; step++) {
    const cpuFactor = (low + high) / 2;
    if (simulate({ ...costs, flushUs, native, cpuFactor }).predictedSeconds < seconds) low = cpuFactor;
    else high = cpuFactor;
  }
  return { ...costs, flushUs, native, cpuFactor: (low + high) / 2 };
}

/** Both logs are flushed for each commit, one after the other. */
function flushUsOf({ flushes, engine }: MeasuredRun): number {
  const commits = engine?.runs ?? flushes.binlog;
  return commits === 0 ? 0 : (1e6 * (flushes.binlogSeconds + flushes.redoSeconds)) / commits;
}
