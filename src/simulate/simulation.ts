import { assert } from "../base/assert.ts";
import { POLICIES, type PolicyName } from "../schedule/policies/policies.ts";
import type { Dependencies, Policy } from "../schedule/policy.ts";
import type { SchedulerTransaction } from "../schedule/scheduler-types.ts";
import { Cell, type CellResult } from "./cell.ts";
import type { CostModel } from "./cost-model.ts";
import { NativeCell } from "./native.ts";
import { type Grid, HISTORY_SIZE, type LogSource, type Plan, type PlannedCell, planOf } from "./plan.ts";
import { CostSheet, type SimulatedTransaction } from "./simulated-transaction.ts";

export type { Grid, LogSource } from "./plan.ts";

export interface SimulationResult {
  /** As wanted, in the order of the grid. */
  results: readonly CellResult[];
  /** Of `results[i]` with one worker, which may not have been wanted. */
  ofOneWorker: readonly CellResult[];
}

/** Computes cells that are fed with the same log. */
export interface CellFeed {
  push(batch: readonly SimulatedTransaction[]): void;
  /** By key. */
  end(): ReadonlyMap<string, CellResult>;
}

export type CellFeedOf = (cells: readonly PlannedCell[], costs: CostModel) => CellFeed;

/** All settings of a grid, fed with one log in one pass. */
export class Simulation {
  readonly #plan: Plan;
  readonly #cells: CellFeed;
  readonly #batches = new Batches();

  constructor(
    grid: Grid,
    source: LogSource,
    costs: CostModel,
    feedOf: CellFeedOf = (cells) => new CellGroup(cells, costs),
  ) {
    this.#plan = planOf(grid, source);
    this.#cells = feedOf(this.#plan.cells, costs);
  }

  /** Cells that are computed: several settings may come to the same. */
  get cells(): number {
    return this.#plan.cells.length;
  }

  push(transaction: SimulatedTransaction): void {
    const batch = this.#batches.add(transaction);
    if (batch !== undefined) this.#cells.push(batch);
  }

  /** The log has no more: what was kept back goes to the cells. */
  flush(): void {
    const rest = this.#batches.rest();
    if (rest.length > 0) this.#cells.push(rest);
  }

  end(): SimulationResult {
    this.flush();
    return resultsOf(this.#plan, this.#cells.end());
  }
}

/** `computed`: by key of the plan's cells. */
function resultsOf({ wanted }: Plan, computed: ReadonlyMap<string, CellResult>): SimulationResult {
  const resultOf = (key: string): CellResult => {
    const result = computed.get(key);
    assert(result !== undefined, "a cell that stands for a setting is computed");
    return result;
  };
  return {
    results: wanted.map(({ shown, key }) =>
      shown === undefined ? resultOf(key) : { ...resultOf(key), policy: shown.policy, workers: shown.workers },
    ),
    ofOneWorker: wanted.map(({ oneWorkerKey }) => resultOf(oneWorkerKey)),
  };
}

const BATCH_TRANSACTIONS_MAX = 4_096;
const BATCH_BYTES_MAX = 8 * 1024 * 1024;

/** Transactions come one by one, and go to cells in batches: a cell that goes on with its own things for a while has them in the processor's cache, and lets go of most of them young. */
class Batches {
  #batch: SimulatedTransaction[] = [];
  #bytes = 0;

  /** @returns a batch that is large enough */
  add(transaction: SimulatedTransaction): SimulatedTransaction[] | undefined {
    this.#batch.push(transaction);
    this.#bytes += transaction.scheduler.bytes;
    return this.#batch.length < BATCH_TRANSACTIONS_MAX && this.#bytes < BATCH_BYTES_MAX ? undefined : this.rest();
  }

  rest(): SimulatedTransaction[] {
    const batch = this.#batch;
    this.#batch = [];
    this.#bytes = 0;
    return batch;
  }
}

/** Some cells that are fed together. A policy's answers do not depend on workers, order or packing, so it is asked once for all of them. */
export class CellGroup implements CellFeed {
  readonly #cells: { key: string; cell: Cell | NativeCell }[] = [];
  readonly #policies = new Map<PolicyName, SharedPolicy>();
  readonly #sheet: CostSheet;
  readonly #onCell: () => void;

  /** `onCell`: is called whenever one of them has taken a batch, or has come to its end. */
  constructor(cells: readonly PlannedCell[], costs: CostModel, onCell: () => void = () => {}) {
    this.#onCell = onCell;
    this.#sheet = new CostSheet(costs);
    for (const { key, kind, options } of cells) {
      const cell =
        kind === "native"
          ? new NativeCell(options, costs)
          : new Cell({ ...options, answers: this.#policyOf(options.policy, options.writesetHistory) }, this.#sheet);
      this.#cells.push({ key, cell });
    }
  }

  push(batch: readonly SimulatedTransaction[]): void {
    this.#sheet.know(batch);
    for (const policy of this.#policies.values()) policy.ask(batch);
    for (const { cell } of this.#cells) {
      for (const transaction of batch) cell.push(transaction);
      this.#onCell();
    }
  }

  /** By key. */
  end(): Map<string, CellResult> {
    const results = new Map<string, CellResult>();
    for (const { key, cell } of this.#cells) {
      results.set(key, cell.end());
      this.#onCell();
    }
    return results;
  }

  #policyOf(name: PolicyName, historySize = HISTORY_SIZE): SharedPolicy {
    let policy = this.#policies.get(name);
    if (policy === undefined) {
      policy = new SharedPolicy(POLICIES[name].make({ historySize }));
      this.#policies.set(name, policy);
    }
    return policy;
  }
}

/** One policy for many cells. A cell offers a transaction while it is told the next one, so the last answer of the batch before is kept. */
class SharedPolicy implements Policy {
  readonly #policy: Policy;
  #answers: Dependencies[] = [];
  /** The ordinal of the first answer. */
  #first = 0;

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

  ask(batch: readonly SimulatedTransaction[]): void {
    const [first] = batch;
    if (first === undefined) return;
    this.#answers = this.#answers.slice(-1);
    this.#first = first.scheduler.ordinal - this.#answers.length;
    for (const { scheduler } of batch) this.#answers.push(this.#policy.dependencies(scheduler));
  }

  dependencies({ ordinal }: SchedulerTransaction): Dependencies {
    const answer = this.#answers[ordinal - this.#first];
    assert(answer !== undefined, "a policy is asked before its answer is used");
    return answer;
  }
}
