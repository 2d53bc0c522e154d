import type { Backlog } from "../contest/backlog.ts";
import type { Contender } from "../contest/contender.ts";
import type { Contest, Outcome, Watch } from "../contest/contest.ts";
import { settingsOf } from "../contest/server-facts.ts";
import type { Measurement, Metric } from "./scenario.ts";

/** What every scenario that applies a backlog shows. */
export const BACKLOG_METRICS = {
  seconds: { key: "seconds", title: "time", unit: "seconds", better: "lower" },
  speed: { key: "speed", title: "transactions", unit: "per second", better: "higher" },
  targetCpu: { key: "targetCpu", title: "target CPU", unit: "seconds", better: "lower" },
  engineCpu: { key: "engineCpu", title: "engine CPU", unit: "seconds", better: "lower" },
} as const satisfies Record<string, Metric>;

/** Lets a contender apply a backlog on a fresh target; `more` adds values of what was watched. */
export async function applyBacklog<Seen>(
  contest: Contest,
  contender: Contender,
  backlog: Backlog,
  watch: Watch<Seen>,
  more: (outcome: Outcome<Seen>) => Measurement["values"],
): Promise<Measurement> {
  let target: Record<string, string> = {};
  const outcome = await contest.run(contender, backlog, async (server, each) => {
    target = await settingsOf(server);
    return watch(server, each);
  });
  return {
    values: {
      seconds: outcome.seconds,
      speed: backlog.transactions / outcome.seconds,
      targetCpu: outcome.targetCpuSeconds,
      engineCpu: outcome.engine?.engineCpuSeconds ?? null,
      ...more(outcome),
    },
    identical: outcome.identical,
    serverVersion: backlog.source.version,
    settings: { source: await settingsOf(backlog.source), target },
  };
}

/** Nothing is looked at besides. */
export const watchNothing = async (): Promise<() => Promise<void>> => async () => {};
