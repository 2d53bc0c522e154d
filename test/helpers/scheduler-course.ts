import type { PolicyName } from "../../src/schedule/policies/policies.ts";
import type { Policy } from "../../src/schedule/policy.ts";
import type { SchedulerOptions } from "../../src/schedule/scheduler-types.ts";
import type { ClockKind, ModelTransaction, Rows } from "./scheduler-model.ts";

/** An engine from its start to its end. */
export interface Epoch {
  policy: PolicyName;
  historySize: number;
  options: Omit<SchedulerOptions, "startAfter" | "policy" | "retriesMax" | "resolvesConflicts">;
}

export interface Course {
  transactions: readonly ModelTransaction[];
  clock: ClockKind;
  /** One after the other, each with what the former left; the last one goes to the end. */
  epochs: readonly Epoch[];
  /** Each decides what happens next; when they are used up, no more trouble comes, and everybody gets a turn. */
  choices: readonly number[];
  /** This one never succeeds, unless the conflict is resolved. */
  poison: { ordinal: number; resolves: boolean } | undefined;
}

/** For tests of the test: where the machine, or who uses it, does not do what it says. */
export interface Lies {
  policy?: (policy: Policy) => Policy;
  options?: (options: SchedulerOptions) => SchedulerOptions;
  isDeafToLockWaits?: boolean;
  isDeafToTime?: boolean;
  /** After a restart. */
  forgetsApplied?: boolean;
}

export interface Outcome {
  rows: Rows;
  /** In the order of their commits. */
  committed: readonly number[];
  haltedAt: number | undefined;
  lockBreaks: number;
}

export interface Target {
  rows: Rows;
  committed: number[];
  has: Set<number>;
}

export class Choices {
  #next = 0;
  #seed = 1;
  readonly #given: readonly number[];

  constructor(given: readonly number[]) {
    this.#given = given;
  }

  get isCalm(): boolean {
    return this.#next >= this.#given.length;
  }

  take(): number {
    const given = this.#given[this.#next++];
    if (given !== undefined) return given;
    this.#seed = (Math.imul(this.#seed, 1_664_525) + 1_013_904_223) >>> 0;
    return this.#seed >>> 8;
  }
}

/** Whose log it is. */
export const SERVERS: Record<ClockKind | "mysql-old", ["mysql" | "mariadb", string]> = {
  none: ["mysql", "5.6.51"],
  mysql: ["mysql", "9.7.0"],
  "mysql-old": ["mysql", "8.0.36"],
  mariadb: ["mariadb", "10.11.19-MariaDB-log"],
};
