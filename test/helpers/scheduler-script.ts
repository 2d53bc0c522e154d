import type { Policy } from "../../src/schedule/policy.ts";
import { singlePolicy } from "../../src/schedule/policies/single.ts";
import { createScheduler, type SchedulerState, step } from "../../src/schedule/scheduler.ts";
import type { Run, SchedulerEffect, SchedulerInput } from "../../src/schedule/scheduler-types.ts";

const POLICIES: Record<string, () => Policy> = { single: singlePolicy };

/**
 * Plays a text script against the scheduler. A script is a list of blocks: commands, a line `----`, what the scheduler answers, an empty line.
 * Lines that start with `#` are prose. The commands:
 *
 *     scheduler workers=2 policy=single order=preserve pack=3 bytes=1000 ms=500 retries=2
 *     transactions 1-5 bytes=10 alone new-format
 *     executed w0 / committed w0             what a worker tells
 *     failed w0 now|later|never              it rolled its run back
 *     lost w0 / ready w0                     its session
 *     drain                                  start nothing new
 *     time +50                               milliseconds pass
 *     show                                   the state in one line
 *
 * @returns the script with the answers as they are now.
 */
export function playScript(script: string): string {
  const player = new Player();
  return script
    .trim()
    .split(/\n{2,}/)
    .map((block) => {
      const lines = block.split("\n");
      const end = lines.indexOf("----");
      const commands = end < 0 ? lines : lines.slice(0, end);
      if (commands.every((line) => line.startsWith("#"))) return commands.join("\n");
      const answers = commands.filter((line) => !line.startsWith("#")).flatMap((line) => player.play(line));
      return [...commands, "----", ...answers].join("\n");
    })
    .join("\n\n")
    .concat("\n");
}

class Player {
  #state: SchedulerState | undefined;
  #nowMs = 0;
  #ordinal = 0;

  play(line: string): string[] {
    const [command, ...words] = line.split(" ");
    const options = new Map(
      words.filter((word) => word.includes("=")).map((word) => word.split("=") as [string, string]),
    );
    const number = (name: string, otherwise: number): number => Number(options.get(name) ?? otherwise);
    if (command === "scheduler") {
      const policy = POLICIES[options.get("policy") ?? "single"];
      if (policy === undefined) throw new Error(`no policy ${options.get("policy")}`);
      const workers = number("workers", 1);
      this.#state = createScheduler({
        startAfter: 0,
        workers,
        policy: policy(),
        commitOrder: options.get("order") === "relaxed" ? "relaxed" : "preserve",
        packTransactionsMax: number("pack", 100),
        packBytesMax: number("bytes", 1_000_000),
        packMsMax: number("ms", 1_000_000),
        retriesMax: number("retries", 10),
      });
      return Array.from({ length: workers }, (_, worker) => this.#step({ type: "worker-ready", worker })).flat();
    }
    const worker = Number(words[0]?.slice(1));
    switch (command) {
      case "transactions": {
        const [first, last = first] = (words[0] ?? "").split("-").map(Number);
        if (first !== this.#ordinal + 1 || last === undefined)
          throw new Error(`transaction ${this.#ordinal + 1} is next`);
        const answers: string[] = [];
        while (this.#ordinal < last) {
          const transaction = {
            ordinal: ++this.#ordinal,
            bytes: number("bytes", 10),
            rows: number("rows", 1),
            alone: words.includes("alone"),
            startsRun: words.includes("new-format"),
          };
          answers.push(...this.#step({ type: "transaction", transaction }));
        }
        return answers;
      }
      case "executed":
      case "committed":
        return this.#step({ type: command, worker });
      case "failed":
        return this.#step({ type: "failed", worker, retry: words[1] as "now", reason: "as the script says" });
      case "lost":
        return this.#step({ type: "worker-lost", worker });
      case "ready":
        return this.#step({ type: "worker-ready", worker });
      case "drain":
        return this.#step({ type: "drain" });
      case "time":
        this.#nowMs += Number(words[0]);
        return this.#step({ type: "tick" });
      case "show":
        return [this.#show()];
      default:
        throw new Error(`unknown command ${line}`);
    }
  }

  #step(input: SchedulerInput): string[] {
    if (this.#state === undefined) throw new Error("a script begins with `scheduler`");
    return step(this.#state, input, this.#nowMs).map(describeEffect);
  }

  #show(): string {
    const state = this.#state;
    if (state === undefined) throw new Error("a script begins with `scheduler`");
    const workers = state.workers.map(
      (slot, worker) =>
        `w${worker} ${slot.phase}${slot.run === undefined ? "" : ` ${describeRun(slot.run)}`}` +
        ("next" in slot && slot.next !== undefined ? `, then ${describeRun(slot.next)}` : ""),
    );
    return `low water ${state.lowWater}, pending ${state.pendingTransactions}, ${workers.join(", ")}`;
  }
}

function describeEffect(effect: SchedulerEffect): string {
  switch (effect.type) {
    case "execute":
      return `execute w${effect.worker} ${describeRun(effect.run)}${effect.run.attempt > 1 ? ` attempt ${effect.run.attempt}` : ""}`;
    case "prepare":
      return `prepare w${effect.worker} ${describeRun(effect.run)}`;
    case "commit":
      return `commit w${effect.worker} ${describeRun(effect.run)}${effect.next === undefined ? "" : `, then ${describeRun(effect.next)}`}`;
    case "advance":
      return `low water ${effect.lowWater}`;
    case "wake":
      return `wake at ${effect.atMs}`;
    case "halt":
      return `halt at ${describeRun(effect.run)}: ${effect.reason}`;
    case "drained":
      return "drained";
  }
}

const describeRun = (run: Run): string => (run.first === run.last ? `${run.first}` : `${run.first}-${run.last}`);
