import { assert } from "../base/assert.ts";
import { Heap } from "./heap.ts";

/** Somebody whose computing, sleep or flush is over. */
export interface Resumable {
  resume(): void;
}

/**
 * A machine in virtual time: cores that whoever computes shares equally, as the kernel does it over more than a few milliseconds; clocks to sleep by; and a log device.
 * With n who compute, each proceeds at min(1, cores / n) of a core's speed. All proceed equally, so one number, the work that each of them has been given since
 * the beginning, orders who is ready first.
 */
export class Machine {
  nowUs = 0;
  /** Microseconds of core time that were used. */
  computedUs = 0;
  readonly #cores: number;
  readonly #cpuFactor: number;
  /** By the value of `#given` at which each is done. */
  readonly #computing = new Heap<Resumable>();
  /** What everybody who computed all the time would have been given, in microseconds of one core. */
  #given = 0;
  /** Of those who wait without sleeping: what they take, in shares of one that computes. */
  #spinning = 0;
  readonly #sleeping = new Heap<Resumable>();

  constructor(cores: number, cpuFactor: number) {
    assert(cores > 0, "a machine has a core");
    this.#cores = cores;
    this.#cpuFactor = cpuFactor;
  }

  /** Microseconds that a core needs for what takes `us` by the cost model. */
  workUs(us: number): number {
    return us * this.#cpuFactor;
  }

  /** `us` by the cost model. */
  compute(us: number, who: Resumable): void {
    const workUs = us * this.#cpuFactor;
    this.computedUs += workUs;
    this.#computing.push(this.#given + workUs, who);
  }

  /** Somebody begins (or, with less than 0, ends) to wait without sleeping, with this part of a share. */
  spin(part: number): void {
    this.#spinning += part;
  }

  sleep(us: number, who: Resumable): void {
    this.#sleeping.push(this.nowUs + us, who);
  }

  /** Goes to the next moment at which something is over, and tells one whom it concerns. False: nothing will ever happen by itself. */
  advance(): boolean {
    const computing = this.#computing.size;
    const rate = computing === 0 ? 0 : Math.min(1, this.#cores / (computing + this.#spinning));
    const computedAtUs =
      computing === 0 ? Infinity : this.nowUs + Math.max(0, this.#computing.firstKey - this.#given) / rate;
    const wokenAtUs = this.#sleeping.firstKey;
    if (computedAtUs === Infinity && wokenAtUs === Infinity) return false;
    if (wokenAtUs < computedAtUs) {
      this.#given += Math.max(0, wokenAtUs - this.nowUs) * rate;
      this.nowUs = Math.max(this.nowUs, wokenAtUs);
      this.#sleeping.pop()?.resume();
    } else {
      this.#given = Math.max(this.#given, this.#computing.firstKey);
      this.nowUs = computedAtUs;
      this.#computing.pop()?.resume();
    }
    return true;
  }
}

/**
 * Commits reach the disk in groups: who comes while a flush is under way goes with the next one.
 */
export class LogDevice implements Resumable {
  readonly #machine: Machine;
  readonly #flushUs: number;
  readonly #kbUs: number;
  #flushing: Resumable[] = [];
  #waiting: Resumable[] = [];
  #waitingKb = 0;
  flushes = 0;
  busyUs = 0;

  constructor(machine: Machine, flushUs: number, kbUs: number) {
    this.#machine = machine;
    this.#flushUs = flushUs;
    this.#kbUs = kbUs;
  }

  flush(kb: number, who: Resumable): void {
    this.#waiting.push(who);
    this.#waitingKb += kb;
    if (this.#flushing.length === 0) this.#begin();
  }

  resume(): void {
    const done = this.#flushing;
    this.#flushing = [];
    // The next group's time begins now, not when all of this one have gone on.
    if (this.#waiting.length > 0) this.#begin();
    for (const who of done) who.resume();
  }

  #begin(): void {
    this.#flushing = this.#waiting;
    this.#waiting = [];
    this.flushes++;
    const us = this.#flushUs + this.#waitingKb * this.#kbUs;
    this.#waitingKb = 0;
    this.busyUs += us;
    this.#machine.sleep(us, this);
  }
}
