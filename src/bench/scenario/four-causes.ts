import { batchMixWorkload, BATCH_SESSIONS, SMALL_SESSIONS } from "../batch-mix/workload.ts";
import type { LiveStage } from "../contest/live.ts";
import type { Curve } from "../lag/curve.ts";
import { ddl } from "../workload/ddl.ts";
import { largeTransaction } from "../workload/large-transaction.ts";
import { type LoadSummary, startLoad } from "../workload/load.ts";
import { oltpWriteOnly } from "../workload/oltp-write-only.ts";
import type { SbtestOptions } from "../workload/sbtest.ts";
import type { Workload } from "../workload/workload.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { byName, byWho, overTime } from "./charts.ts";
import { abreast, native } from "./contenders.ts";
import { LIVE_METRICS, liveMeasurement } from "./live-cell.ts";
import type { Cell, CellResult, Metric, Scale, Scenario } from "./scenario.ts";

interface Size {
  /** Each cause begins so long after the one before, or when that one's load has ended, whichever is later. */
  slotSeconds: number;
  largeRows: number;
  batches: number;
  batchRowsMin: number;
  batchRowsMax: number;
  data: SbtestOptions;
  smallSeconds: number;
}

const SIZES: Readonly<Record<Scale, Size>> = {
  tiny: {
    slotSeconds: 4,
    largeRows: 2_000,
    batches: 4,
    batchRowsMin: 100,
    batchRowsMax: 500,
    data: { tables: 2, tableSize: 500, distribution: "special" },
    smallSeconds: 2,
  },
  small: {
    slotSeconds: 15,
    largeRows: 80_000,
    batches: 30,
    batchRowsMin: 1_000,
    batchRowsMax: 5_000,
    data: { tables: 8, tableSize: 2_000, distribution: "special" },
    smallSeconds: 8,
  },
  full: {
    slotSeconds: 180,
    largeRows: 2_000_000,
    batches: 1_000,
    batchRowsMin: 1_000,
    batchRowsMax: 10_000,
    data: { tables: 20, tableSize: 10_000, distribution: "special" },
    smallSeconds: 120,
  },
};

const WORKERS = 8;
const SMALL_THREADS = 16;

interface Cause {
  text: string;
  workload: Workload;
  threads: number;
  seconds?: number;
}

/** New ones for every run: a workload that ends by itself can be used once. */
function causesOf({ largeRows, batches, batchRowsMin, batchRowsMax, data, smallSeconds }: Size): Cause[] {
  const large = { rows: largeRows, repeat: 1 };
  return [
    { text: "DDL", workload: ddl(large), threads: 1 },
    { text: "one large transaction", workload: largeTransaction(large), threads: 1 },
    {
      text: "batch mix",
      workload: batchMixWorkload({ batches, batchRowsMin, batchRowsMax }),
      threads: BATCH_SESSIONS + SMALL_SESSIONS,
    },
    { text: "many small", workload: oltpWriteOnly(data), threads: SMALL_THREADS, seconds: smallSeconds },
  ];
}

const CAUSES = ["DDL", "one large transaction", "batch mix", "many small"];
/** `lag: batch mix`: the highest lag from the begin of a cause until the next one begins. */
const causeMetrics = CAUSES.map((text): Metric => ({
  ...LIVE_METRICS.lagMax,
  key: `lag: ${text}`,
  title: `lag: ${text}`,
}));

const { lagMean, reportedMean, catchUp, sourceCpu, replicaCpu } = LIVE_METRICS;

/** What do replicas fall behind of? The four answers of every article, one after the other. */
export const fourCauses: Scenario = {
  name: "four-causes",
  describe: "DDL, one large transaction, a batch mix, many small transactions in a row: lag and CPU over time",
  minutesSmall: 3,
  metrics: [lagMean, ...causeMetrics, reportedMean, catchUp, sourceCpu, replicaCpu],

  plan({ scale, server, seed }) {
    const size = SIZES[scale];
    const cells: Cell[] = [
      { name: "native", settings: { who: "native", workers: WORKERS }, contender: native(server, WORKERS) },
      { name: "Abreast", settings: { who: "Abreast", workers: WORKERS }, contender: abreast(WORKERS) },
    ];
    const { data, ...rest } = size;
    return {
      load: { ...rest, ...data, smallThreads: SMALL_THREADS },
      groups: [
        {
          cells,
          async play(contest, measureAll) {
            // DDL and the large transaction are of the same table.
            const workloads = causesOf(size)
              .map((cause) => cause.workload)
              .filter(({ name }) => name !== "ddl");
            const start = await contest.makeStart({ schemas: ["sbtest"], workloads, seed });
            await measureAll(async ({ contender }) => {
              const outcome = await contest.runLive(contender, start, (stage) => playCauses(stage, size, seed));
              const { marks, total } = outcome.driven;
              const measurement = liveMeasurement(outcome, total);
              return {
                ...measurement,
                isSourceLimit: false,
                marks,
                values: { ...measurement.values, ...peaks(outcome.lag.heartbeat.curve, marks) },
              };
            });
          },
        },
      ],
    };
  },

  charts: (cells) => [
    ...overTime(cells, "lag", {
      title: "Lag over time",
      note: `Age of the newest heartbeat on the replica; the marks are of ${cells[0]?.name ?? "the first"}. Behind DDL and behind a large transaction everybody waits: they are known only when they are committed.`,
    }),
    ...byName(
      cells.flatMap((cell) => CAUSES.map((text) => causeCell(cell, text))),
      { x: "cause", line: byWho, metric: "lag" },
      { title: "Highest lag by cause", y: { title: "lag", unit: "seconds" } },
    ),
    ...overTime(cells, "cpu", {
      title: "Processors busy for the replica",
      note: "The target server, and with Abreast its own process.",
    }),
  ],
};

interface Played {
  marks: { seconds: number; text: string }[];
  /** Of all causes together. */
  total: Pick<LoadSummary, "transactions" | "reads" | "writes" | "others" | "elapsedMs">;
}

async function playCauses({ source, elapsedSeconds }: LiveStage, size: Size, seed: number): Promise<Played> {
  const marks: Played["marks"] = [];
  const total = { transactions: 0, reads: 0, writes: 0, others: 0, elapsedMs: 0 };
  for (const [index, { text, workload, threads, seconds }] of causesOf(size).entries()) {
    await sleep(Math.max(0, index * size.slotSeconds - elapsedSeconds()) * 1000);
    marks.push({ seconds: elapsedSeconds(), text });
    const load = startLoad({
      address: source.address,
      schema: "sbtest",
      workload,
      seed,
      threads,
      ...(seconds === undefined ? {} : { seconds }),
    });
    const summary = await load.done;
    for (const key of ["transactions", "reads", "writes", "others"] as const) total[key] += summary[key];
  }
  total.elapsedMs = elapsedSeconds() * 1000;
  return { marks, total };
}

function peaks({ stepSeconds, values }: Curve, marks: Played["marks"]): Record<string, number | null> {
  return Object.fromEntries(
    marks.map(({ seconds, text }, index) => {
      const end = marks[index + 1]?.seconds ?? Infinity;
      const its = values.filter((value, step) => {
        const at = step * stepSeconds;
        return value !== null && at >= seconds && at < end;
      });
      return [`lag: ${text}`, its.length === 0 ? null : Math.max(...its.map((value) => value ?? 0))];
    }),
  );
}

const causeCell = (cell: CellResult, cause: string): CellResult => ({
  ...cell,
  settings: { ...cell.settings, cause },
  summary: { lag: cell.summary[`lag: ${cause}`] ?? null },
});
