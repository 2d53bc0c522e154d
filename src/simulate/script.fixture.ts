import { playBlocks } from "../../test/helpers/text-script.ts";
import { Cell, type Moment } from "./cell.ts";
import { type CostModel, DEFAULT_COSTS } from "./cost-model.ts";
import { NativeCell } from "./native.ts";
import type { SimulatedTransaction } from "./simulated-transaction.ts";
import { POLICY_NAMES } from "../schedule/policies/policies.ts";

/** Everything free but rows, a millisecond each, on as many cores as one likes. */
export const PLAIN_COSTS: CostModel = {
  ...DEFAULT_COSTS,
  cores: 1_000,
  startUs: 0,
  workerStartUs: 0,
  roundTripUs: 0,
  flushUs: 0,
  flushKbUs: 0,
  engine: zeros(DEFAULT_COSTS.engine),
  engineBesidePart: 0,
  targetBesidePart: 0,
  target: { ...zeros(DEFAULT_COSTS.target), insertUs: 1_000, updateUs: 1_000, deleteUs: 1_000 },
  native: { ...zeros(DEFAULT_COSTS.native), rowsFactor: 1 },
};

function zeros<Part extends object>(part: Part): Part {
  return Object.fromEntries(Object.keys(part).map((name) => [name, 0])) as Part;
}

const MOMENTS: Readonly<Record<Moment, string>> = {
  execute: "executes",
  executed: "has executed",
  commit: "commits",
  committed: "has committed",
  "roll back": "rolls back",
};

/**
 * Plays a text script on virtual machines. A script is a list of blocks: commands, a line `----`, what happens, an empty line. Lines that start with `#` are prose.
 *
 *     cell policy=writeset workers=2 order=preserve pack=1        a setting, or
 *     native workers=4 order=preserve                             the server's own replica
 *         cores=2 flush=3 round-trip=1 engine=1 commit=1          milliseconds; engine: of each transaction; what is not said is free, and a row takes 1 ms
 *     transactions 1-5 rows=3 writes=a,b schema=shop session=7 clock=0:1 kb=4 ddl=20
 *     end                                                         everything is committed: tells what it took
 *
 * @returns the script with what happens as it is now.
 */
export function playSimulation(script: string): string {
  const player = new Player();
  return playBlocks(script, (line) => player.play(line));
}

class Player {
  #cell: Cell | NativeCell | undefined;
  #moments: string[] = [];

  play(line: string): string[] {
    const [command = "", ...words] = line.split(" ");
    const options = new Map(
      words.filter((word) => word.includes("=")).map((word) => word.split("=") as [string, string]),
    );
    if (command === "cell" || command === "native") return this.#start(command, options);
    if (command === "transactions") {
      const [from = 0, to = from] = (words[0] ?? "").split("-").map(Number);
      for (let ordinal = from; ordinal <= to; ordinal++) this.#cell?.push(transactionOf(ordinal, options));
      return [];
    }
    if (command !== "end" || this.#cell === undefined) throw new Error(`no command ${line}`);
    const { predictedSeconds, flushes, runs, meanBusyWorkers, lockBreaks, waits } = this.#cell.end();
    const waited = Object.entries(waits).filter(([, seconds]) => seconds > 1e-9);
    const told = [
      `${ms(predictedSeconds * 1e6)}, ${runs} commits of the target, ${flushes} flushes, ${meanBusyWorkers.toFixed(2)} workers busy` +
        (lockBreaks === 0 ? "" : `, ${lockBreaks} rolled back for an earlier one`),
      `waited: ${waited.map(([name, seconds]) => `${name} ${ms(seconds * 1e6)}`).join(", ") || "never"}`,
    ];
    return [...this.#moments.splice(0), ...told];
  }

  #start(command: "cell" | "native", options: ReadonlyMap<string, string>): string[] {
    const number = (name: string, otherwise: number): number => Number(options.get(name) ?? otherwise);
    const costs: CostModel = {
      ...PLAIN_COSTS,
      cores: number("cores", PLAIN_COSTS.cores),
      flushUs: 1_000 * number("flush", 0),
      roundTripUs: 1_000 * number("round-trip", 0),
      engine: { ...PLAIN_COSTS.engine, transactionUs: 1_000 * number("engine", 0) },
      target: { ...PLAIN_COSTS.target, commitUs: 1_000 * number("commit", 0) },
      native: { ...PLAIN_COSTS.native, flushUs: 1_000 * number("flush", 0), commitUs: 1_000 * number("commit", 0) },
    };
    const workers = number("workers", 1);
    const commitOrder = options.get("order") === "relaxed" ? "relaxed" : "preserve";
    const policy = POLICY_NAMES.find((name) => name === options.get("policy")) ?? "writeset";
    this.#moments = [];
    this.#cell =
      command === "native"
        ? new NativeCell({ policy: policy === "optimistic" ? policy : "logical-clock", workers, commitOrder }, costs)
        : new Cell(
            {
              policy,
              workers,
              commitOrder,
              packTransactionsMax: number("pack", 1),
              onMoment: (atUs, worker, what, { ordinals }) =>
                this.#moments.push(`${ms(atUs).padStart(8)}  w${worker} ${MOMENTS[what]} ${ordinals.join(",")}`),
            },
            costs,
          );
    return [];
  }
}

const ms = (us: number): string => `${Number((us / 1000).toFixed(2))} ms`;

function transactionOf(ordinal: number, options: ReadonlyMap<string, string>): SimulatedTransaction {
  const rows = Number(options.get("rows") ?? 1);
  const ddl = options.get("ddl");
  const [lastCommitted = 0, sequenceNumber = 0] = (options.get("clock") ?? "0:0").split(":").map(Number);
  const schema = options.get("schema") ?? "shop";
  const session = options.get("session");
  const writes = (options.get("writes")?.split(",") ?? [String(ordinal)]).map(hashOf);
  return {
    scheduler: {
      ordinal,
      bytes: 1024 * Number(options.get("kb") ?? 0),
      rows: ddl === undefined ? rows : 0,
      alone: ddl !== undefined,
      barrier: ddl !== undefined,
      startsRun: false,
      applied: false,
      file: "binlog.000001",
      lastCommitted,
      sequenceNumber,
      commitId: undefined,
      sessionId: session === undefined ? undefined : Number(session),
      schemas: new Set([schema]),
      writeset: { writes, reads: [], fallback: false, opaque: false },
    },
    committedAtUs: 1e12 + ordinal * 1_000,
    name: `transaction ${ordinal}`,
    rows: ddl === undefined ? [{ table: `${schema}.t`, inserts: 0, updates: rows, deletes: 0, bytes: rows * 10 }] : [],
    ...(ddl === undefined ? {} : { executionUs: 1_000 * Number(ddl) }),
  };
}

/** The same name, the same hash. */
function hashOf(name: string): number {
  let hash = 7;
  for (let at = 0; at < name.length; at++) hash = (hash * 31 + name.charCodeAt(at)) % 2 ** 31;
  return hash;
}
