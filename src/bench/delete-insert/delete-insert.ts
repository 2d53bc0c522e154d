import type { Backlog } from "../contest/backlog.ts";
import { Contest, type ContestOptions, type Outcome } from "../contest/contest.ts";
import { round } from "../units.ts";
import { type LockCounts, watchLocks } from "./lock-counters.ts";
import type { DeleteInsertReport, DeleteInsertRun } from "./report.ts";
import { contenderFor, type RunName, type Variant } from "./variants.ts";
import { deleteInsertWorkload, SESSIONS } from "./workload.ts";

export interface DeleteInsertBenchOptions extends Omit<ContestOptions, "serverOptions"> {
  rounds: number;
  seed: number;
  variants: readonly Variant[];
  runs: readonly RunName[];
}

/** The level at which the case is known; at REPEATABLE READ gaps are locked anyway. */
const ISOLATION = "READ-COMMITTED";

/** Eight workers slower than one: the case itself, and four variants of it that avoid it. */
export function benchDeleteInsert(options: DeleteInsertBenchOptions): Promise<DeleteInsertReport> {
  const { variants, runs: names, rounds, seed, onProgress } = options;
  const settings = { ...options, serverOptions: [`--transaction-isolation=${ISOLATION}`] };
  return Contest.hold(settings, async (contest) => {
    const backlogs = new Map<string, Backlog>();
    const runs: DeleteInsertRun[] = [];
    for (const variant of variants) {
      const workload = deleteInsertWorkload({ ...variant.load, rounds });
      const backlog = backlogs.get(workload.name) ?? (await contest.makeBacklog({ workload, seed, threads: SESSIONS }));
      backlogs.set(workload.name, backlog);
      for (const name of names) {
        onProgress(`${variant.name}: ${name}`);
        const outcome = await contest.run(contenderFor(name, variant, options.server), backlog, watchLocks);
        runs.push(runOf(variant, backlog, outcome));
      }
    }
    for (const backlog of backlogs.values()) await contest.dismiss(backlog);
    return {
      server: options.server,
      serverVersion: [...backlogs.values()][0]?.source.version ?? "",
      durability: options.durability,
      isolation: ISOLATION,
      workload: { name: "delete-insert", sessions: SESSIONS, rounds, seed },
      runs,
    };
  });
}

function runOf(
  variant: Variant,
  backlog: Backlog,
  { contender, seconds, engine, identical, seen }: Outcome<LockCounts>,
): DeleteInsertRun {
  const { who, workers, policy, commitOrder } = contender;
  return {
    variant: variant.name,
    who,
    workers,
    policy: engine?.status.policy ?? policy,
    commitOrder,
    transactions: backlog.transactions,
    seconds: round(seconds, 2),
    retries: engine?.status.applied.retries ?? seen.nativeRetries,
    lockWaits: seen.lockWaits,
    lockWaitTimeouts: seen.lockWaitTimeouts,
    lockBreaks: engine?.status.applied.lockBreaks ?? null,
    identical,
  };
}
