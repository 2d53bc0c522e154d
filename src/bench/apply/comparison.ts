import { median, round } from "../units.ts";
import type { ApplyRun } from "./report.ts";

/** One contender over all its runs. */
export interface ApplySummary {
  name: string;
  runs: number;
  secondsMin: number;
  secondsMedian: number;
}

/** The fastest contender of each side, by the median of its runs, among those that keep the commit order; null where there is none. */
export interface ApplyBest {
  native: number | null;
  abreast: number | null;
  /** How many times faster Abreast is. */
  ratio: number | null;
}

/** With as many workers, each transaction a commit of its own under the source's GTID, in the source's order: medians. */
export interface ApplyPreserved {
  workers: number;
  native: number;
  abreast: number;
  ratio: number;
}

/** What a slow link to the target costs: medians. */
export interface ApplyRoundTrip {
  /** As measured, the mean of all runs. */
  ms: number;
  seconds: number;
  secondsWithout: number;
  /** Share of the speed without the link. */
  speed: number;
}

type Timed = Pick<ApplyRun, "name" | "who" | "workers" | "commitOrder" | "gtid" | "roundTripMs" | "seconds">;

export function summaryOf(runs: readonly Timed[]): ApplySummary[] {
  return [...groupBy(runs, (run) => run.name)].map(([name, each]) => {
    const seconds = each.map((run) => run.seconds);
    return { name, runs: each.length, secondsMin: Math.min(...seconds), secondsMedian: round(median(seconds), 2) };
  });
}

export function bestOf(runs: readonly Timed[]): ApplyBest {
  const kept = runs.filter((run) => run.commitOrder === "preserve" && run.roundTripMs === null);
  const native = fastest(kept.filter((run) => run.who === "native"));
  const abreast = fastest(kept.filter((run) => run.who === "abreast"));
  return { native, abreast, ratio: native === null || abreast === null ? null : round(native / abreast, 2) };
}

export function preservedOf(runs: readonly Timed[]): ApplyPreserved[] {
  const kept = runs.filter((run) => run.commitOrder === "preserve" && run.gtid === "preserve");
  return [...groupBy(kept, (run) => run.workers)].flatMap(([workers, each]) => {
    const { native, abreast, ratio } = bestOf(each);
    return native === null || abreast === null || ratio === null ? [] : [{ workers, native, abreast, ratio }];
  });
}

export function roundTripOf(runs: readonly Timed[]): ApplyRoundTrip | null {
  const slow = runs.filter((run) => run.roundTripMs !== null);
  const without = fastest(runs.filter((run) => run.roundTripMs === null && slow[0]?.name.startsWith(`${run.name}-`)));
  const seconds = fastest(slow);
  if (seconds === null || without === null) return null;
  const ms = slow.reduce((sum, run) => sum + (run.roundTripMs ?? 0), 0) / slow.length;
  return { ms: round(ms, 2), seconds, secondsWithout: without, speed: round(without / seconds, 2) };
}

function fastest(runs: readonly Timed[]): number | null {
  return runs.length === 0 ? null : Math.min(...summaryOf(runs).map((each) => each.secondsMedian));
}

function groupBy<Key>(runs: readonly Timed[], keyOf: (run: Timed) => Key): Map<Key, Timed[]> {
  const groups = new Map<Key, Timed[]>();
  for (const run of runs) {
    const group = groups.get(keyOf(run));
    if (group === undefined) groups.set(keyOf(run), [run]);
    else group.push(run);
  }
  return groups;
}
