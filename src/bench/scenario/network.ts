import type { Contender } from "../contest/contender.ts";
import { oltpWriteOnly } from "../workload/oltp-write-only.ts";
import type { SbtestOptions } from "../workload/sbtest.ts";
import { applyBacklog, BACKLOG_METRICS, watchNothing } from "./backlog-cell.ts";
import { byNumber, byWho } from "./charts.ts";
import { abreast, native } from "./contenders.ts";
import type { Cell, Scale, Scenario } from "./scenario.ts";

interface Size {
  transactions: number;
  data: SbtestOptions;
}

const SIZES: Readonly<Record<Scale, Size>> = {
  tiny: { transactions: 300, data: { tables: 2, tableSize: 500, distribution: "special" } },
  small: { transactions: 6_000, data: { tables: 8, tableSize: 2_000, distribution: "special" } },
  full: { transactions: 200_000, data: { tables: 20, tableSize: 10_000, distribution: "special" } },
};

const ROUND_TRIPS_MS = [0, 0.2, 2, 20];
const THREADS = 16;
const WORKERS = 8;

const { seconds, speed, targetCpu, engineCpu } = BACKLOG_METRICS;

/** Where should Abreast run? Its own process may be anywhere between source and target; the server's own replica is always at the target. */
export const network: Scenario = {
  name: "network",
  describe: "a backlog applied over networks with 0, 0.2, 2 and 20 ms of round trip, Abreast at either end",
  minutesSmall: 2,
  metrics: [seconds, speed, { key: "roundTripMs", title: "measured", unit: "milliseconds" }, targetCpu, engineCpu],

  plan({ scale, server, seed }) {
    const { transactions, data } = SIZES[scale];
    const cells = ROUND_TRIPS_MS.flatMap((roundTripMs): Cell[] => {
      const far = roundTripMs === 0 ? undefined : roundTripMs;
      const ours = abreast(WORKERS);
      const cell = (who: string, contender: Contender): Cell => ({
        name: `${who.toLowerCase().replaceAll(" ", "-")}-${roundTripMs}ms`,
        settings: { who, "round trip, ms": roundTripMs },
        contender,
      });
      const toSource = far === undefined ? {} : { sourceRoundTripMs: far };
      return [
        cell("native", { ...native(server, WORKERS), ...toSource }),
        cell("Abreast at the target", { ...ours, ...toSource }),
        cell("Abreast at the source", { ...ours, ...(far === undefined ? {} : { roundTripMs: far }) }),
      ];
    });
    return {
      load: { workload: "oltp_write_only", ...data, transactions, threads: THREADS, workers: WORKERS },
      groups: [
        {
          cells,
          async play(contest, measureAll) {
            const backlog = await contest.makeBacklog({
              workload: oltpWriteOnly(data),
              seed,
              transactions,
              threads: THREADS,
            });
            await measureAll(({ contender }) =>
              applyBacklog(contest, contender, backlog, watchNothing, (outcome) => ({
                roundTripMs: outcome.roundTripMs ?? null,
              })),
            );
            await contest.dismiss(backlog);
          },
        },
      ],
    };
  },

  charts: (cells) =>
    byNumber(
      cells,
      { x: "round trip, ms", line: byWho, metric: "speed" },
      {
        title: "Transactions per second by round trip",
        note: "Only time is added, bandwidth stays the machine's. At the target: the network lies between the source and Abreast; at the source: between Abreast and the target.",
        x: { title: "round trip, ms", unit: "count" },
        y: { title: "transactions per second", unit: "count" },
      },
    ),
};
