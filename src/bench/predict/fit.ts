import type { CellResult } from "../../simulate/cell.ts";
import type { CostModel } from "../../simulate/cost-model.ts";
import { median } from "../units.ts";
import type { MeasuredRun } from "./measured.ts";

/** What simulating the cell with these costs gives. */
export type Simulate = (costs: CostModel) => Promise<CellResult>;

/** Each round is nearer than the one before; after these nothing changes any more in what is shown. */
const ROUNDS = 4;
const WAIT_STEPS = 12;

/**
 * Fits a cost model to one measured cell: four numbers of the cell set four of the model, and all others are as they were.
 * - processor time of the engine's process: a factor for all costs of the engine
 * - processor time of the target: a factor for all its costs, those of its own replica too
 * - how long the target waited for its disk in each commit: a flush, and a factor for those of its own replica
 * - the time that is left: what a question and its answer take beside what both compute
 */
export async function calibrateOnCell(
  costs: CostModel,
  runs: readonly MeasuredRun[],
  simulate: Simulate,
): Promise<CostModel> {
  const engineCpu = median(runs.map((run) => run.engine?.cpuSeconds ?? 0));
  const targetCpu = median(runs.map((run) => run.targetCpuSeconds));
  const seconds = median(runs.map((run) => run.seconds));
  let fitted: CostModel = { ...costs, flushUs: median(runs.map(flushUsOf)), flushKbUs: 0 };
  for (let round = 0; round < ROUNDS; round++) {
    const result = await simulate(fitted);
    const targetFactor = targetCpu / result.targetCpuSeconds;
    const { rowsFactor, startUs, wakeUs, spinPart } = costs.native;
    fitted = {
      ...fitted,
      engine: scaled(fitted.engine, engineCpu / result.engineCpuSeconds),
      target: { ...scaled(fitted.target, targetFactor), rollbackPart: costs.target.rollbackPart },
      native: {
        ...scaled(fitted.native, targetFactor),
        rowsFactor,
        startUs,
        wakeUs,
        spinPart,
        flushUs: (costs.native.flushUs * fitted.flushUs) / costs.flushUs,
      },
    };
    fitted = { ...fitted, roundTripUs: await roundTripFor(seconds, fitted, simulate) };
  }
  return fitted;
}

/** Both logs are flushed for each commit, one after the other. */
function flushUsOf({ flushes, engine }: MeasuredRun): number {
  const commits = engine?.runs ?? flushes.binlog;
  return commits === 0 ? 0 : (1e6 * (flushes.binlogSeconds + flushes.redoSeconds)) / commits;
}

const ROUND_TRIP_US_MAX = 5_000;

/** By halving: a longer round trip never makes a run shorter. */
async function roundTripFor(seconds: number, costs: CostModel, simulate: Simulate): Promise<number> {
  let low = 0;
  let high = ROUND_TRIP_US_MAX;
  for (let step = 0; step < WAIT_STEPS; step++) {
    const middle = (low + high) / 2;
    const { predictedSeconds } = await simulate({ ...costs, roundTripUs: middle });
    if (predictedSeconds < seconds) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

function scaled<Part extends object>(part: Part, factor: number): Part {
  return Object.fromEntries(
    Object.entries(part).map(([name, value]) => [name, typeof value === "number" ? value * factor : value]),
  ) as Part;
}
