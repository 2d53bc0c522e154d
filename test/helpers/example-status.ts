import type { EngineStatus, WorkerStatus } from "../../src/engine/status.ts";

/** 2025-06-01 12:00:00 UTC, and the engine has been up for 2 h 3 min. */
const AT_MS = Date.UTC(2025, 5, 1, 12, 0, 0);

/** A status like a busy engine's, for tests of what shows or carries statuses. */
export function exampleStatus(changes: Partial<EngineStatus> = {}): EngineStatus {
  return {
    channel: "default",
    engineId: "6f0c2d9a",
    pid: 4242,
    version: "0.1.0",
    startedAtMs: AT_MS - 7_380_000,
    atMs: AT_MS,
    state: "running",
    source: {
      address: "repl@10.0.0.5:3306",
      serverVersion: "8.4.5",
      serverUuid: "3e11fa47-71ca-11e1-9e33-c80aa9429562",
      serverId: 1,
    },
    target: { address: "abreast@10.0.0.6:3306", serverVersion: "9.7.4" },
    receiver: {
      state: "Waiting for source to send event",
      position: {
        file: "binlog.000003",
        position: 104_857_600,
        gtids: "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-61520",
      },
      transactions: 61_520,
      events: 615_200,
      bytes: 131_072_000,
      reconnects: 0,
      semiSync: false,
      lastEventAtMs: AT_MS - 200,
      lastError: undefined,
    },
    relayLog: { folder: "/var/lib/abreast/default", bytes: 134_217_728, files: 2 },
    coordinator: {
      state: "Waiting for dependent transaction to commit",
      queuedTransactions: 1520,
      queuedBytes: 3_145_728,
    },
    wantedWorkers: changes.workers?.length ?? 1,
    workers: [exampleWorker()],
    applied: {
      position: {
        file: "binlog.000003",
        position: 99_614_720,
        gtids: "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-60000",
      },
      transactions: 60_000,
      rows: 240_000,
      runs: 150,
      retries: 2,
      lockBreaks: 0,
      conflictsSkipped: 0,
      conflictsOverwritten: 0,
      passedOver: 0,
      latencyMs: 4.2,
      meanConcurrency: 1,
      skipped: 0,
      ignoredEvents: 0,
      lastError: undefined,
    },
    lagMs: 12_300,
    backlogBytes: 5_242_880,
    gtidMode: "own",
    policy: "logical-clock",
    policyReason: "Policy logical-clock: the logical clock of MySQL 8.4.5 counts writesets already.",
    dependency: "graph",
    commitOrder: "preserve",
    error: undefined,
    ...changes,
  };
}

export function exampleWorker(changes: Partial<WorkerStatus> = {}): WorkerStatus {
  return {
    worker: 0,
    state: "Executing event",
    sinceMs: AT_MS - 300,
    gtid: "3e11fa47-71ca-11e1-9e33-c80aa9429562:60001",
    transactionsInRun: 400,
    rowsDone: 1200,
    rowsTotal: 1600,
    committedTransactions: 60_000,
    retries: 2,
    times: {
      event: 738_000,
      dependency: 369_000,
      executing: 3_690_000,
      precedingCommit: 738_000,
      committing: 1_107_000,
      retry: 369_000,
      connection: 369_000,
    },
    ...changes,
  };
}
