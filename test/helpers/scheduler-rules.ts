import type { Run, SchedulerOptions, SchedulerTransaction } from "../../src/schedule/scheduler-types.ts";

/** What a run is held against. */
export interface Circumstances {
  transactions: readonly SchedulerTransaction[];
  options: Pick<SchedulerOptions, "commitOrder" | "packTransactionsMax" | "packBytesMax">;
  /** How many transactions the scheduler has seen. */
  arrived: number;
  lowWater: number;
  /** Of which the scheduler knows that they are committed. */
  committed: ReadonlySet<number>;
  /** Those at work, and those made ready. */
  otherRuns: readonly Run[];
}

/** Limits, order, and that no transaction is in two runs. */
export function checkNewRun(run: Run, { transactions, options, arrived, committed, otherRuns }: Circumstances): void {
  const { ordinals } = run;
  const its = ordinals.map((ordinal) => transactions[ordinal - 1]);
  check(run.attempt === 1 && !run.resolve, "a new run is new");
  check(run.first === ordinals[0] && run.last === ordinals.at(-1), "a run knows its ends");
  check(
    ordinals.every((each, index) => index === 0 || each > (ordinals[index - 1] ?? 0)),
    "a run is in order",
  );
  check(
    ordinals.every((each) => each <= arrived && !committed.has(each)),
    "a run has what is there and not committed",
  );
  check(
    options.commitOrder === "relaxed" || run.last - run.first + 1 === ordinals.length,
    "with the order preserved a run is consecutive",
  );
  for (const other of otherRuns) {
    check(!other.ordinals.some((each) => ordinals.includes(each)), "a transaction is in one run at a time");
  }
  const sum = (what: "bytes" | "rows"): number => its.reduce((total, each) => total + (each?.[what] ?? 0), 0);
  check(run.bytes === sum("bytes") && run.rows === sum("rows"), "a run counts its bytes and rows");
  check(ordinals.length <= options.packTransactionsMax, `${ordinals.length} transactions are too many`);
  check(ordinals.length === 1 || run.bytes <= options.packBytesMax, `${run.bytes} bytes are too many`);
  check(ordinals.length === 1 || !its.some((each) => each?.alone), "a run has one that is to be alone");
  check(!transactions.slice(run.first, run.last).some(({ startsRun }) => startsRun), "a run has events of two formats");
}

/** A barrier begins when all before are committed, and nothing behind it begins before it is committed. */
export function checkBarriers(run: Run, { transactions, lowWater, committed }: Circumstances): void {
  for (let ordinal = lowWater + 1; ordinal < run.last; ordinal++) {
    const isPassed = transactions[ordinal - 1]?.barrier !== true || committed.has(ordinal);
    check(isPassed, `${run.last} begins before the barrier ${ordinal} is committed`);
  }
  const isBarrier = transactions[run.first - 1]?.barrier === true;
  check(!isBarrier || run.first === lowWater + 1, `the barrier ${run.first} does not wait for all before it`);
}

export function check(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Error(otherwise);
}
