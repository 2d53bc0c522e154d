import type { SchedulerState } from "../../src/schedule/scheduler.ts";
import type { Run, SchedulerOptions, SchedulerTransaction } from "../../src/schedule/scheduler-types.ts";

/** What a run is held against. */
export interface Circumstances {
  transactions: readonly SchedulerTransaction[];
  options: Pick<SchedulerOptions, "commitOrder" | "packTransactionsMax" | "packBytesMax" | "packRowsMax">;
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
  check(ordinals.length === 1 || run.rows <= options.packRowsMax, `${run.rows} rows are too many`);
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

/** `has`: what the target has. */
export function checkCommit(run: Run, has: ReadonlySet<number>, commitOrder: "preserve" | "relaxed"): void {
  for (const ordinal of run.ordinals) check(!has.has(ordinal), `${ordinal} is committed twice`);
  if (commitOrder === "relaxed") return;
  for (let before = 1; before < run.first; before++)
    check(has.has(before), `${run.first} is committed before ${before}`);
}

/** `lastOf`: by the source's session, its last transaction that is committed. */
export function checkSessionOrder(
  run: Run,
  transactions: readonly SchedulerTransaction[],
  lastOf: Map<number, number>,
): void {
  for (const ordinal of run.ordinals) {
    const session = transactions[ordinal - 1]?.sessionId;
    if (session === undefined) continue;
    check((lastOf.get(session) ?? 0) < ordinal, `${ordinal} is committed behind a later one of its session`);
    lastOf.set(session, ordinal);
  }
}

/** A transaction could begin, and a worker has nothing to do. */
export function canBegin({ slots, window, options, wantedWorkers }: SchedulerState): boolean {
  const start = window.readyAfter(0);
  const isStopped = options.dependency === "low-water-mark" && start !== window.firstPending();
  return start !== undefined && !isStopped && slots.slice(0, wantedWorkers).some(({ phase }) => phase === "idle");
}

/** It cannot be committed in order any more, because something before it was not begun. */
export function isPassedOver(run: Run | undefined, { options, lowWater, otherRuns }: Circumstances): boolean {
  if (options.commitOrder === "relaxed" || run === undefined) return false;
  const begun = new Set(otherRuns.flatMap(({ ordinals }) => ordinals));
  for (let ordinal = lowWater + 1; ordinal < run.first; ordinal++) if (!begun.has(ordinal)) return true;
  return false;
}

export function check(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Error(otherwise);
}
