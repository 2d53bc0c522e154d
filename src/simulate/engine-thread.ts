import { Beside } from "./beside.ts";
import type { Machine, Resumable } from "./machine.ts";

export interface EngineTask {
  /** By the cost model. */
  us: number;
  done: () => void;
}

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
  /** Core time that it took, in microseconds. */
  threadUs = 0;
  readonly #beside: Beside;

  constructor(machine: Machine, besidePart: number) {
    this.#machine = machine;
    this.#beside = new Beside(machine, besidePart);
  }

  /** Core time that it took, and what was computed beside it, in microseconds. */
  get computedUs(): number {
    return this.threadUs + this.#beside.computedUs;
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
    this.threadUs += this.#machine.workUs(task.us);
    this.#machine.compute(task.us, this);
    this.#beside.add(task.us);
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
