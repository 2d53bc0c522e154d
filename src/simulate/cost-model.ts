import { ReplicationError } from "../base/error.ts";

/** What a changed row costs the target, besides its bytes, where its table has one index beside the primary key. Microseconds of one core. */
export interface RowCosts {
  insertUs: number;
  updateUs: number;
  deleteUs: number;
}

/**
 * What everything costs, for the virtual machine of the simulator: plain numbers, JSON in and out. `Us` is microseconds; where nothing else is said, of one core that does nothing
 * else. Waiting (network, flushes) is no processor time. The names of the parts are those of machine.ts and cell.ts.
 */
export interface CostModel {
  /** Cores that engine and target share; two threads of one core may be 1.4. */
  cores: number;
  /** All processor times are multiplied by this: 2 is a machine half as fast. */
  cpuFactor: number;
  /** From the start of an engine until its first run could begin, and from the last commit until it has ended; not simulated, but added. */
  startUs: number;
  /** The same, for each worker's session. */
  workerStartUs: number;
  /** A question to the target and its answer, without what either side computes: wire and wake-ups. Waiting. */
  roundTripUs: number;
  /** A group of commits reaches the disk: redo log and binlog. Waiting, and one group at a time. */
  flushUs: number;
  /** And for each KiB of events in it. */
  flushKbUs: number;
  /** The engine's one thread of JavaScript. */
  engine: EngineCosts;
  /** For each microsecond of that thread, what the process computes beside it: garbage collection, compiling, writing the relay log. */
  engineBesidePart: number;
  /** A session on the target. */
  target: TargetCosts;
  /** What the target computes beside its sessions (purge, page cleaners, log writers), as a part of what they compute: nobody waits for it, but it takes cores. */
  targetBesidePart: number;
  /** Where a table's rows cost something else than `target` says: `schema.table`. */
  tables: Record<string, Partial<RowCosts>>;
  /** The target's own replica, where it differs: rows and commits cost it the same. */
  native: NativeCosts;
}

export interface EngineCosts {
  /** Until it is up to speed: what runs often is compiled. Not simulated, but added. */
  startUs: number;
  /** Received, kept in the relay log, assembled, offered to the scheduler. */
  transactionUs: number;
  /** Each KiB of events received and kept. */
  kbUs: number;
  /** Each KiB of events encoded and sent to the target. */
  encodeKbUs: number;
  /** A row's keys hashed, and the conflicts looked up: with the policies that need a writeset. */
  writesetRowUs: number;
  /** A run is put together, and its checkpoint. */
  runUs: number;
  /** A query is sent: a run, or a commit; both together count once. */
  commandUs: number;
  /** An answer is read, and the scheduler told. */
  answerUs: number;
}

export interface TargetCosts extends RowCosts {
  /** Each index more, in each changed row; known where a schema is. */
  indexUs: number;
  /** BEGIN, and the checkpoint's row. */
  runUs: number;
  /** Each source transaction in a run. */
  transactionUs: number;
  /** Each table of each transaction: opened, locked, closed. */
  tableUs: number;
  /** Each KiB of events: decoded, written to redo log and binlog. */
  kbUs: number;
  /** COMMIT, without what it waits for. */
  commitUs: number;
  /** What cannot be packed, when the log does not tell how long it took: DDL, statements. */
  statementUs: number;
  /** A run is rolled back: this part of what it has executed. */
  rollbackPart: number;
}

export interface NativeCosts {
  /** From START REPLICA until the first transaction could begin; not simulated, but added. */
  startUs: number;
  /** The coordinator reads a transaction from the relay log, schedules it and gives it to a worker. */
  coordinatorUs: number;
  coordinatorKbUs: number;
  /** The receiver writes a transaction to the relay log. */
  receiverUs: number;
  /** A worker's own for each transaction: GTID, BEGIN, its position, and being woken. */
  transactionUs: number;
  /** All that `target` says of tables, rows and bytes is multiplied by this. */
  rowsFactor: number;
  commitUs: number;
  /** A group of commits reaches the disk. Waiting. */
  flushUs: number;
  /**
   * MySQL's coordinator does not sleep while all workers are busy: it yields and looks again, and takes this part of a computing thread's share (`sql/rpl_mta_submode.cc`,
   * get_least_occupied_worker).
   */
  spinPart: number;
  /** From one worker to the next whose turn it is to commit, or from the coordinator to a worker that sleeps. Waiting. */
  wakeUs: number;
}

/** From measurements on two cores, MySQL 9.7 with durable commits, source and target beside the engine; see docs/predictions.md. */
export const DEFAULT_COSTS: CostModel = {
  cores: 2,
  cpuFactor: 1,
  startUs: 60_000,
  workerStartUs: 3_000,
  roundTripUs: 15,
  flushUs: 380,
  flushKbUs: 3,
  engine: {
    startUs: 250_000,
    transactionUs: 30,
    kbUs: 3,
    encodeKbUs: 2,
    writesetRowUs: 1,
    runUs: 125,
    commandUs: 25,
    answerUs: 32,
  },
  engineBesidePart: 0.6,
  target: {
    insertUs: 13,
    updateUs: 9,
    deleteUs: 10,
    indexUs: 13,
    runUs: 215,
    transactionUs: 5,
    tableUs: 5,
    kbUs: 3,
    commitUs: 200,
    statementUs: 5_000,
    rollbackPart: 0.5,
  },
  targetBesidePart: 0.2,
  tables: {},
  native: {
    startUs: 60_000,
    coordinatorUs: 35,
    coordinatorKbUs: 1,
    receiverUs: 8,
    transactionUs: 95,
    rowsFactor: 1,
    commitUs: 80,
    flushUs: 380,
    spinPart: 0.8,
    wakeUs: 40,
  },
};

/**
 * A cost model from what a JSON file holds: what is not there is as in `DEFAULT_COSTS`.
 * @throws ReplicationError CONFIG for names that a cost model does not have, and for what is no number of at least 0
 */
export function costModelOf(json: unknown): CostModel {
  return { ...merged(DEFAULT_COSTS, json, ""), tables: tablesOf(isObject(json) ? json["tables"] : undefined) };
}

function merged<Part extends object>(defaults: Part, json: unknown, path: string): Part {
  if (!isObject(json)) throw wrong(path === "" ? "the cost model" : path, "is no object");
  const result = { ...defaults } as Record<string, unknown>;
  for (const [name, value] of Object.entries(json)) {
    const place = path === "" ? name : `${path}.${name}`;
    const known = result[name];
    if (known === undefined) throw wrong(place, "is unknown");
    if (place === "tables") continue;
    if (isObject(known)) result[name] = merged(known, value, place);
    else result[name] = numberOf(value, place);
  }
  return result as Part;
}

const ROW_COSTS = ["insertUs", "updateUs", "deleteUs"] as const;

function tablesOf(json: unknown = {}): CostModel["tables"] {
  if (!isObject(json)) throw wrong("tables", "is no object");
  const tables: CostModel["tables"] = {};
  for (const [table, costs] of Object.entries(json)) {
    if (!isObject(costs)) throw wrong(`tables.${table}`, "is no object");
    const known: Partial<RowCosts> = {};
    for (const [name, value] of Object.entries(costs)) {
      const cost = ROW_COSTS.find((candidate) => candidate === name);
      if (cost === undefined) throw wrong(`tables.${table}.${name}`, "is unknown");
      known[cost] = numberOf(value, `tables.${table}.${name}`);
    }
    tables[table] = known;
  }
  return tables;
}

/** Beyond these a simulation would not end, or have no digits left for what is small: 1,000 seconds for a row, a core a thousand times as slow. */
const NUMBER_MAX = 1e9;
const CPU_FACTOR_MAX = 1_000;
const CORES_MIN = 0.1;

function numberOf(value: unknown, place: string): number {
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0)
    throw wrong(place, "is no number of at least 0");
  if (place === "cores" && value < CORES_MIN) throw wrong(place, `is less than ${CORES_MIN}`);
  const max = place === "cpuFactor" ? CPU_FACTOR_MAX : NUMBER_MAX;
  if (value > max) throw wrong(place, `is more than ${max}`);
  return value;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const wrong = (place: string, what: string): ReplicationError =>
  new ReplicationError("CONFIG", `costs: ${place} ${what}`, {
    hint: "`abreast simulate --costs-shown` prints the names and the defaults; docs/simulate.md says what they mean",
  });
