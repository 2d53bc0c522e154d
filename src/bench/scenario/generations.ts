import type { ServerFlavour } from "../../sandbox/flavours.ts";
import type { PolicyName } from "../../schedule/policies/policies.ts";
import { type Contender, nativeContender } from "../contest/contender.ts";
import { startLoad } from "../workload/load.ts";
import { oltpWriteOnly } from "../workload/oltp-write-only.ts";
import { schemaNames } from "../workload/registry.ts";
import type { SbtestOptions } from "../workload/sbtest.ts";
import { byName, overTime } from "./charts.ts";
import { abreast, abreastUnpacked, commitOrderSource } from "./contenders.ts";
import { LIVE_METRICS, liveMeasurement } from "./live-cell.ts";
import type { Cell, CellResult, Group, Scale, Scenario } from "./scenario.ts";

interface Layout {
  name: string;
  schemas: number;
  data: SbtestOptions;
}

interface Size {
  layouts: readonly Layout[];
  threads: number;
  workers: number;
  seconds: number;
  /** Undefined: as fast as the source goes. */
  ratePerSecond?: number;
}

const layouts = (tables: number, rowsOfOne: number, rowsOfMany: number): Layout[] => [
  { name: "1 schema", schemas: 1, data: { tables: 2 * tables, tableSize: rowsOfOne, distribution: "special" } },
  { name: "10 schemas", schemas: 10, data: { tables, tableSize: rowsOfMany, distribution: "special" } },
];

const SIZES: Readonly<Record<Scale, Size>> = {
  tiny: { layouts: layouts(1, 300, 100), threads: 8, workers: 4, seconds: 2, ratePerSecond: 50 },
  small: { layouts: layouts(10, 1_000, 200), threads: 64, workers: 16, seconds: 6, ratePerSecond: 500 },
  full: { layouts: layouts(10, 10_000, 2_000), threads: 64, workers: 16, seconds: 300 },
};

const { lagMean, lagMax, reportedMean, catchUp, tps, qps, applied, replicaCpu } = LIVE_METRICS;

/** Twenty years of parallel replicas: what did each generation bring, for one schema and for many? */
export const generations: Scenario = {
  name: "generations",
  describe: "single, database, logical-clock, writeset, writeset-session, optimistic: lag with 1 schema and with 10",
  minutesSmall: 5,
  metrics: [lagMean, lagMax, reportedMean, catchUp, tps, qps, applied, replicaCpu],

  plan({ scale, server, seed }) {
    const { threads, workers, seconds, ratePerSecond, layouts: all } = SIZES[scale];
    const groups = all.flatMap(({ name: layout, schemas, data }) =>
      sourcesFor(server, workers).map(({ sourceOptions, ways }): Group => ({
        cells: ways.map(({ who, generation, contender }): Cell => ({
          name: `${layout.replace(" ", "-")}-${who.toLowerCase()}-${generation.replaceAll(" ", "-")}`,
          settings: { layout, who, generation },
          contender,
        })),
        async play(contest, measureAll) {
          const names = schemaNames(schemas);
          const workload = oltpWriteOnly(data);
          const start = await contest.makeStart({ schemas: names, workloads: [workload], seed, sourceOptions });
          await measureAll(async ({ contender }) => {
            const outcome = await contest.runLive(
              contender,
              start,
              ({ source }) =>
                startLoad({
                  address: source.address,
                  schema: names,
                  workload,
                  seed,
                  threads,
                  seconds,
                  ...(ratePerSecond === undefined ? {} : { ratePerSecond }),
                }).done,
            );
            return liveMeasurement(outcome, outcome.driven);
          });
        },
      })),
    );
    const sizes = all.map(({ name, data }) => [name, `of ${data.tables} tables of ${data.tableSize} rows`]);
    return {
      load: {
        workload: "oltp_write_only",
        ...Object.fromEntries(sizes),
        threads,
        workers,
        seconds,
        "transactions per second": ratePerSecond ?? "no limit",
      },
      groups,
    };
  },

  charts: (cells) => [
    ...byName(
      cells.toSorted((a, b) => ageOf(a) - ageOf(b)),
      { x: "generation", line: ({ who, layout }) => `${who}, ${layout}`, metric: "lagMean" },
      {
        title: "Mean lag by generation",
        note: "Age of the heartbeat, from the begin of the load until the replica had everything.",
        y: { title: "lag", unit: "seconds" },
      },
    ),
    ...[...new Set(cells.map((cell) => cell.settings["layout"]))].flatMap((layout) =>
      overTime(
        cells
          .filter((cell) => cell.settings["layout"] === layout)
          .map((cell) => ({ ...cell, name: `${cell.settings["who"]} ${cell.settings["generation"]}` })),
        "lag",
        { title: `Lag over time: ${layout}` },
      ),
    ),
  ],
};

/** From the oldest to the newest. */
const GENERATIONS = [
  "single",
  "database",
  "logical-clock",
  "writeset",
  "writeset-session",
  "optimistic",
  "as installed",
];
const ageOf = ({ settings }: CellResult): number => GENERATIONS.indexOf(String(settings["generation"]));

interface Way {
  who: "native" | "Abreast";
  generation: string;
  contender: Contender;
}

/**
 * Every generation that Abreast has as a policy, each transaction a commit of its own; beside it the server's own replica in those generations that it has. `as installed` is Abreast
 * as a user gets it. The logical clock of 5.7 is the commit order, so it gets a source that writes it.
 */
function sourcesFor(server: ServerFlavour, workers: number): { sourceOptions: string[]; ways: Way[] }[] {
  const best = nativeContender(server, workers);
  const theirs = (generation: string, contender: Contender): Way => ({ who: "native", generation, contender });
  const ours = (policy: PolicyName): Way => ({
    who: "Abreast",
    generation: policy,
    contender: abreastUnpacked(policy, policy === "single" ? 1 : workers),
  });
  const single = theirs("single", nativeContender(server, 1));
  const computed = [
    ours("single"),
    ours("database"),
    ours("writeset"),
    ours("writeset-session"),
    ours("optimistic"),
    { who: "Abreast", generation: "as installed", contender: abreast(workers) } as const,
  ];
  if (server === "mysql-5.6") return [{ sourceOptions: [], ways: [single, theirs("database", best), ...computed] }];
  if (server.startsWith("mariadb-")) {
    const clock = theirs("logical-clock", { ...best, policy: "conservative" });
    return [
      { sourceOptions: [], ways: [single, clock, theirs("optimistic", best), ...computed, ours("logical-clock")] },
    ];
  }
  return [
    { sourceOptions: [], ways: [single, theirs("writeset", best), ...computed] },
    { sourceOptions: commitOrderSource(server), ways: [theirs("logical-clock", best), ours("logical-clock")] },
  ];
}
