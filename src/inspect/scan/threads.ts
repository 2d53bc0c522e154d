import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { setImmediate as turn } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import type { PartSummary } from "../summary/part.ts";
import type { SchemaKeys } from "./scan-table.ts";
import type { UnitScan } from "./unit-scan.ts";
import type { Unit } from "./units.ts";

/** What a thread is started with. */
export interface ThreadSetting {
  schema: ReadonlyMap<string, SchemaKeys> | undefined;
  verifyChecksums: boolean;
}

/** A unit of a file to be scanned. */
export interface ThreadTask {
  number: number;
  file: { number: number; name: string };
  path: string;
  unit: Unit;
}

export interface ThreadAnswer {
  number: number;
  part: PartSummary;
}

/** Each takes some 35 MB. */
const HELPERS_MAX = 2;
/** Given to a thread beforehand: it has the next one while this thread is busy. */
const TASKS_AHEAD = 2;

/** Threads beside this one that this machine has room for. */
export function threadsWorthIt(): number {
  return workerFile() === undefined ? 0 : Math.min(availableParallelism() - 1, HELPERS_MAX);
}

/** Node runs JavaScript only: from the sources, the built file is taken. */
function workerFile(): string | undefined {
  const here = fileURLToPath(new URL("scan-worker", import.meta.url));
  const built = `${here.replace(/([/\\])src([/\\]inspect[/\\])/, "$1dist$2")}.js`;
  return existsSync(built) ? built : undefined;
}

interface Helper {
  worker: Worker;
  tasks: number;
}

/**
 * Scans units in this thread and in some more, and gives their parts out in the units' order.
 *
 * Invariant: at most `TASKS_AHEAD` units for each thread, and this one's, are given out and not yet handed on, so that memory does not grow with the log.
 */
export class ScanThreads {
  readonly #helpers: Helper[];
  readonly #scan: UnitScan;
  readonly #onPart: (part: PartSummary, unit: Unit) => void;
  readonly #waiting = new Map<number, { part: PartSummary; unit: Unit }>();
  readonly #units = new Map<number, Unit>();
  #given = 0;
  #handedOn = 0;
  #failure: Error | undefined;
  #wake: () => void = () => {};

  constructor(count: number, setting: ThreadSetting, scan: UnitScan, onPart: (part: PartSummary, unit: Unit) => void) {
    this.#scan = scan;
    this.#onPart = onPart;
    const file = workerFile();
    this.#helpers = file === undefined ? [] : Array.from({ length: count }, () => this.#start(file, setting));
  }

  /** Takes the next unit: gives it to a thread that has room, or scans it here. */
  async take(task: Omit<ThreadTask, "number">, descriptor: number): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    const number = this.#given++;
    this.#units.set(number, task.unit);
    const helper = this.#helpers.find(({ tasks }) => tasks < TASKS_AHEAD);
    if (helper === undefined) {
      this.#done({ number, part: this.#scan.scan(descriptor, task.file, task.unit) });
      // Lets the answers of the others in.
      await turn();
    } else {
      helper.tasks++;
      helper.worker.postMessage({ ...task, number } satisfies ThreadTask, []);
    }
  }

  /** Waits until all that was taken is handed on. */
  async finish(): Promise<void> {
    while (this.#handedOn < this.#given) {
      if (this.#failure !== undefined) throw this.#failure;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  async end(): Promise<void> {
    await Promise.all(this.#helpers.map(({ worker }) => worker.terminate()));
  }

  #start(file: string, setting: ThreadSetting): Helper {
    const helper: Helper = { worker: new Worker(file, { workerData: setting }), tasks: 0 };
    helper.worker.on("message", (answer: ThreadAnswer) => {
      helper.tasks--;
      this.#done(answer);
    });
    helper.worker.on("error", (error) => {
      this.#failure = error;
      this.#wake();
    });
    return helper;
  }

  #done({ number, part }: ThreadAnswer): void {
    this.#waiting.set(number, { part, unit: this.#units.get(number) as Unit });
    this.#units.delete(number);
    for (let next = this.#waiting.get(this.#handedOn); next !== undefined; next = this.#waiting.get(this.#handedOn)) {
      this.#waiting.delete(this.#handedOn++);
      this.#onPart(next.part, next.unit);
    }
    this.#wake();
  }
}
