import { systemClock } from "../base/clock.ts";
import { ReplicationError } from "../base/error.ts";
import { describeAddress } from "../base/server-url.ts";
import { Engine } from "../engine/engine.ts";
import { describeFailure } from "../engine/snapshot.ts";
import type { EngineOptions } from "../engine/options.ts";
import type { EngineStatus, PausePosition } from "../engine/status.ts";
import type { Controlled } from "../http/control-server.ts";
import { VERSION } from "../version.ts";

/** What comes before the engine: the preflight, the initial copy. What it answers goes into the engine's options. Ends with STOPPED when the signal is aborted. */
export interface Preparation {
  /** What it is at: looking whether there is something to copy is not copying. */
  readonly state: "starting" | "copying";
  run(signal: AbortSignal): Promise<Partial<EngineOptions>>;
}

/**
 * One `replicate` from its first moment to its last: preparations, then the engine. Can be asked and stopped at any time, whatever it is at.
 *
 * Invariant: after `stop` no engine is started; one that was being started is stopped as soon as it is there.
 */
export class Replication implements Controlled {
  #options: EngineOptions;
  readonly #preparations: readonly Preparation[];
  readonly #startedAtMs = systemClock.nowMs();
  readonly #abort = new AbortController();
  #ended: Promise<void> | undefined;
  #state: "starting" | "stopped" | "failed" = "starting";
  #preparation: Preparation | undefined;
  #engine: Engine | undefined;
  #error: ReplicationError | undefined;

  constructor(options: EngineOptions, preparations: readonly Preparation[]) {
    this.#options = options;
    this.#preparations = preparations;
  }

  /** Resolves after `stop` or when `until` is reached; rejects with what ended it. */
  run(): Promise<void> {
    this.#ended ??= this.#run();
    return this.#ended;
  }

  /** Whether it came as far as applying. */
  get hasEngine(): boolean {
    return this.#engine !== undefined;
  }

  status(): EngineStatus {
    return this.#engine?.status() ?? this.#statusWithoutEngine();
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#engine?.stop();
    await this.#ended;
  }

  async pauseAt(position?: PausePosition): Promise<void> {
    if (this.#engine === undefined) {
      throw new ReplicationError("NOT_RUNNING", `the engine is ${this.#stateWithoutEngine}`, {
        hint: "try again when it runs",
      });
    }
    await this.#engine.pauseAt(position);
  }

  resume(): void {
    this.#engine?.resume();
  }

  /** Before there is an engine: it will begin with so many. */
  async setWorkers(count: number): Promise<void> {
    if (this.#state !== "starting") throw new ReplicationError("NOT_RUNNING", `the engine has ${this.#state}`);
    this.#options = { ...this.#options, workers: count };
    await this.#engine?.setWorkers(count);
  }

  async #run(): Promise<void> {
    try {
      for (const preparation of this.#preparations) {
        this.#preparation = preparation;
        const found = await preparation.run(this.#abort.signal);
        this.#options = { ...this.#options, ...found };
        if (this.#abort.signal.aborted) break;
      }
      this.#preparation = undefined;
      if (!this.#abort.signal.aborted) await this.#runEngine();
      this.#state = "stopped";
    } catch (error) {
      const wasAsked = this.#abort.signal.aborted && error instanceof ReplicationError && error.code === "STOPPED";
      this.#state = wasAsked ? "stopped" : "failed";
      if (wasAsked) return;
      this.#error = error instanceof ReplicationError ? error : new ReplicationError("DEFECT", String(error));
      throw error;
    }
  }

  async #runEngine(): Promise<void> {
    const { workers } = this.#options;
    const engine = await Engine.start(this.#options);
    this.#engine = engine;
    if (this.#abort.signal.aborted) await engine.stop();
    else if (this.#options.workers !== workers) await engine.setWorkers(this.#options.workers);
    await engine.done;
  }

  get #stateWithoutEngine(): EngineStatus["state"] {
    return this.#state === "starting" ? (this.#preparation?.state ?? "starting") : this.#state;
  }

  #statusWithoutEngine(): EngineStatus {
    const { channel, source, target, folder, semiSync, gtid, policy, dependency, commitOrder } = this.#options;
    return {
      channel,
      engineId: "",
      pid: process.pid,
      version: VERSION,
      startedAtMs: this.#startedAtMs,
      atMs: systemClock.nowMs(),
      state: this.#stateWithoutEngine,
      source: { address: describeAddress(source), serverVersion: "", serverUuid: "", serverId: 0 },
      target: { address: describeAddress(target), serverVersion: "" },
      receiver: {
        state: "",
        position: undefined,
        transactions: 0,
        events: 0,
        bytes: 0,
        reconnects: 0,
        semiSync,
        lastEventAtMs: 0,
        lastError: undefined,
      },
      relayLog: { folder, bytes: 0, files: 0 },
      coordinator: { state: "", queuedTransactions: 0, queuedBytes: 0 },
      wantedWorkers: this.#options.workers,
      workers: [],
      applied: {
        position: undefined,
        transactions: 0,
        rows: 0,
        runs: 0,
        retries: 0,
        lockBreaks: 0,
        conflictsSkipped: 0,
        conflictsOverwritten: 0,
        passedOver: 0,
        latencyMs: undefined,
        meanConcurrency: 0,
        skipped: 0,
        ignoredEvents: 0,
        lastError: undefined,
      },
      lagMs: undefined,
      backlogBytes: 0,
      gtidMode: gtid,
      policy,
      policyReason: "",
      dependency,
      commitOrder,
      error: this.#error === undefined ? undefined : describeFailure(this.#error),
    };
  }
}
