import type { Contender } from "../contest/contender.ts";
import { Contest, type ContestOptions, type Outcome } from "../contest/contest.ts";
import { oltpWriteOnly } from "../workload/oltp-write-only.ts";
import type { SbtestOptions } from "../workload/sbtest.ts";
import { round } from "../units.ts";
import { type ApplyReport, type ApplyRun, reportOf } from "./report.ts";

export interface ApplyOptions extends ContestOptions {
  transactions: number;
  threads: number;
  data: SbtestOptions;
  seed: number;
  contenders: readonly Contender[];
  /** How often each contender runs; all of them in turn, so that a machine that slows down in the middle slows all. */
  repeat: number;
}

/** Makes one backlog and lets every contender apply it. */
export function benchApply(options: ApplyOptions): Promise<ApplyReport> {
  const { contenders, repeat, onProgress, transactions, threads, seed } = options;
  const workload = oltpWriteOnly(options.data);
  return Contest.hold(options, async (contest) => {
    const backlog = await contest.makeBacklog({ workload, seed, transactions, threads });
    const runs: ApplyRun[] = [];
    const inTurn = Array.from({ length: repeat }, () => contenders).flat();
    for (const [index, contender] of inTurn.entries()) {
      onProgress(`run ${index + 1} of ${inTurn.length}: ${contender.name}`);
      runs.push(runOf(await contest.run(contender, backlog, watchNothing)));
    }
    await contest.dismiss(backlog);
    return reportOf({
      server: options.server,
      serverVersion: backlog.source.version,
      durability: options.durability,
      transactions,
      workload: { name: workload.name, ...options.data, threads, seed },
      binlogBytes: backlog.binlogBytes,
      runs,
    });
  });
}

const watchNothing = async (): Promise<() => Promise<void>> => async () => {};

function runOf({ contender, engine, ...outcome }: Outcome<void>): ApplyRun {
  const { name, who, workers, policy, commitOrder, gtid } = contender;
  return {
    name,
    who,
    workers,
    policy: engine?.status.policy ?? policy,
    commitOrder,
    gtid,
    roundTripMs: outcome.roundTripMs === undefined ? null : round(outcome.roundTripMs, 2),
    seconds: round(outcome.seconds, 2),
    engineCpuSeconds: engine === undefined ? null : round(engine.engineCpuSeconds, 2),
    rssBytesMax: engine?.rssBytesMax ?? null,
    targetCpuSeconds: round(outcome.targetCpuSeconds, 2),
    identical: outcome.identical,
  };
}
