import { randomUUID } from "node:crypto";
import { addWorkerRows } from "../apply/checkpoint.ts";
import { interrupt, LockWaits } from "../apply/lock-waits.ts";
import { Worker } from "../apply/worker.ts";
import { systemClock } from "../base/clock.ts";
import { ReplicationError } from "../base/error.ts";
import type { Log } from "../base/log.ts";
import type { RelayLog } from "../relay/relay-log.ts";
import { POLICIES } from "../schedule/policies/policies.ts";
import type { Policy } from "../schedule/policy.ts";
import { Receiver } from "../source/receiver.ts";
import type { TableFilter } from "../transaction/body.ts";
import type { RelayPosition, Transaction } from "../transaction/transaction.ts";
import type { Session } from "../wire/session.ts";
import { readBody } from "./bodies.ts";
import { Coordinator } from "./coordinator.ts";
import { Feed } from "./feed.ts";
import { LockBreaker } from "./lock-breaker.ts";
import { type EngineOptions, isPacked } from "./options.ts";
import { comparePositions, type Goal, isReached, parseGtids } from "./progress.ts";
import { describeEngine, type EngineParts } from "./snapshot.ts";
import { findGoal, findStart, openRelay, receiverStart, replicaUuid } from "./start.ts";
import type { EngineStatus, PausePosition } from "./status.ts";
import { tableFilter } from "./table-filter.ts";
import { Target } from "./target.ts";
import { Writesets } from "./writesets.ts";

/** Room is made in the relay log at most this often: it is some deletions in a folder. */
const PURGE_MS = 1_000;
/** As many as the option allows. */
export const WORKERS_MAX = 256;

/**
 * One channel at work: receiver → relay log → feed → coordinator → workers. This file only wires them; decisions live in schedule/, and what is written on the target
 * in apply/.
 *
 * Invariant: nothing that matters is kept outside the target's checkpoint and the relay log, so the engine may be killed at any instant.
 */
export class Engine {
  /** Resolves after `stop`, or when `until` is reached; rejects with what ended the engine. */
  readonly done: Promise<void>;
  readonly #options: EngineOptions;
  readonly #parts: EngineParts;
  readonly #target: Target;
  readonly #relay: RelayLog;
  readonly #receiver: Receiver;
  readonly #coordinator: Coordinator;
  readonly #feed: Feed;
  readonly #workers: Worker[] = [];
  /** Workers that are no longer wanted, on their way out. */
  readonly #leaving = new Set<Promise<void>>();
  readonly #lockBreaker: LockBreaker;
  #lockWaits: { session: Session; waits: Promise<LockWaits> } | undefined;
  readonly #stopping: AbortController;
  #wantedWorkers: number;
  readonly #until: Goal | undefined;
  #resolveDone: () => void = () => {};
  #rejectDone: (error: ReplicationError) => void = () => {};
  #ending: Promise<void> | undefined;
  /** Settles once everything received is on disk. */
  #receiving: Promise<void> | undefined;
  /** Counts requests to pause and to resume: a pause that is still waited for ends when another one comes. */
  #pauses = 0;
  #purgeable: RelayPosition | undefined;
  readonly #purgeTimer: NodeJS.Timeout;

  /**
   * Resolves when the channel is this engine's and work has begun; servers that cannot be reached later are waited for.
   * @throws ReplicationError FENCED, CHECKPOINT, CONFIG, RELAY_LOG, and those of connecting to the target
   */
  static async start(options: EngineOptions): Promise<Engine> {
    checkCombination(options);
    const startedAtMs = systemClock.nowMs();
    const engineId = randomUUID();
    let fail: (error: ReplicationError) => void = () => {};
    const target = await Target.open(options.target, options.channel, options.log, (error) => fail(error));
    let relay: RelayLog | undefined;
    try {
      const until = await findGoal(options);
      await target
        .requireConnections(options.workers)
        .catch((error: ReplicationError) => options.log.warn(error.message));
      const { progress, ahead, intent } = await findStart(options, target, engineId);
      const opened = await openRelay(options, progress);
      relay = opened.relay;
      const policy: Policy = POLICIES[options.policy].make({
        historySize: options.writesetHistory,
        packed: isPacked(options),
      });
      const coordinator = new Coordinator({
        scheduler: {
          workers: options.workers,
          policy,
          commitOrder: options.commitOrder,
          dependency: options.dependency,
          packTransactionsMax: options.gtid === "preserve" ? 1 : options.packTransactionsMax,
          packBytesMax: options.packBytesMax,
          packRowsMax: options.packRowsMax,
          packMsMax: options.packMsMax,
          retriesMax: options.transactionRetries,
          resolvesConflicts: options.onConflict !== "stop",
        },
        progress,
        writesCheckpoints: options.gtid === "own",
        intent,
        clock: systemClock,
        onAdvance: (relayEnd) => engine.#advanced(relayEnd),
        onRetire: (worker) => engine.#retire(worker),
        // In relaxed order nobody waits for a turn, so there is nothing to ask.
        onStep: options.commitOrder === "preserve" ? () => engine.#lockBreaker.arm() : () => {},
        onFatal: (error) => fail(error),
      });
      const stopping = new AbortController();
      const writesets = new Writesets({
        session: () => target.session,
        hash: options.writesetHash,
        log: options.log,
        signal: stopping.signal,
      });
      const filter = tableFilter(options.copiedTables ?? []);
      const engine: Engine = new Engine(options, {
        engineId,
        startedAtMs,
        target,
        relay,
        coordinator,
        until,
        filter,
        policy,
        stopping,
        receiver: new Receiver({
          source: options.source,
          relay,
          start: receiverStart(progress),
          serverId: options.serverId,
          uuid: replicaUuid(options),
          heartbeatMs: options.heartbeatMs,
          semiSync: options.semiSync,
          clock: systemClock,
          random: Math.random,
          log: options.log,
        }),
        feed: new Feed({
          relay,
          from: opened.from,
          start: progress.source,
          bytesInMemoryMax: options.transactionBytesInMemoryMax,
          tableFilter: filter,
          coordinator,
          policy,
          writesets,
          ahead,
          skip: new Set(options.skip),
          onSkipped: (transaction) => engine.#skipped(transaction),
          onReached: () => engine.#reached(),
        }),
      });
      fail = (error) => engine.#fail(error);
      engine.#run();
      return engine;
    } catch (error) {
      await relay?.close();
      await target.close();
      throw error;
    }
  }

  private constructor(
    options: EngineOptions,
    parts: {
      engineId: string;
      startedAtMs: number;
      target: Target;
      relay: RelayLog;
      coordinator: Coordinator;
      receiver: Receiver;
      feed: Feed;
      until: Goal | undefined;
      filter: TableFilter;
      policy: Policy;
      stopping: AbortController;
    },
  ) {
    this.#options = options;
    this.#target = parts.target;
    this.#relay = parts.relay;
    this.#receiver = parts.receiver;
    this.#coordinator = parts.coordinator;
    this.#feed = parts.feed;
    this.#until = parts.until;
    this.done = new Promise((resolve, reject) => {
      this.#resolveDone = resolve;
      this.#rejectDone = reject;
    });
    this.#wantedWorkers = options.workers;
    this.#stopping = parts.stopping;
    this.#coordinator.use(this.#workers);
    this.#lockBreaker = new LockBreaker({
      slots: () => this.#coordinator.slots,
      connectionIds: () => this.#workers.map((worker) => worker.connectionId),
      readLockWaits: async (ids) => (await this.#lockWaitsOf(parts.target.session)).read(ids),
      onLockWait: (waiter, blockers) => this.#coordinator.tell({ type: "lock-wait", waiter, blockers }),
      clock: systemClock,
      log: options.log,
    });
    this.#parts = {
      ...parts,
      options,
      workers: this.#workers,
      wantedWorkers: () => this.#wantedWorkers,
      state: "running",
      skipped: 0,
      error: undefined,
    };
    this.#purgeTimer = setInterval(() => void this.#purge(), PURGE_MS);
  }

  status(): EngineStatus {
    return describeEngine(this.#parts, systemClock.nowMs());
  }

  /** Finishes what is being executed, commits it, starts nothing new, and ends. */
  stop(): Promise<void> {
    return this.#end(undefined);
  }

  /**
   * Holds applying: exactly after this place of the source, or after what is being applied now. Resolves when the target is there.
   * @throws ReplicationError CONFIG when applying is already beyond it; STOPPED when the engine ends, is resumed or is paused anew before it is there
   */
  async pauseAt(position?: PausePosition): Promise<void> {
    if (position !== undefined && comparePositions(this.#feed.offered.source, position) > 0) {
      throw new ReplicationError("CONFIG", "applying is already beyond this position", {
        where: this.#feed.offered.source,
        hint: "pause without a position first, then pause at a later one",
      });
    }
    const goals = position === undefined ? undefined : goalsOf(position);
    const pause = ++this.#pauses;
    this.#feed.hold(goals ?? "now");
    const isThere = (): boolean =>
      this.#coordinator.idle && (goals === undefined || goals.some((goal) => this.#feed.isReached(goal)));
    for (;;) {
      if (this.#ending !== undefined || this.#pauses !== pause) {
        throw new ReplicationError("STOPPED", "the pause was ended before applying was there");
      }
      if (isThere()) break;
      await this.#coordinator.change();
    }
    if (this.#parts.state === "running") this.#parts.state = "paused";
  }

  resume(): void {
    this.#pauses++;
    if (this.#parts.state === "paused") this.#parts.state = "running";
    this.#feed.release();
    this.#coordinator.nudge();
  }

  /**
   * From now on applies with so many workers. New ones connect, those that are too many finish what they have; the stream goes on meanwhile.
   * @throws ReplicationError CONFIG, FENCED, and those of the target's session
   */
  async setWorkers(count: number): Promise<void> {
    if (!Number.isInteger(count) || count < 1 || count > WORKERS_MAX) {
      throw new ReplicationError("CONFIG", `${count} is no number of workers`, {
        hint: `give a whole number from 1 to ${WORKERS_MAX}`,
      });
    }
    if (this.#ending !== undefined) throw new ReplicationError("STOPPED", "the engine is ending");
    const { target, engineId } = this.#parts;
    const { channel, gtid } = this.#options;
    if (count > this.#wantedWorkers) await target.requireConnections(count);
    if (gtid === "own") await addWorkerRows(target.session, { channel, engineId, workers: count });
    this.#wantedWorkers = count;
    this.#coordinator.tell({ type: "workers", count });
    this.#startWorkers();
    this.#options.log.info(`applying with ${count} ${count === 1 ? "worker" : "workers"} from now on`);
  }

  #startWorkers(): void {
    for (let worker = 0; worker < this.#wantedWorkers; worker++) {
      const present = this.#workers[worker];
      if (present !== undefined && present.status().phase !== "stopped") continue;
      const started = this.#makeWorker(worker);
      this.#workers[worker] = started;
      void started.start();
    }
  }

  /** A session that was lost takes what was known of it along. */
  async #lockWaitsOf(session: Session): Promise<LockWaits> {
    if (this.#lockWaits?.session !== session) this.#lockWaits = { session, waits: LockWaits.open(session) };
    return this.#lockWaits.waits;
  }

  #retire(worker: number): void {
    const leaving = this.#workers[worker]?.stop() ?? Promise.resolve();
    this.#leaving.add(leaving);
    void leaving.finally(() => this.#leaving.delete(leaving));
  }

  #run(): void {
    this.#startWorkers();
    this.#receiving = this.#receiver.run().catch((error: unknown) => this.#fail(error));
    this.#feed.run().catch((error: unknown) => this.#fail(error));
    this.#checkUntil();
  }

  #makeWorker(worker: number): Worker {
    const { target, engineId, relay, filter } = this.#parts;
    const coordinator = this.#coordinator;
    // What a worker warns of keeps it from applying: without a session it tells so again and again, and the status shows the last.
    const log: Log = {
      info: (message, fields) => this.#options.log.info(message, fields),
      warn: (message, fields) => {
        coordinator.troubled(message);
        this.#options.log.warn(message, fields);
      },
    };
    return new Worker({
      address: this.#options.target,
      settings: {
        channel: this.#options.channel,
        worker,
        engineId,
        gtid: this.#options.gtid,
        facts: target.facts,
        readBody: (transaction) => readBody(relay, filter, transaction),
      },
      events: {
        ready: () => coordinator.tell({ type: "worker-ready", worker }),
        lost: () => coordinator.tell({ type: "worker-lost", worker }),
        executed: () => coordinator.tell({ type: "executed", worker }),
        committed: () => coordinator.committed(worker),
        failed: (_, retry, error, isEarly) => {
          if (isEarly && retry !== "later") {
            const what = "tried again when everything before it is committed";
            this.#options.log.info(`worker ${worker}: ${what}: ${error.message}`, { gtid: error.where.gtid });
          } else log.warn(`worker ${worker}: ${error.message}`, { ...error.where });
          coordinator.failed(worker, retry, error);
        },
        gaveBack: () => coordinator.gaveBack(worker),
        fatal: (error) => this.#fail(error),
      },
      onConflict: this.#options.onConflict,
      interrupt: (connectionId) => interrupt(target.session, connectionId),
      log,
    });
  }

  #advanced(relayEnd: RelayPosition | undefined): void {
    if (relayEnd !== undefined) this.#purgeable = relayEnd;
    this.#checkUntil();
  }

  #skipped(transaction: Transaction): void {
    this.#parts.skipped++;
    if (this.#coordinator.idle) this.#purgeable = transaction.relayEnd;
  }

  #reached(): void {
    this.#coordinator.nudge();
    this.#checkUntil();
  }

  #checkUntil(): void {
    const until = this.#until;
    if (until === undefined) return;
    const isThere =
      isReached(until, this.#coordinator.progress) || (this.#coordinator.idle && this.#feed.isReached(until));
    if (isThere) void this.#end(undefined);
  }

  async #purge(): Promise<void> {
    const before = this.#purgeable;
    this.#purgeable = undefined;
    if (before === undefined || this.#ending) return;
    try {
      await this.#relay.purge(before);
    } catch (error) {
      this.#options.log.warn("the relay log cannot be purged", { reason: String(error) });
    }
  }

  #fail(error: unknown): void {
    void this.#end(
      error instanceof ReplicationError
        ? error
        : new ReplicationError("DEFECT", error instanceof Error ? (error.stack ?? error.message) : String(error), {
            hint: "report this, with what led to it",
            cause: error,
          }),
    );
  }

  #end(error: ReplicationError | undefined): Promise<void> {
    this.#ending ??= this.#close(error).then(
      () => (error === undefined ? this.#resolveDone() : this.#rejectDone(error)),
      (failure: unknown) => this.#rejectDone(failure as ReplicationError),
    );
    return this.#ending;
  }

  async #close(error: ReplicationError | undefined): Promise<void> {
    clearInterval(this.#purgeTimer);
    this.#parts.state = error === undefined ? "stopping" : "failed";
    this.#parts.error = error;
    this.#receiver.stop();
    this.#stopping.abort();
    await this.#feed.close();
    if (error === undefined) await this.#coordinator.drain();
    this.#lockBreaker.stop();
    this.#coordinator.stop();
    for (const worker of this.#workers) await worker.stop();
    await Promise.all(this.#leaving);
    await this.#receiving;
    await this.#relay.close();
    await this.#target.close();
    if (error === undefined) this.#parts.state = "stopped";
  }
}

/** @throws ReplicationError CONFIG for options that are right alone and wrong together */
export function checkCombination({ policy, commitOrder }: EngineOptions): void {
  if (policy === "optimistic" && commitOrder === "relaxed") {
    throw new ReplicationError(
      "CONFIG",
      "policy optimistic finds its wrong guesses by the commit order, and needs it",
      {
        hint: "use --commit-order preserve, or --policy writeset with --commit-order relaxed",
      },
    );
  }
}

function goalsOf({ file, position, gtids = "" }: PausePosition): Goal[] {
  const place: Goal = { source: { file, position } };
  return gtids === "" ? [place] : [place, { gtids: parseGtids(gtids) }];
}
