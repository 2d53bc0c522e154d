import type { CostModel } from "../simulate/cost-model.ts";
import type { RunTimes } from "./scratch-worker.ts";

export const ROWS_OF_LARGE_RUN = 40;

/** What was measured: microseconds. */
export interface CalibrationTimes {
  /** The smallest question and its answer, and this process's part of it. */
  pingUs: number;
  pingCpuUs: number;
  /** Runs of one changed row, one session. */
  smallUpdate: RunTimes;
  /** This process's part of such a run, commit included. */
  smallUpdateCpuUs: number;
  /** Runs of ROWS_OF_LARGE_RUN rows. */
  largeUpdate: RunTimes;
  insert: RunTimes;
  wideInsert: RunTimes;
  delete: RunTimes;
  /** Runs of one changed row, many sessions at once: time divided by runs, and this process's part of each. */
  together: { runUs: number; cpuUs: number };
}

/** Of `smallUpdateCpuUs` on the machine that the defaults were fitted on. */
const REFERENCE_RUN_CPU_US = 250;
/** Of a ping, this is the server's. */
const SERVER_PING_US = 15;
/** What a commit costs in processor time at the least, as a part of the run before it: where the disk is slow, the measurement of many sessions tells only how slow. */
const COMMIT_PART_MIN = 0.3;

/**
 * A cost model from what runs took. A session on an idle target computes from the first to the last moment of a query, so the time that is left without wire and engine is the target's processor
 * time; of a commit it is that and the flush. With many sessions flushes are shared and processors are not: what a run takes then is processor time.
 */
export function costsFrom(defaults: CostModel, times: CalibrationTimes, cores: number): CostModel {
  const { smallUpdate, largeUpdate, insert, wideInsert, together } = times;
  const engineFactor = times.smallUpdateCpuUs / REFERENCE_RUN_CPU_US;
  const engine = scaled(defaults.engine, engineFactor);
  const roundTripUs = atLeastZero(times.pingUs - times.pingCpuUs - SERVER_PING_US);
  /** Half of the engine's part is the query's, half the commit's. */
  const halfCpuUs = times.smallUpdateCpuUs / 2;

  const kbOfBothUs = atLeastZero((wideInsert.executeUs - insert.executeUs) / (wideInsert.kb - insert.kb));
  const kbUs = atLeastZero(kbOfBothUs - engine.encodeKbUs);
  const kbOfRow = (largeUpdate.kb - smallUpdate.kb) / (ROWS_OF_LARGE_RUN - 1);
  const updateUs = atLeastZero(
    (largeUpdate.executeUs - smallUpdate.executeUs) / (ROWS_OF_LARGE_RUN - 1) - kbOfRow * kbOfBothUs,
  );
  const beforeRowsUs = smallUpdate.executeUs - updateUs - smallUpdate.kb * kbOfBothUs;
  const rowUs = (run: RunTimes): number =>
    atLeastZero((run.executeUs - beforeRowsUs - run.kb * kbOfBothUs) / ROWS_OF_LARGE_RUN);
  const targetFactor = defaults.target.updateUs === 0 ? 1 : updateUs / defaults.target.updateUs;
  const tableUs = defaults.target.tableUs * targetFactor;
  const transactionUs = defaults.target.transactionUs * targetFactor;
  const runUs = atLeastZero(beforeRowsUs - roundTripUs - halfCpuUs - tableUs - transactionUs);

  const executeUs = runUs + transactionUs + tableUs + updateUs + smallUpdate.kb * kbUs;
  const waitedUs = smallUpdate.commitUs - roundTripUs - halfCpuUs;
  const sharedUs = cores * together.runUs - together.cpuUs - executeUs;
  const commitUs = Math.min(Math.max(sharedUs, COMMIT_PART_MIN * executeUs), atLeastZero(waitedUs));
  const flushUs = atLeastZero(waitedUs - commitUs);
  const native = scaled(defaults.native, targetFactor);
  const { rowsFactor, startUs, wakeUs, spinPart } = defaults.native;
  return rounded({
    ...defaults,
    cores,
    roundTripUs,
    flushUs,
    engine,
    target: {
      ...scaled(defaults.target, targetFactor),
      insertUs: rowUs(insert),
      updateUs,
      deleteUs: rowUs(times.delete),
      rollbackPart: defaults.target.rollbackPart,
      kbUs,
      runUs,
      transactionUs,
      tableUs,
      commitUs,
    },
    native: { ...native, rowsFactor, startUs, wakeUs, spinPart, flushUs },
  });
}

const atLeastZero = (value: number): number => Math.max(0, Number.isFinite(value) ? value : 0);

function scaled<Part extends object>(part: Part, factor: number): Part {
  return Object.fromEntries(
    Object.entries(part).map(([name, value]) => [name, typeof value === "number" ? value * factor : value]),
  ) as Part;
}

/** To tenths: no more of it was measured. */
function rounded(costs: CostModel): CostModel {
  return JSON.parse(JSON.stringify(costs), (_, value: unknown) =>
    typeof value === "number" ? Math.round(10 * value) / 10 : value,
  ) as CostModel;
}
