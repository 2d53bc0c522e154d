import type { ServerFlavour } from "../../sandbox/flavours.ts";
import type { PolicyName } from "../../schedule/policies/policies.ts";
import { type Contender, nativeContender } from "../contest/contender.ts";
import { type WorkloadName, WORKLOAD_DEFAULTS, WORKLOADS } from "../workload/registry.ts";
import { applyBacklog, BACKLOG_METRICS, watchNothing } from "./backlog-cell.ts";
import { byNumber } from "./charts.ts";
import { abreastUnpacked, commitOrderSource } from "./contenders.ts";
import type { Cell, Group, Scale, Scenario } from "./scenario.ts";

interface Size {
  loads: readonly WorkloadName[];
  /** Threads that write on the source. */
  threads: readonly number[];
  transactions: number;
  tables: number;
  tableSize: number;
}

const SIZES: Readonly<Record<Scale, Size>> = {
  tiny: { loads: ["oltp_write_only"], threads: [1, 8], transactions: 200, tables: 2, tableSize: 500 },
  small: { loads: ["oltp_write_only"], threads: [1, 4, 16, 64], transactions: 2_000, tables: 8, tableSize: 2_000 },
  full: {
    loads: ["oltp_read_write", "oltp_update_index", "oltp_write_only"],
    threads: [1, 2, 4, 8, 16, 32, 64, 128, 256],
    transactions: 100_000,
    tables: 20,
    tableSize: 100_000,
  },
};

const WORKERS = 8;
/** The source flushes each group of commits, as a production server does: that is what makes groups, and groups are what commit order can tell. */
const DURABLE_SOURCE = ["--sync-binlog=1", "--innodb-flush-log-at-trx-commit=1"];

const { seconds, speed, targetCpu } = BACKLOG_METRICS;

/** How much parallelism does each way of tracking dependencies leave, when the source had few clients or many? */
export const tracking: Scenario = {
  name: "tracking",
  describe: "commit-order, writeset and writeset-session: replay speed by the number of clients that wrote the backlog",
  minutesSmall: 3,
  serverOptions: ["--max-connections=600"],
  metrics: [speed, seconds, targetCpu],

  plan({ scale, server, seed }) {
    const { loads, threads, transactions, tables, tableSize } = SIZES[scale];
    const groups = loads.flatMap((workload) =>
      threads.flatMap((clients) =>
        sourcesFor(server).map(({ sourceOptions, ways }): Group => ({
          cells: ways.map(({ who, tracking: name, contender }): Cell => ({
            name: `${workload}-${clients}-${who}-${name}`,
            settings: { workload, clients, who, tracking: name },
            contender,
          })),
          async play(contest, measureAll) {
            const backlog = await contest.makeBacklog({
              workload: WORKLOADS[workload].make({ ...WORKLOAD_DEFAULTS, tables, tableSize }),
              seed,
              transactions,
              threads: clients,
              sourceOptions: [...DURABLE_SOURCE, ...sourceOptions],
            });
            await measureAll(({ contender }) => applyBacklog(contest, contender, backlog, watchNothing, () => ({})));
            await contest.dismiss(backlog);
          },
        })),
      ),
    );
    return {
      load: { tables, tableSize, transactions, workers: WORKERS, "Abreast packs": "no" },
      groups,
    };
  },

  charts: (cells) =>
    [...new Set(cells.map((cell) => cell.settings["workload"]))].flatMap((workload) =>
      byNumber(
        cells.filter((cell) => cell.settings["workload"] === workload),
        { x: "clients", line: ({ who, tracking: name }) => `${who} ${name}`, metric: "speed" },
        {
          title: `Replay speed by clients of the source: ${workload}`,
          note: `${WORKERS} workers, the source's commit order kept, each transaction a commit of its own.`,
          x: { title: "clients that wrote the backlog", unit: "count", scale: "log" },
          y: { title: "transactions per second", unit: "count" },
        },
      ),
    ),
};

interface Way {
  who: "native" | "Abreast";
  tracking: string;
  contender: Contender;
}

interface TrackingSource {
  sourceOptions: readonly string[];
  /** That read what this source writes. */
  ways: Way[];
}

/** Which replicas can go by what on this server: 5.6 has no logical clock, MariaDB's is its commit order, MySQL 8.4 and later can write both. */
function sourcesFor(server: ServerFlavour): TrackingSource[] {
  const best = nativeContender(server, WORKERS);
  const theirs = (name: string, contender: Contender = best): Way => ({ who: "native", tracking: name, contender });
  const ours = (policy: PolicyName, name: string = policy): Way => ({
    who: "Abreast",
    tracking: name,
    contender: abreastUnpacked(policy, WORKERS),
  });
  const computed = [ours("writeset"), ours("writeset-session")];
  if (server === "mysql-5.6") return [{ sourceOptions: [], ways: [theirs("database"), ...computed] }];
  if (server.startsWith("mariadb-")) {
    const conservative: Contender = { ...best, policy: "conservative" };
    const clocked = [theirs("commit-order", conservative), ours("logical-clock", "commit-order")];
    return [{ sourceOptions: [], ways: [...clocked, ...computed] }];
  }
  return [
    { sourceOptions: commitOrderSource(server), ways: [theirs("commit-order"), ours("commit-order")] },
    { sourceOptions: [], ways: [theirs("writeset"), ...computed] },
  ];
}
