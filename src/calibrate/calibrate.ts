import { availableParallelism } from "node:os";
import { readTargetFacts } from "../apply/statement/target.ts";
import { ReplicationError } from "../base/error.ts";
import type { Log } from "../base/log.ts";
import type { ServerAddress } from "../base/server-url.ts";
import { type CostModel, DEFAULT_COSTS } from "../simulate/cost-model.ts";
import { Session } from "../wire/session.ts";
import { type CalibrationTimes, costsFrom, ROWS_OF_LARGE_RUN } from "./costs.ts";
import { dropScratch, leaveBinlogOut, makeScratch, SCRATCH } from "./scratch.ts";
import { type RunTimes, ScratchWorker, scratchKeys } from "./scratch-worker.ts";
import { deletes, inserts, updates } from "./workload.ts";

export interface CalibrateOptions {
  target: ServerAddress;
  /** That engine and target share; undefined: those of this machine. */
  cores?: number | undefined;
  /** What is changed goes into the target's binlog, as that of an engine's workers does, and commits take what they take with it. Else that is left out, where the account may. */
  binlog?: boolean;
  /** Ends it early: with its reason, when the schema is dropped. */
  signal?: AbortSignal;
  log: Log;
  onProgress: (text: string) => void;
}

/** As many as make a group commit of it. */
const SESSIONS = 16;
/** Rows that are there for each session to change. */
const ROWS_OF_SESSION = 1_000;
/** To be said when it ends without having dropped it. */
export const STILL_THERE = `the schema ${SCRATCH} is still on the target: drop it`;
const LOGGED = "calibrating: what is changed goes into the target's binlog, with GTIDs of its own";
const NOT_LOGGED =
  "calibrating: the target's binlog is left out; --calibrate-binlog measures with it, and leaves changes and GTIDs in it";
const MAY_NOT_LEAVE_OUT = `${LOGGED}: the account may not leave it out (SESSION_VARIABLES_ADMIN; MariaDB: BINLOG ADMIN; older ones: SUPER)`;
const GRANTS =
  `the account needs ALL ON ${SCRATCH}.*, and ON *.* REPLICATION_APPLIER (MySQL from 8.0.18 on), ` +
  "BINLOG REPLAY (MariaDB from 10.5 on) or SUPER (older ones)";
/** Each kind of run is measured for so long: about ten seconds in all. */
const PHASE_MS = 1_000;
const FILL_ROWS_OF_RUN = 500;

/**
 * Measures what runs cost on a target: some seconds of row events on a schema of its own, `abreast_calibration`, which is dropped again. The account needs what an engine's needs
 * (BINLOG), and all rights on that schema.
 * @throws ReplicationError CONFIG, CONNECT, ACCESS_DENIED; the signal's reason
 */
export async function calibrate(options: CalibrateOptions): Promise<CostModel> {
  const { target, log, onProgress, signal } = options;
  const session = await Session.connect(target);
  const workers: ScratchWorker[] = [];
  let isMade = false;
  try {
    const facts = await readTargetFacts({
      rows: async (sql) => (await session.execute(sql)).at(-1)?.rows ?? [],
    });
    const hasBinlog = (await session.queryValue("SELECT @@log_bin")) === "1";
    const isLeftOut = hasBinlog && options.binlog !== true && (await leaveBinlogOut(session));
    if (isLeftOut) onProgress(NOT_LOGGED);
    else if (hasBinlog) onProgress(options.binlog === true ? LOGGED : MAY_NOT_LEAVE_OUT);
    const keys = scratchKeys(SESSIONS);
    await makeScratch(session, keys, () => (isMade = true));
    for (const key of keys) {
      signal?.throwIfAborted();
      workers.push(await ScratchWorker.open(target, key, { facts, log, leavesBinlogOut: isLeftOut, signal }));
    }
    onProgress("calibrating: one session");
    const times = await measure(workers, onProgress);
    return costsFrom(DEFAULT_COSTS, times, options.cores ?? availableParallelism());
  } catch (error) {
    if (!(error instanceof ReplicationError) || error.code !== "ACCESS_DENIED") throw error;
    throw new ReplicationError(error.code, error.message, { where: error.where, hint: GRANTS, cause: error });
  } finally {
    await Promise.all(workers.map((worker) => worker.close().catch(() => {})));
    // A schema of that name that was refused is somebody's.
    if (isMade) await dropScratch(session).catch((error: unknown) => log.warn(STILL_THERE, { reason: String(error) }));
    await session.close().catch(() => {});
  }
}

async function measure(
  workers: readonly ScratchWorker[],
  onProgress: (text: string) => void,
): Promise<CalibrationTimes> {
  const [first] = workers;
  if (first === undefined) throw new RangeError("there are sessions");
  const after = (): number => performance.now() + PHASE_MS;
  const rows = ROWS_OF_SESSION * workers.length;
  await first.apply(inserts(1, rows, FILL_ROWS_OF_RUN, "narrow"));
  // Ranges of their own, behind those that are there.
  const narrowFrom = 1_000_000;
  const wideFrom = 2_000_000;
  const many = 200_000;

  await first.apply(updates(1, rows, 1), after());
  const ping = await cpuOf(() => first.ping(after()));
  const smallUpdate = await cpuOf(() => first.apply(updates(1, rows, 1), after()));
  const largeUpdate = await first.apply(updates(1, ROWS_OF_SESSION, ROWS_OF_LARGE_RUN), after());
  const insert = await first.apply(inserts(narrowFrom, many, ROWS_OF_LARGE_RUN, "narrow"), after());
  const wideInsert = await first.apply(inserts(wideFrom, many, ROWS_OF_LARGE_RUN, "wide"), after());
  const deleted = await first.apply(deletes(narrowFrom, insert.runs * ROWS_OF_LARGE_RUN, ROWS_OF_LARGE_RUN), after());
  onProgress(`calibrating: ${workers.length} sessions`);
  const untilMs = after();
  const startMs = performance.now();
  const together = await cpuOf(() =>
    Promise.all(
      workers.map((worker, index) => worker.apply(updates(1 + index * ROWS_OF_SESSION, ROWS_OF_SESSION, 1), untilMs)),
    ),
  );
  const togetherMs = performance.now() - startMs;
  const togetherRuns = together.result.reduce((sum, { runs }: RunTimes) => sum + runs, 0);
  return {
    pingUs: ping.result.us,
    pingCpuUs: ping.cpuUs / ping.result.count,
    smallUpdate: smallUpdate.result,
    smallUpdateCpuUs: smallUpdate.cpuUs / smallUpdate.result.runs,
    largeUpdate,
    insert,
    wideInsert,
    delete: deleted,
    together: { runUs: (1000 * togetherMs) / togetherRuns, cpuUs: together.cpuUs / togetherRuns },
  };
}

/** With the processor time of this process. */
async function cpuOf<Result>(work: () => Promise<Result>): Promise<{ result: Result; cpuUs: number }> {
  const before = process.cpuUsage();
  const result = await work();
  const { user, system } = process.cpuUsage(before);
  return { result, cpuUs: user + system };
}
