import type { ErrorCode, Where } from "../base/error.ts";
import type { WorkerTimes } from "../schedule/slots.ts";
import type { SourcePosition } from "../transaction/transaction.ts";

/** A position as people and scripts read it: file and byte offset, and the GTID set (MySQL) or position (MariaDB) when there are GTIDs. */
export interface StatusPosition extends SourcePosition {
  gtids: string;
}

/** Where to pause: a place, and the GTIDs there where somebody knows them. Those are known to be reached also when the source sent nothing since the start. */
export interface PausePosition extends SourcePosition {
  gtids?: string | undefined;
}

/**
 * What a running engine tells of itself: one snapshot, taken at `atMs`. The live line, `status`, and the control API show exactly this.
 * Counters start at 0 with the engine process.
 */
export interface EngineStatus {
  channel: string;
  engineId: string;
  pid: number;
  version: string;
  startedAtMs: number;
  atMs: number;
  state: "starting" | "copying" | "running" | "paused" | "stopping" | "stopped" | "failed";
  source: { address: string; serverVersion: string; serverUuid: string; serverId: number };
  target: { address: string; serverVersion: string };
  receiver: {
    /** In the server's words: `Waiting for source to send event`, … */
    state: string;
    position: StatusPosition | undefined;
    transactions: number;
    events: number;
    bytes: number;
    reconnects: number;
    semiSync: boolean;
    lastEventAtMs: number;
    lastError: string | undefined;
  };
  relayLog: { folder: string; bytes: number; files: number };
  coordinator: { state: string; queuedTransactions: number; queuedBytes: number };
  /** How many apply from now on; `workers` also has those that still finish what they have. */
  wantedWorkers: number;
  workers: WorkerStatus[];
  applied: {
    /** The low-water mark: everything up to here is on the target. */
    position: StatusPosition | undefined;
    transactions: number;
    rows: number;
    runs: number;
    retries: number;
    /** Runs rolled back because an earlier transaction waited for their locks. */
    lockBreaks: number;
    /** Rows that were missing or already there, by what became of them as `on-conflict` says. */
    conflictsSkipped: number;
    conflictsOverwritten: number;
    /** Transactions passed over because `skip` names them. */
    passedOver: number;
    /** From the queue to the commit on the target, milliseconds, averaged over the last runs; undefined before the first one. */
    latencyMs: number | undefined;
    /** How many runs were executing or committing on the target at a time, on average over the time in which at least one was. */
    meanConcurrency: number;
    /** Transactions that were found already applied after a restart and skipped. */
    skipped: number;
    ignoredEvents: number;
    /** Why a worker could not go on; undefined once something was committed again. */
    lastError: string | undefined;
  };
  /** How long ago the oldest transaction that is not applied was committed, by the source's clock; 0 when nothing is waiting; undefined while unknown. */
  lagMs: number | undefined;
  /** Bytes of source binlog received but not yet applied. */
  backlogBytes: number;
  gtidMode: "own" | "preserve";
  /** The policy at work; `policyReason` says why it is this one. */
  policy: string;
  policyReason: string;
  dependency: "graph" | "low-water-mark";
  commitOrder: "preserve" | "relaxed";
  error: { code: ErrorCode; message: string; where: Where; hint: string | undefined } | undefined;
}

export interface WorkerStatus {
  worker: number;
  /** In the server's words: `Waiting for an event from Coordinator`, `Executing event`, `Waiting for preceding transaction to commit`, … */
  state: string;
  sinceMs: number;
  gtid: string | undefined;
  transactionsInRun: number;
  /** Rows applied of the run at work, as far as its bytes tell: progress inside a big transaction. */
  rowsDone: number;
  rowsTotal: number;
  committedTransactions: number;
  retries: number;
  /** Milliseconds since the engine started, by what the worker did or waited for. */
  times: WorkerTimes;
}
