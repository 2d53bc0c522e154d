import { setTimeout as sleep } from "node:timers/promises";
import type { ServerAddress } from "../../base/server-url.ts";
import { Session } from "../../wire/session.ts";
import { round } from "../units.ts";
import { BoundedCurve, type Curve } from "./curve.ts";
import { readHeartbeatMs } from "./heartbeat.ts";

export interface LagSources {
  target: ServerAddress;
  /** Where the heartbeat is. */
  schema: string;
  /** What the replica says of itself, in seconds: Seconds_Behind_Source, or Abreast's own lag. Undefined when it does not know. */
  reported(): Promise<number | undefined>;
  /** Seconds of processor time so far: the target's and, with us, the engine's. */
  cpuSeconds(): number;
}

export interface LagRecord {
  /** Age of the heartbeat that the target has, in seconds: at best a heartbeat's interval, 0.1 s, less. */
  heartbeat: LagFigures;
  reported: LagFigures;
  /** How many processors the replica's side kept busy, by its time: mean of each step. */
  cpu: Curve;
}

export interface LagFigures {
  meanSeconds: number | null;
  maxSeconds: number | null;
  curve: Curve;
}

/** No divisor of the heartbeat's interval and none of its neighbours: else both would go in step, and every look would find a beat of the same age. */
const SAMPLE_MS = 73;
/** SHOW REPLICA STATUS is not free, and what it shows has whole seconds. */
const REPORTED_MS = 250;
/** Long enough that each step has a look in it, also on a machine that is busy. */
const HEARTBEAT_STEP_SECONDS = 0.25;
const REPORTED_STEP_SECONDS = 0.5;

/** Looks at a replica every 73 ms from `begin` on. Memory is bounded, however long it looks. */
export class LagSampler {
  readonly #sources: LagSources;
  readonly #session: Session;
  readonly #ended = new AbortController();
  readonly #heartbeat = new Figures(HEARTBEAT_STEP_SECONDS);
  readonly #reported = new Figures(REPORTED_STEP_SECONDS);
  readonly #cpu = new BoundedCurve("mean", { stepSeconds: REPORTED_STEP_SECONDS });
  readonly #sampling: Promise<void>;
  #beginMs: number | undefined;
  /** When the newest heartbeat that was seen on the target was written. */
  #seenMs = 0;

  static async start(sources: LagSources): Promise<LagSampler> {
    return new LagSampler(sources, await Session.connect(sources.target));
  }

  private constructor(sources: LagSources, session: Session) {
    this.#sources = sources;
    this.#session = session;
    this.#sampling = this.#sample();
    // Whoever waits for the replica learns of it.
    this.#sampling.catch(() => {});
  }

  /** Second 0 of the curves. What was before is not of interest. */
  begin(): void {
    this.#beginMs = Date.now();
  }

  /** Until the target has a heartbeat of `beatMs` or later; rejects with what ends the sampling. */
  async arrived(beatMs: number, signal?: AbortSignal): Promise<void> {
    while (this.#seenMs < beatMs) {
      signal?.throwIfAborted();
      await Promise.race([sleep(SAMPLE_MS / 5), this.#sampling]);
    }
  }

  async stop(): Promise<LagRecord> {
    this.#ended.abort();
    try {
      await this.#sampling;
    } finally {
      await this.#session.close();
    }
    return { heartbeat: this.#heartbeat.figures, reported: this.#reported.figures, cpu: this.#cpu.curve };
  }

  async #sample(): Promise<void> {
    let [cpuBefore, beforeMs, reportedMs] = [this.#sources.cpuSeconds(), performance.now(), -Infinity];
    while (!this.#ended.signal.aborted) {
      this.#seenMs = await readHeartbeatMs(this.#session, this.#sources.schema);
      const nowMs = Date.now();
      const seconds = this.#beginMs === undefined ? undefined : (nowMs - this.#beginMs) / 1000;
      if (seconds !== undefined) this.#heartbeat.add(seconds, (nowMs - this.#seenMs) / 1000);
      if (performance.now() - reportedMs >= REPORTED_MS) {
        reportedMs = performance.now();
        const reported = await this.#sources.reported();
        if (seconds !== undefined && reported !== undefined) this.#reported.add(seconds, reported);
        const cpu = this.#sources.cpuSeconds();
        const cores = ((cpu - cpuBefore) * 1000) / Math.max(1, reportedMs - beforeMs);
        if (seconds !== undefined) this.#cpu.add(seconds, cores);
        [cpuBefore, beforeMs] = [cpu, reportedMs];
      }
      await sleep(SAMPLE_MS, undefined, { signal: this.#ended.signal }).catch(() => {});
    }
  }
}

/** Mean over time is the mean of samples, which come at even intervals. */
class Figures {
  readonly #curve: BoundedCurve;
  #sum = 0;
  #count = 0;
  #max = 0;

  constructor(stepSeconds: number) {
    this.#curve = new BoundedCurve("max", { stepSeconds });
  }

  add(seconds: number, value: number): void {
    this.#curve.add(seconds, value);
    this.#sum += value;
    this.#count++;
    this.#max = Math.max(this.#max, value);
  }

  get figures(): LagFigures {
    const isEmpty = this.#count === 0;
    return {
      meanSeconds: isEmpty ? null : round(this.#sum / this.#count, 3),
      maxSeconds: isEmpty ? null : round(this.#max, 3),
      curve: this.#curve.curve,
    };
  }
}
