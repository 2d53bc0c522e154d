import { playBlocks } from "./text-script.ts";
import type { Policy } from "../../src/schedule/policy.ts";
import { POLICIES, POLICY_NAMES } from "../../src/schedule/policies/policies.ts";
import { createScheduler, type SchedulerState, step } from "../../src/schedule/scheduler.ts";
import type { Run, SchedulerEffect, SchedulerInput, SchedulerTransaction } from "../../src/schedule/scheduler-types.ts";
import type { Writeset } from "../../src/schedule/writeset.ts";

function makePolicy(wanted: string, historySize: number): Policy {
  if (wanted === "free") return freePolicy();
  const name = POLICY_NAMES.find((name) => name === wanted);
  if (name === undefined) throw new Error(`no policy ${wanted}`);
  return POLICIES[name].make({ historySize });
}

/**
 * Plays a text script against the scheduler. A script is a list of blocks: commands, a line `----`, what the scheduler answers, an empty line.
 * Lines that start with `#` are prose. The commands:
 *
 *     scheduler workers=2 policy=single order=preserve dependency=graph pack=3 bytes=1000 rows=100 ms=500 retries=2 history=25000 resolve
 *         may come again: a new one, whose first transaction is 1
 *     transactions 1-5 bytes=10 alone barrier new-format applied
 *         and what policies look at: file=binlog.000001 clock=3:5 (last_committed:sequence_number) commit-id=7 session=12 schema=shop,crm
 *         writes=a,b reads=p fallback opaque (names stand for hashes); policy `free` goes by after=3,4
 *     executed w0 / committed w0             what a worker tells
 *     failed w0 now|later|never conflict     it rolled its run back; `conflict`: a row is missing or already there
 *     lost w0 / ready w0                     its session
 *     lock-wait w0 by w1,w2                  the target says so
 *     workers 4                              from now on so many
 *     drain                                  start nothing new
 *     time +50                               milliseconds pass
 *     show                                   the state in one line
 *
 * @returns the script with the answers as they are now.
 */
export function playScript(script: string): string {
  const player = new Player();
  return playBlocks(script, (line) => player.play(line));
}

class Player {
  #state: SchedulerState | undefined;
  #nowMs = 0;
  #ordinal = 0;
  #needsWriteset = false;

  play(line: string): string[] {
    const [command, ...words] = line.split(" ");
    const options = new Map(
      words.filter((word) => word.includes("=")).map((word) => word.split("=") as [string, string]),
    );
    const number = (name: string, otherwise: number): number => Number(options.get(name) ?? otherwise);
    if (command === "scheduler") {
      const policy = makePolicy(options.get("policy") ?? "single", number("history", 25_000));
      this.#needsWriteset = policy.needsWriteset;
      const workers = number("workers", 1);
      this.#ordinal = 0;
      this.#state = createScheduler({
        startAfter: 0,
        workers,
        policy,
        commitOrder: options.get("order") === "relaxed" ? "relaxed" : "preserve",
        dependency: options.get("dependency") === "low-water-mark" ? "low-water-mark" : "graph",
        packTransactionsMax: number("pack", 100),
        packBytesMax: number("bytes", 1_000_000),
        packRowsMax: number("rows", 1_000_000),
        packMsMax: number("ms", 1_000_000),
        retriesMax: number("retries", 10),
        resolvesConflicts: words.includes("resolve"),
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
          answers.push(...this.#step({ type: "transaction", transaction: this.#transaction(words, options) }));
        }
        return answers;
      }
      case "executed":
      case "committed":
        return this.#step({ type: command, worker });
      case "failed":
        return this.#step({
          type: "failed",
          worker,
          retry: words[1] as "now",
          isConflict: words.includes("conflict"),
          reason: "as the script says",
        });
      case "lost":
        return this.#step({ type: "worker-lost", worker });
      case "ready":
        return this.#step({ type: "worker-ready", worker });
      case "lock-wait":
        return this.#step({
          type: "lock-wait",
          waiter: worker,
          blockers: (words[2] ?? "").split(",").map((name) => Number(name.slice(1))),
        });
      case "workers":
        return this.#step({ type: "workers", count: Number(words[0]) });
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

  #transaction(words: readonly string[], options: ReadonlyMap<string, string>): SchedulerTransaction {
    const names = (option: string): string[] => (options.get(option) ?? "").split(",").filter((name) => name !== "");
    const [lastCommitted = 0, sequenceNumber = 0] = (options.get("clock") ?? "0:0").split(":").map(Number);
    const { commitId, sessionId } = { commitId: options.get("commit-id"), sessionId: options.get("session") };
    const alone = words.includes("alone");
    const ordinal = ++this.#ordinal;
    if (options.has("after")) freeDependencies.set(ordinal, names("after").map(Number));
    return {
      ordinal,
      bytes: Number(options.get("bytes") ?? 10),
      rows: Number(options.get("rows") ?? 1),
      alone: alone || words.includes("barrier"),
      barrier: alone || words.includes("barrier"),
      startsRun: words.includes("new-format"),
      applied: words.includes("applied"),
      file: options.get("file") ?? "binlog.000001",
      lastCommitted,
      sequenceNumber,
      commitId: commitId === undefined ? undefined : BigInt(commitId),
      sessionId: sessionId === undefined ? undefined : Number(sessionId),
      schemas: new Set(names("schema")),
      writeset: this.#needsWriteset ? writesetOf(words, names("writes"), names("reads")) : undefined,
    };
  }

  #step(input: SchedulerInput): string[] {
    if (this.#state === undefined) throw new Error("a script begins with `scheduler`");
    return step(this.#state, input, this.#nowMs).map(describeEffect);
  }

  #show(): string {
    const state = this.#state;
    if (state === undefined) throw new Error("a script begins with `scheduler`");
    const workers = state.slots.map(
      (slot, worker) =>
        `w${worker} ${slot.phase}${slot.run === undefined ? "" : ` ${describeRun(slot.run)}`}` +
        ("next" in slot && slot.next !== undefined ? `, then ${describeRun(slot.next)}` : ""),
    );
    return `low water ${state.window.lowWater}, pending ${state.window.pendingTransactions}, ${workers.join(", ")}`;
  }
}

function describeEffect(effect: SchedulerEffect): string {
  switch (effect.type) {
    case "execute":
      return `execute w${effect.worker} ${describeRun(effect.run)}${effect.run.attempt > 1 ? ` attempt ${effect.run.attempt}` : ""}${effect.run.resolve ? ", resolving" : ""}`;
    case "prepare":
      return `prepare w${effect.worker} ${describeRun(effect.run)}`;
    case "commit":
      return `commit w${effect.worker} ${describeRun(effect.run)}${effect.next === undefined ? "" : `, then ${describeRun(effect.next)}`}`;
    case "rollback":
      return `rollback w${effect.worker} ${describeRun(effect.run)}`;
    case "retire":
      return `retire w${effect.worker}`;
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

/** Hashes that a reader can follow: each name has its own. */
function writesetOf(words: readonly string[], writes: readonly string[], reads: readonly string[]): Writeset {
  const hash = (name: string): number => Buffer.from(name).reduce((sum, byte) => sum * 131 + byte, 7);
  return {
    writes: writes.map(hash),
    reads: reads.map(hash),
    fallback: words.includes("fallback") || words.includes("opaque"),
    opaque: words.includes("opaque"),
  };
}

const freeDependencies = new Map<number, number[]>();

/** Waits for exactly what the script says. */
function freePolicy(): Policy {
  freeDependencies.clear();
  return {
    name: "free",
    needsWriteset: false,
    speculative: false,
    dependencies: ({ ordinal }) => ({ upTo: 0, also: freeDependencies.get(ordinal) ?? [] }),
  };
}

/** `4-7`, and with gaps `4-5,7`. */
function describeRun({ ordinals }: Run): string {
  const parts: string[] = [];
  for (let at = 0; at < ordinals.length;) {
    const from = ordinals[at] as number;
    let to = from;
    for (at++; ordinals[at] === to + 1; at++) to++;
    parts.push(from === to ? `${from}` : `${from}-${to}`);
  }
  return parts.join(",");
}
