import { POLICIES, type PolicyName } from "../../schedule/policies/policies.ts";
import type { AutoPolicy } from "../../schedule/policies/auto.ts";
import type { Policy } from "../../schedule/policy.ts";
import type { SchedulerTransaction } from "../../schedule/scheduler-types.ts";
import { CommitParentDistances, type DistanceCount } from "./commit-parent-distances.ts";
import { Levels, type PolicyParallelism } from "./levels.ts";

export interface ParallelismReport {
  policies: ({ policy: PolicyName } & PolicyParallelism)[];
  commitParentDistance: DistanceCount[];
  /** So many transactions were looked at together: no ready set is larger. */
  window: number;
}

/** What waits in the engine's queue at most while runs are not packed (engine/coordinator.ts, QUEUE_MIN): more than that cannot run side by side there either. */
const WINDOW = 2_000;
/** The server's default, and the engine's (`--writeset-history`). */
const HISTORY_SIZE = 25_000;

/** What parallelism a log offers under each policy, whatever transactions cost and however many workers there are. Bounded memory; one pass. */
export class Parallelism {
  readonly #levels: readonly { policy: PolicyName; levels: Levels }[];
  readonly #distances = new CommitParentDistances();
  readonly #window: number;

  constructor(policies: readonly PolicyName[], options: { window?: number; historySize?: number } = {}) {
    const { window = WINDOW, historySize = HISTORY_SIZE } = options;
    this.#window = window;
    this.#levels = policies.map((policy) => ({
      policy,
      levels: new Levels(POLICIES[policy].make({ historySize }), window),
    }));
  }

  /** Which server wrote what follows: `auto` chooses by it, and needs to hear it before the first transaction. */
  see(flavour: "mysql" | "mariadb", serverVersion: string): void {
    for (const { levels } of this.#levels) {
      const policy: Policy & Partial<Pick<AutoPolicy, "see">> = levels.policy;
      policy.see?.(flavour, serverVersion);
    }
  }

  push(transaction: SchedulerTransaction): void {
    this.#distances.push(transaction);
    for (const { levels } of this.#levels) levels.push(transaction);
  }

  report(): ParallelismReport {
    return {
      policies: this.#levels.map(({ policy, levels }) => ({ policy, ...levels.result() })),
      commitParentDistance: this.#distances.counts(),
      window: this.#window,
    };
  }
}
