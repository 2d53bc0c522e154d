import type { Machine, Resumable } from "./machine.ts";

export interface EngineTask {
  /** By the cost model. */
  us: number;
  done: () => void;
}

/** What is computed beside comes in pieces of this size. */
const BESIDE_US = 500;

/**
 * The engine's one thread of JavaScript. What came is done in the order in which it came; what a task brings about at once (commands to workers) is done before anything else.
 */
export class EngineThread implements Resumable {
  readonly #machine: Machine;
  #tasks: EngineTask[] = [];
  /** The first task of `#tasks` that is not done. */
  #at = 0;
  readonly #follows: EngineTask[] = [];
  #current: EngineTask | undefined;
  /** Core time that it took, and what was computed beside it, in microseconds. */
  computedUs = 0;
  threadUs = 0;

  /** What the process computes beside this thread, for each microsecond of it. */
  readonly #besidePart: number;
  #besideUs = 0;
  #isBesideAtWork = false;
  readonly #beside: Resumable = {
    resume: () => {
      this.#isBesideAtWork = false;
      this.#computeBeside();
    },
  };

  constructor(machine: Machine, besidePart: number) {
    this.#machine = machine;
    this.#besidePart = besidePart;
  }

  /** Behind all that came before. */
  add(us: number, done: () => void): void {
    this.#tasks.push({ us, done });
    if (this.#current === undefined) this.#begin();
  }

  /** Part of what is being done: comes right behind it. */
  follow(us: number, done: () => void): void {
    this.#follows.push({ us, done });
    if (this.#current === undefined) this.#begin();
  }

  resume(): void {
    const task = this.#current;
    // While `done` runs, what it adds does not begin: what follows comes before what was added.
    task?.done();
    this.#current = undefined;
    this.#begin();
  }

  #begin(): void {
    const task = this.#follows.shift() ?? this.#takeTask();
    if (task === undefined) return;
    this.#current = task;
    this.#count(task.us);
    this.#machine.compute(task.us, this);
    this.#besideUs += task.us * this.#besidePart;
    this.#computeBeside();
  }

  #count(us: number): void {
    const workUs = this.#machine.workUs(us);
    this.computedUs += workUs;
    this.threadUs += workUs;
  }

  #computeBeside(): void {
    if (this.#isBesideAtWork || this.#besideUs < BESIDE_US) return;
    this.#isBesideAtWork = true;
    this.computedUs += this.#machine.workUs(this.#besideUs);
    this.#machine.compute(this.#besideUs, this.#beside);
    this.#besideUs = 0;
  }

  #takeTask(): EngineTask | undefined {
    const task = this.#tasks[this.#at];
    if (task === undefined) return undefined;
    this.#at++;
    if (this.#at === this.#tasks.length) {
      this.#tasks = [];
      this.#at = 0;
    }
    return task;
  }
}
