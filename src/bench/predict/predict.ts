import { readFile } from "node:fs/promises";
import { ReplicationError } from "../../base/error.ts";
import { findInputs } from "../../inspect/input/input.ts";
import { transactionsOf } from "../../inspect/input/transactions.ts";
import { OfflineWritesets } from "../../inspect/keys/writesets.ts";
import type { PolicyName } from "../../schedule/policies/policies.ts";
import { SchedulerTransactions } from "../../schedule/scheduler-transactions.ts";
import { parseSchemaDump, type Schema } from "../../schema/dump.ts";
import { Cell, type CellResult } from "../../simulate/cell.ts";
import { type CostModel, DEFAULT_COSTS } from "../../simulate/cost-model.ts";
import { FromLog } from "../../simulate/from-log.ts";
import { NativeCell } from "../../simulate/native.ts";
import { withSchema } from "../../simulate/schema-costs.ts";
import type { SimulatedTransaction } from "../../simulate/simulated-transaction.ts";
import { type CellSettings, nameOf } from "./cells.ts";
import { calibrateOnCell } from "./fit.ts";
import type { Measured, MeasuredLoad } from "./measured.ts";
import type { Prediction } from "./report.ts";

export interface Predicted {
  predictions: Prediction[];
  /** `uniform writeset-4`. */
  calibratedOn: string | null;
  costs: CostModel;
}

/** A load in memory: every cell is simulated with the same. */
export interface SimulatedLoad {
  schema: Schema;
  transactions: readonly SimulatedTransaction[];
}

async function readLoad(load: MeasuredLoad): Promise<SimulatedLoad> {
  const schema = parseSchemaDump(await readFile(load.schemaFile, "utf8"));
  const writesets = new OfflineWritesets({ schema });
  const scheduler = new SchedulerTransactions();
  const fromLog = new FromLog();
  const transactions: SimulatedTransaction[] = [];
  const options = {
    onFault: ({ offset, reason }: { offset: number; reason: string }): never => {
      throw new ReplicationError("CORRUPT_EVENT", reason, { where: { file: load.binlogFile, position: offset } });
    },
  };
  for await (const transaction of transactionsOf(await findInputs([load.binlogFile]), options)) {
    const ordinal = transactions.length + 1;
    const writeset = writesets.of(transaction);
    transactions.push(fromLog.of(transaction, scheduler.of(transaction, { ordinal, writeset, applied: false })));
  }
  return { schema, transactions };
}

function simulateCell(
  { who, policy, workers, commitOrder, packTransactionsMax }: CellSettings,
  { schema, transactions }: SimulatedLoad,
  given: CostModel,
): CellResult {
  const costs = withSchema(given, schema);
  const cell =
    who === "native"
      ? new NativeCell({ policy: policy === "optimistic" ? policy : "logical-clock", workers, commitOrder }, costs)
      : new Cell({ policy: policy as PolicyName, workers, commitOrder, packTransactionsMax }, costs);
  for (const transaction of transactions) cell.push(transaction);
  return cell.end();
}

/** The cell that costs are calibrated on: neither the simplest nor the fastest. */
const CALIBRATED_ON = { load: "uniform", cell: "writeset-4" } as const;

/**
 * Predicts every cell from the binlogs of the loads alone. `costs`: of a calibration that was made elsewhere; without them the defaults are calibrated on one of the cells, which
 * one is fixed. Nothing else of what was measured is used.
 */
export async function predict(measured: Measured, given?: CostModel): Promise<Predicted> {
  const loads = new Map<MeasuredLoad, SimulatedLoad>();
  for (const load of measured.loads) loads.set(load, await readLoad(load));
  const { costs, calibratedOn } =
    given === undefined ? calibrated(measured, loads) : { costs: given, calibratedOn: null };
  const predictions = [...loads].flatMap(([load, simulated]) =>
    load.cells.map((cell): Prediction => {
      const { predictedSeconds } = simulateCell(cell, simulated, costs);
      return { cell: nameOf(cell), load: load.name, seconds: predictedSeconds };
    }),
  );
  return { predictions, calibratedOn, costs };
}

function calibrated(
  measured: Measured,
  loads: ReadonlyMap<MeasuredLoad, SimulatedLoad>,
): { costs: CostModel; calibratedOn: string | null } {
  const defaults = { ...DEFAULT_COSTS, cores: measured.cores };
  for (const [load, simulated] of loads) {
    const cell = load.cells.find((each) => nameOf(each) === CALIBRATED_ON.cell);
    if (load.name !== CALIBRATED_ON.load || cell === undefined || cell.runs.length === 0) continue;
    const costs = calibrateOnCell(defaults, cell.runs, (candidate) => simulateCell(cell, simulated, candidate));
    return { costs, calibratedOn: `${load.name} ${nameOf(cell)}` };
  }
  return { costs: defaults, calibratedOn: null };
}
