import type { Machine, Resumable } from "./machine.ts";

/** It comes in pieces of this size. */
const PIECE_US = 500;

/**
 * What a process computes beside the threads that somebody waits for: garbage collection, compilers, purge, page cleaners. Nobody waits for it, but it wants cores too.
 */
export class Beside implements Resumable {
  /** Core time, in microseconds. */
  computedUs = 0;
  readonly #machine: Machine;
  readonly #part: number;
  #us = 0;
  #isAtWork = false;

  /** `part`: for each microsecond that those threads compute. */
  constructor(machine: Machine, part: number) {
    this.#machine = machine;
    this.#part = part;
  }

  /** Microseconds by the cost model that such a thread begins to compute. */
  add(us: number): void {
    this.#us += us * this.#part;
    this.#begin();
  }

  resume(): void {
    this.#isAtWork = false;
    this.#begin();
  }

  #begin(): void {
    if (this.#isAtWork || this.#us < PIECE_US) return;
    this.#isAtWork = true;
    this.computedUs += this.#machine.workUs(this.#us);
    this.#machine.compute(this.#us, this);
    this.#us = 0;
  }
}
