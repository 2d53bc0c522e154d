import type { WorkerStatus } from "../../engine/status.ts";

/** At most `count` workers, in their own order: those with a run at hand before the others, and then those that have worked the most. */
export function busiest(workers: readonly WorkerStatus[], count: number): readonly WorkerStatus[] {
  if (workers.length <= count) return workers;
  const chosen = workers.toSorted((a, b) => Number(isBusy(b)) - Number(isBusy(a)) || workedMs(b) - workedMs(a));
  return chosen.slice(0, count).toSorted((a, b) => a.worker - b.worker);
}

/** It has a run: executes it, commits it, or waits for its turn. */
export const isBusy = ({ transactionsInRun }: WorkerStatus): boolean => transactionsInRun > 0;

const workedMs = ({ times }: WorkerStatus): number => times.executing + times.committing;
