import { assert } from "../base/assert.ts";
import { autoPolicy } from "../schedule/policies/auto.ts";
import { POLICIES, type PolicyName } from "../schedule/policies/policies.ts";
import type { Dependencies, Policy } from "../schedule/policy.ts";
import type { SchedulerTransaction } from "../schedule/scheduler-types.ts";
import { Cell, type CellOptions, type CellResult } from "./cell.ts";
import type { CostModel } from "./cost-model.ts";
import { NativeCell, type NativeOptions } from "./native.ts";
import { CostSheet, type SimulatedTransaction } from "./simulated-transaction.ts";

/** What is simulated: each policy with each number of workers, order and packing. */
export interface Grid {
  policies: readonly PolicyName[];
  workers: readonly number[];
  commitOrders: readonly ("preserve" | "relaxed")[];
  /** Transactions of a run at most, each; 1: nothing is packed. */
  packing: readonly number[];
  dependency: "graph" | "low-water-mark";
  /** Limits of one run, where they are not the engine's defaults. */
  limits: Pick<CellOptions, "packBytesMax" | "packRowsMax" | "packMsMax" | "writesetHistory">;
  /** The server's own replica with each number of workers as well. */
  native: boolean;
}

/** The server that wrote the log. */
export interface LogSource {
  flavour: "mysql" | "mariadb";
  serverVersion: string;
}

/** A setting, and the one that stands for it: some settings come to the same. */
interface Wanted {
  shown: CellOptions;
  key: string;
}

export interface SimulationResult {
  /** As wanted, in the order of the grid. */
  results: readonly CellResult[];
  /** Of `results[i]` with one worker, which may not have been wanted. */
  ofOneWorker: readonly CellResult[];
}

/**
 * All settings of a grid, fed with one log in one pass. A policy's answers do not depend on workers, order or packing, so it is asked once for all cells.
 */
export class Simulation {
  readonly #cells = new Map<string, Cell>();
  readonly #natives: NativeCell[] = [];
  readonly #wanted: readonly Wanted[];
  readonly #policies = new Map<string, SharedPolicy>();
  readonly #sheet: CostSheet;
  readonly #isOneNativeWanted: boolean;

  constructor(grid: Grid, source: LogSource, costs: CostModel) {
    this.#sheet = new CostSheet(costs);
    this.#wanted = cellsOf(grid).map((shown) => ({ shown, key: this.#standsFor(shown, source) }));
    this.#isOneNativeWanted = grid.workers.includes(1);
    if (!grid.native) return;
    for (const options of nativesOf(grid, source)) this.#natives.push(new NativeCell(options, costs));
  }

  /** Cells that are computed: several settings may come to the same. */
  get cells(): number {
    return this.#cells.size + this.#natives.length;
  }

  push(transaction: SimulatedTransaction): void {
    for (const policy of this.#policies.values()) policy.ask(transaction.scheduler);
    for (const cell of this.#cells.values()) cell.push(transaction);
    for (const native of this.#natives) native.push(transaction);
  }

  end(): SimulationResult {
    const computed = new Map([...this.#cells].map(([key, cell]) => [key, cell.end()]));
    const resultOf = (key: string): CellResult => {
      const result = computed.get(key);
      assert(result !== undefined, "a setting that stands for another one is computed");
      return result;
    };
    const natives = this.#natives.map((native) => native.end());
    // The first one is that of one worker, wanted or not.
    const [oneNative] = natives;
    const shownNatives = this.#isOneNativeWanted ? natives : natives.slice(1);
    return {
      results: [
        ...this.#wanted.map(({ shown: { policy, workers }, key }) => ({ ...resultOf(key), policy, workers })),
        ...shownNatives,
      ],
      ofOneWorker: [
        ...this.#wanted.map(({ key }) => resultOf(oneWorkerOf(key))),
        ...shownNatives.map((native) => oneNative ?? native),
      ],
    };
  }

  /** Makes the cell that stands for these settings, and the one of a single worker to compare it with. */
  #standsFor(shown: CellOptions, source: LogSource): string {
    const packed = shown.packTransactionsMax > 1 && shown.commitOrder === "preserve";
    const policy = sameAs(shown.policy, source, packed);
    // One transaction after the other: more workers have nothing to do.
    const workers = policy === "single" ? 1 : shown.workers;
    const key = `${policy}/${shown.commitOrder}/${shown.packTransactionsMax}/${workers}`;
    this.#make(key, { ...shown, policy, workers });
    this.#make(oneWorkerOf(key), { ...shown, policy, workers: 1 });
    return key;
  }

  #make(key: string, options: CellOptions): void {
    if (this.#cells.has(key)) return;
    let answers = this.#policies.get(options.policy);
    if (answers === undefined) {
      answers = new SharedPolicy(
        POLICIES[options.policy].make({ historySize: options.writesetHistory ?? HISTORY_SIZE }),
      );
      this.#policies.set(options.policy, answers);
    }
    this.#cells.set(key, new Cell({ ...options, answers }, this.#sheet));
  }
}

/** As the option `writeset-history` of the engine. */
const HISTORY_SIZE = 25_000;

const oneWorkerOf = (key: string): string => `${key.slice(0, key.lastIndexOf("/"))}/1`;

function cellsOf({ policies, workers, commitOrders, packing, dependency, limits }: Grid): CellOptions[] {
  const cells: CellOptions[] = [];
  for (const commitOrder of commitOrders) {
    for (const packTransactionsMax of packing) {
      for (const policy of policies) {
        // Only with the order preserved a guess that was wrong is noticed: the engine refuses it too.
        if (policy === "optimistic" && commitOrder === "relaxed") continue;
        const counts = policy === "single" ? workers.slice(0, 1) : workers;
        for (const count of counts) {
          cells.push({ policy, workers: count, commitOrder, dependency, packTransactionsMax, ...limits });
        }
      }
    }
  }
  return cells;
}

function nativesOf({ workers, commitOrders }: Grid, { flavour }: LogSource): NativeOptions[] {
  const counts = workers.includes(1) ? workers : [1, ...workers];
  const ascending = [...counts].sort((a, b) => a - b);
  const commitOrder = commitOrders[0] ?? "preserve";
  return ascending.map((count) => ({
    flavour,
    policy: flavour === "mariadb" && count > 1 ? "optimistic" : "logical-clock",
    workers: count,
    commitOrder: flavour === "mariadb" ? "preserve" : commitOrder,
  }));
}

/** The policy that gives the same answers for this log. */
function sameAs(policy: PolicyName, { flavour, serverVersion }: LogSource, packed: boolean): PolicyName {
  if (policy === "commit-order") return "logical-clock";
  if (policy !== "auto") return policy;
  const auto = autoPolicy({ historySize: HISTORY_SIZE, packed });
  auto.see(flavour, serverVersion);
  return auto.name === "logical-clock" ? "logical-clock" : "writeset";
}

/** One policy for many cells. A cell offers a transaction while it is told the next one, so the last two answers are kept. */
class SharedPolicy implements Policy {
  readonly #policy: Policy;
  readonly #answers: { ordinal: number; answer: Dependencies }[] = [];

  constructor(policy: Policy) {
    this.#policy = policy;
  }

  get name(): string {
    return this.#policy.name;
  }

  get needsWriteset(): boolean {
    return this.#policy.needsWriteset;
  }

  get speculative(): boolean {
    return this.#policy.speculative;
  }

  ask(transaction: SchedulerTransaction): void {
    const { ordinal } = transaction;
    this.#answers[ordinal % 2] = { ordinal, answer: this.#policy.dependencies(transaction) };
  }

  dependencies({ ordinal }: SchedulerTransaction): Dependencies {
    const known = this.#answers[ordinal % 2];
    assert(known?.ordinal === ordinal, "a policy is asked before its answer is used");
    return known.answer;
  }
}
