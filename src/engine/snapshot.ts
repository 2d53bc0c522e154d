import type { Worker } from "../apply/worker.ts";
import { type ReplicationError } from "../base/error.ts";
import { describeAddress } from "../base/server-url.ts";
import type { RelayLog } from "../relay/relay-log.ts";
import type { Receiver } from "../source/receiver.ts";
import { explainChoice } from "../schedule/policies/auto.ts";
import { POLICIES } from "../schedule/policies/policies.ts";
import type { Policy } from "../schedule/policy.ts";
import type { WorkerSlot, WorkerTimes } from "../schedule/slots.ts";
import type { TableFilter } from "../transaction/body.ts";
import { describeId, type SourcePosition } from "../transaction/transaction.ts";
import { VERSION } from "../version.ts";
import type { Coordinator } from "./coordinator.ts";
import type { Feed } from "./feed.ts";
import { type EngineOptions, isPacked } from "./options.ts";
import { comparePositions, type Progress, showGtids } from "./progress.ts";
import type { EngineStatus, StatusPosition, WorkerStatus } from "./status.ts";
import type { Target } from "./target.ts";

/** What the snapshot is taken of. */
export interface EngineParts {
  options: EngineOptions;
  engineId: string;
  startedAtMs: number;
  state: EngineStatus["state"];
  error: ReplicationError | undefined;
  target: Target;
  relay: RelayLog;
  receiver: Receiver;
  coordinator: Coordinator;
  feed: Feed;
  filter: TableFilter;
  policy: Policy;
  workers: readonly Worker[];
  wantedWorkers: () => number;
  skipped: number;
}

export function describeEngine(parts: EngineParts, nowMs: number): EngineStatus {
  const { options, coordinator, relay, feed, error } = parts;
  const receiver = parts.receiver.status;
  const { progress, counts } = coordinator;
  return {
    channel: options.channel,
    engineId: parts.engineId,
    pid: process.pid,
    version: VERSION,
    startedAtMs: parts.startedAtMs,
    atMs: nowMs,
    state: parts.state,
    source: {
      address: describeAddress(options.source),
      serverVersion: receiver.facts?.version.text ?? "",
      serverUuid: receiver.facts?.serverUuid ?? "",
      serverId: receiver.facts?.serverId ?? 0,
    },
    target: { address: describeAddress(options.target), serverVersion: parts.target.serverVersion },
    receiver: {
      state: receiver.state,
      position: receiver.position === undefined ? undefined : { ...receiver.position, gtids: receiver.gtids },
      transactions: receiver.transactions,
      events: receiver.events,
      bytes: receiver.bytes,
      reconnects: receiver.reconnects,
      semiSync: receiver.semiSync,
      lastEventAtMs: receiver.lastEventAtMs,
      lastError: receiver.lastError?.message,
    },
    relayLog: { folder: options.folder, bytes: relay.totalBytes, files: relay.fileCount },
    coordinator: {
      state: coordinatorState(parts),
      queuedTransactions: counts.queuedTransactions,
      queuedBytes: counts.queuedBytes,
    },
    wantedWorkers: parts.wantedWorkers(),
    workers: describeWorkers(parts),
    applied: {
      position: positionOf(progress, coordinator.idle ? feed.reached : progress.source),
      transactions: counts.applied,
      rows: counts.rows,
      runs: counts.runs,
      retries: counts.retries,
      lockBreaks: counts.lockBreaks,
      conflictsSkipped: sum(parts.workers, (worker) => worker.status().conflicts.skipped),
      conflictsOverwritten: sum(parts.workers, (worker) => worker.status().conflicts.overwritten),
      passedOver: feed.passedOver,
      latencyMs: counts.latencyMs === undefined ? undefined : Math.round(counts.latencyMs * 10) / 10,
      meanConcurrency: Math.round(counts.meanConcurrency * 100) / 100,
      skipped: parts.skipped,
      ignoredEvents: feed.ignoredEvents,
      lastError: coordinator.lastTrouble,
    },
    lagMs: lagMs(parts, nowMs),
    backlogBytes: backlogBytes(parts),
    gtidMode: options.gtid,
    policy: parts.policy.name,
    policyReason: policyReason(parts),
    dependency: options.dependency,
    commitOrder: options.commitOrder,
    error: error === undefined ? undefined : describeFailure(error),
  };
}

export function describeFailure({ code, message, where, hint }: ReplicationError): NonNullable<EngineStatus["error"]> {
  return { code, message, where, hint };
}

/** `reached`: with nothing at work the target also is behind events that belong to no transaction. */
function positionOf(progress: Readonly<Progress>, reached: SourcePosition): StatusPosition | undefined {
  const { gtids } = progress;
  const source = comparePositions(reached, progress.source) > 0 ? reached : progress.source;
  return source.file === "" && gtids.kind === "none" ? undefined : { ...source, gtids: showGtids(gtids) };
}

function coordinatorState({ state, coordinator }: EngineParts): string {
  if (state === "paused") return "Paused";
  if (coordinator.idle) return "Replica has read all relay log; waiting for more updates";
  return coordinator.hasRoom
    ? "Reading event from the relay log"
    : "Waiting for replica workers to process their queues";
}

function policyReason({ options, feed }: EngineParts): string {
  if (options.policy !== "auto") return `as chosen: ${POLICIES[options.policy].describe}`;
  const { seen } = feed;
  return seen === undefined
    ? "it is chosen by the first transaction of the source"
    : explainChoice(seen.flavour, seen.serverVersion, isPacked(options));
}

const sum = (workers: readonly Worker[], of: (worker: Worker) => number): number =>
  workers.reduce((total, worker) => total + of(worker), 0);

function describeWorkers({ workers, coordinator }: EngineParts): WorkerStatus[] {
  const { slots, isQueueEmpty } = coordinator;
  return workers.flatMap((worker, index) => {
    const slot = slots[index];
    return slot === undefined || slot.phase === "retired"
      ? []
      : [describeWorker(worker, index, stateOf(worker, slot, isQueueEmpty), coordinator.times(index))];
  });
}

function describeWorker(worker: Worker, index: number, state: string, times: WorkerTimes): WorkerStatus {
  const { phase, sinceMs, job, eventBytesApplied, committedTransactions, retries } = worker.status();
  const first = job?.transactions[0];
  const rowsTotal = job?.run.rows ?? 0;
  const eventBytes = (job?.transactions ?? []).reduce((bytes, transaction) => bytes + transaction.eventBytes, 0);
  const share = eventBytes === 0 ? 0 : Math.min(1, eventBytesApplied / eventBytes);
  return {
    worker: index,
    state,
    sinceMs,
    gtid: first === undefined ? undefined : describeId(first.id),
    transactionsInRun: job?.transactions.length ?? 0,
    rowsDone: phase === "executing" ? Math.floor(share * rowsTotal) : rowsTotal,
    rowsTotal,
    committedTransactions,
    retries,
    times,
  };
}

/** In the words of the servers' process list (sql/mysqld.cc, stage_replica_… and stage_waiting_…), where a server has such a state. */
function stateOf(worker: Worker, slot: WorkerSlot, isQueueEmpty: boolean): string {
  const { phase } = worker.status();
  if (phase === "connecting") return "Connecting to target";
  switch (slot.phase) {
    case "idle":
      return isQueueEmpty ? "Waiting for an event from Coordinator" : "Waiting for dependent transaction to commit";
    case "backing-off":
      return slot.forTurn ? "Waiting for preceding transaction to commit" : "Waiting to retry transaction";
    case "rolling-back":
      return "Rolling back for an earlier transaction";
    default:
      return WORKER_STATES[phase];
  }
}

const WORKER_STATES = {
  connecting: "Connecting to target",
  idle: "Waiting for an event from Coordinator",
  executing: "Executing event",
  executed: "Waiting for preceding transaction to commit",
  "rolling-back": "Rolling back for an earlier transaction",
  committing: "Waiting for handler commit",
  stopped: "Stopped",
} as const;

/**
 * How far behind the source the target is: for how long the oldest transaction that is not applied has been committed, by the source's clock. 0 when everything
 * received is applied; unknown while the receiver has no connection.
 */
function lagMs({ coordinator, receiver, feed }: EngineParts, nowMs: number): number | undefined {
  const { facts, position, state } = receiver.status;
  if (facts === undefined) return undefined;
  const committedAtUs = (coordinator.oldest ?? feed.waiting)?.committedAtUs;
  if (committedAtUs === undefined) {
    const isReading = position !== undefined && comparePositions(feed.reached, position) < 0;
    return !isReading && state === "Waiting for source to send event" ? 0 : undefined;
  }
  if (committedAtUs === 0) return undefined;
  return Math.max(0, nowMs + facts.clockOffsetMs - (committedAtUs + uncertaintyUs(committedAtUs)) / 1000);
}

/**
 * MariaDB and MySQL before 8.0 tell whole seconds, cut off: the commit was up to a second later. Taking the end of that second shows no lag that is not
 * there; the other way a replica that is right behind would seem to be half a second late, on average.
 */
const uncertaintyUs = (committedAtUs: number): number => (committedAtUs % 1_000_000 === 0 ? 999_999 : 0);

/** Within one file the difference of positions; across files, what the relay log still holds. */
function backlogBytes({ coordinator, receiver, relay, feed }: EngineParts): number {
  const { position } = receiver.status;
  const applied = coordinator.idle ? feed.reached : coordinator.progress.source;
  if (position === undefined) return 0;
  if (position.file === applied.file) return Math.max(0, position.position - applied.position);
  return applied.file === "" ? 0 : relay.totalBytes;
}
