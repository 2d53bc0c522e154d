import { type LockCounts, watchLocks } from "../delete-insert/lock-counters.ts";
import { contenderFor, type RunName, VARIANTS } from "../delete-insert/variants.ts";
import { deleteInsertWorkload, SESSIONS } from "../delete-insert/workload.ts";
import { applyBacklog, BACKLOG_METRICS } from "./backlog-cell.ts";
import { byName } from "./charts.ts";
import type { Cell, Group, Scale, Scenario } from "./scenario.ts";

/** Of each of the 8 sessions. */
const ROUNDS: Readonly<Record<Scale, number>> = { tiny: 10, small: 120, full: 5_000 };

const RUNS: readonly { name: RunName; who: string; workers: number }[] = [
  { name: "native-1", who: "native", workers: 1 },
  { name: "native-8", who: "native", workers: 8 },
  { name: "abreast-8", who: "Abreast", workers: 8 },
];

const { seconds, speed, targetCpu } = BACKLOG_METRICS;

/** When are eight workers slower than one? */
export const deleteInsert: Scenario = {
  name: "delete-insert",
  describe: "rows deleted and inserted again under a unique index, and four variants: time, lock waits, timeouts",
  minutesSmall: 3,
  // The level at which the case is known; at REPEATABLE READ gaps are locked anyway.
  serverOptions: ["--transaction-isolation=READ-COMMITTED"],
  metrics: [
    seconds,
    speed,
    { key: "retries", title: "retries", unit: "count", better: "lower" },
    { key: "lockWaits", title: "lock waits", unit: "count" },
    { key: "lockTimeouts", title: "lock timeouts", unit: "count", better: "lower" },
    { key: "lockBreaks", title: "lock breaks", unit: "count" },
    targetCpu,
  ],

  plan({ scale, server, seed }) {
    const rounds = ROUNDS[scale];
    const groups = VARIANTS.map((variant): Group => ({
      cells: RUNS.map(({ name, who, workers }): Cell => ({
        name: `${variant.name.toLowerCase().replaceAll(" ", "-")}-${name}`,
        settings: { variant: variant.name, who, workers },
        contender: contenderFor(name, variant, server),
      })),
      async play(contest, measureAll) {
        const workload = deleteInsertWorkload({ ...variant.load, rounds });
        const backlog = await contest.makeBacklog({ workload, seed, threads: SESSIONS });
        await measureAll(({ contender }) =>
          applyBacklog(contest, contender, backlog, watchLocks, ({ engine, seen }) =>
            valuesOf(seen, engine?.status.applied),
          ),
        );
        await contest.dismiss(backlog);
      },
    }));
    return { load: { sessions: SESSIONS, rounds }, groups };
  },

  charts: (cells) => [
    ...byName(
      cells,
      { x: "variant", line: ({ who, workers }) => `${who} ${workers}`, metric: "seconds" },
      { title: "Time to apply", note: "The number is that of the workers.", y: { title: "time", unit: "seconds" } },
    ),
    ...byName(
      cells,
      { x: "variant", line: ({ who, workers }) => `${who} ${workers}`, metric: "lockWaits" },
      { title: "Lock waits on the target", y: { title: "lock waits", unit: "count" } },
    ),
  ],
};

const valuesOf = (
  seen: LockCounts,
  applied: { retries: number; lockBreaks: number } | undefined,
): Record<string, number | null> => ({
  retries: applied?.retries ?? seen.nativeRetries,
  lockWaits: seen.lockWaits,
  lockTimeouts: seen.lockWaitTimeouts,
  lockBreaks: applied?.lockBreaks ?? null,
});
