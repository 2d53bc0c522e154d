import { startLoad } from "../workload/load.ts";
import { oltpReadWrite } from "../workload/oltp-read-write.ts";
import type { SbtestOptions } from "../workload/sbtest.ts";
import { byNumber, byWho, overTime } from "./charts.ts";
import { abreast, native } from "./contenders.ts";
import { LIVE_METRICS, liveMeasurement } from "./live-cell.ts";
import type { Cell, Scale, Scenario } from "./scenario.ts";

interface Size {
  workers: readonly number[];
  data: SbtestOptions;
  threads: number;
  seconds: number;
  /** Undefined: as fast as the source goes. */
  ratePerSecond?: number;
}

const WORKERS = [1, 6, 12, 18, 24, 30, 36];

const SIZES: Readonly<Record<Scale, Size>> = {
  tiny: {
    workers: [1, 6],
    data: { tables: 2, tableSize: 500, distribution: "special" },
    threads: 4,
    seconds: 3,
    ratePerSecond: 100,
  },
  small: {
    workers: WORKERS,
    data: { tables: 8, tableSize: 2_000, distribution: "special" },
    threads: 30,
    seconds: 8,
    ratePerSecond: 400,
  },
  full: {
    workers: WORKERS,
    data: { tables: 20, tableSize: 10_000, distribution: "special" },
    threads: 30,
    seconds: 300,
  },
};

const { lagMean, lagMax, reportedMean, catchUp, tps, qps, sourceCpu, replicaCpu } = LIVE_METRICS;

/** Do more workers of a replica mean less lag? */
export const workers: Scenario = {
  name: "workers",
  describe: "lag over time under sysbench's oltp_read_write, by the number of workers",
  minutesSmall: 4,
  metrics: [lagMean, lagMax, reportedMean, catchUp, tps, qps, sourceCpu, replicaCpu],

  plan({ scale, server, seed }) {
    const size = SIZES[scale];
    const cells = size.workers.flatMap((count): Cell[] => [
      { name: `native-${count}`, settings: { who: "native", workers: count }, contender: native(server, count) },
      { name: `abreast-${count}`, settings: { who: "Abreast", workers: count }, contender: abreast(count) },
    ]);
    const { data, threads, seconds, ratePerSecond } = size;
    return {
      load: {
        workload: "oltp_read_write",
        ...data,
        threads,
        seconds,
        "transactions per second": ratePerSecond ?? "no limit",
      },
      groups: [
        {
          cells,
          async play(contest, measureAll) {
            const schemas = ["sbtest"];
            const start = await contest.makeStart({ schemas, workloads: [oltpReadWrite(data)], seed });
            await measureAll(async ({ contender }) => {
              const outcome = await contest.runLive(
                contender,
                start,
                ({ source }) =>
                  startLoad({
                    address: source.address,
                    schema: schemas,
                    workload: oltpReadWrite(data),
                    seed,
                    threads,
                    seconds,
                    ...(ratePerSecond === undefined ? {} : { ratePerSecond }),
                  }).done,
              );
              return liveMeasurement(outcome, outcome.driven);
            });
          },
        },
      ],
    };
  },

  charts: (cells) => [
    ...overTime(cells, "lag", {
      title: "Lag over time, by workers",
      note: "Age of the newest heartbeat on the replica. The load ends where the first curves end; a curve that goes on is a replica that still catches up.",
    }),
    ...byNumber(
      cells,
      { x: "workers", line: byWho, metric: "lagMean" },
      {
        title: "Mean lag by workers",
        x: { title: "workers", unit: "count" },
        y: { title: "lag", unit: "seconds" },
      },
    ),
    ...byNumber(
      cells,
      { x: "workers", line: byWho, metric: "replicaCpu" },
      {
        title: "Processors busy for the replica, by workers",
        note: "The target server, and with Abreast its own process.",
        x: { title: "workers", unit: "count" },
        y: { title: "busy processors", unit: "count" },
      },
    ),
  ],
};
