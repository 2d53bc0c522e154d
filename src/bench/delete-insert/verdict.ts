import type { DeleteInsertRun } from "./report.ts";

/** Runs of a noisy machine that differ by less are as fast as each other. */
const NOISE = 1.1;

/** One sentence about the runs of one variant: is eight workers slower than one, on the server's own replica and with us, and who is faster. */
export function verdictOf(runs: readonly DeleteInsertRun[]): string {
  const parts = [...sides(runs), ...comparison(runs)];
  return `${runs[0]?.variant ?? ""}: ${parts.join("; ")}.`;
}

function* sides(runs: readonly DeleteInsertRun[]): Generator<string> {
  for (const [who, name] of [
    ["native", "native"],
    ["abreast", "Abreast"],
  ] as const) {
    const ours = runs.filter((run) => run.who === who);
    const one = ours.find((run) => run.workers === 1);
    const many = ours.find((run) => run.workers > 1);
    if (one !== undefined && many !== undefined) {
      const ratio = many.seconds / one.seconds;
      const how =
        ratio > NOISE
          ? `${ratio.toFixed(1)} times slower than`
          : ratio < 1 / NOISE
            ? `${(1 / ratio).toFixed(1)} times faster than`
            : "as fast as";
      yield `${name} with ${many.workers} workers is ${how} with 1`;
    }
    if (who === "native" && many?.commitOrder === "preserve" && runs.some((run) => run.commitOrder === "relaxed")) {
      yield "the server's own replica cannot leave the commit order, and kept it";
    }
    if (ours.length > 0) {
      const timeouts = ours.reduce((sum, run) => sum + run.lockWaitTimeouts, 0);
      if (who === "abreast" || timeouts > 0) yield `${name} had ${timeouts} lock wait timeouts`;
    }
  }
}

function* comparison(runs: readonly DeleteInsertRun[]): Generator<string> {
  const natives = runs.filter((run) => run.who === "native").map((run) => run.seconds);
  const ours = runs.filter((run) => run.who === "abreast");
  const many = ours.find((run) => run.workers > 1) ?? ours[0];
  if (natives.length === 0 || many === undefined) return;
  const ratio = Math.min(...natives) / many.seconds;
  yield `Abreast with ${many.workers} is ${ratio.toFixed(1)} times as fast as the better native run`;
}
