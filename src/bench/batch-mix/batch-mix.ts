import type { ServerFlavour } from "../../sandbox/flavours.ts";
import { type AbreastContender, type Contender, nativeContender } from "../contest/contender.ts";
import { Contest, type ContestOptions, type Outcome } from "../contest/contest.ts";
import { round } from "../units.ts";
import { watchConcurrency } from "./concurrency.ts";
import { type BatchMixReport, type BatchMixRun, graphRatioOf } from "./report.ts";
import { BATCH_SESSIONS, type BatchMixOptions, batchMixWorkload, SMALL_SESSIONS } from "./workload.ts";

export interface BatchMixBenchOptions extends Omit<ContestOptions, "serverOptions"> {
  load: BatchMixOptions;
  seed: number;
  contenders: readonly Contender[];
}

/** The largest that a source of MySQL takes. With its default of 25,000 both forget everything after a few batches, and all behind waits for all before. */
const WRITESET_HISTORY = 1_000_000;

/**
 * The server's own replica, ours with its rule, ours with a graph: else alike. Writesets find the dependencies, each transaction is a commit of its own, and the commit
 * order is relaxed: where it is preserved, whoever is done waits behind the batch whose turn it is, and no rule about beginning can show.
 */
export function batchMixContenders(server: ServerFlavour, workers: number): Contender[] {
  const abreast = (name: string, dependency: "graph" | "low-water-mark"): AbreastContender => ({
    name,
    who: "abreast",
    workers,
    policy: "writeset",
    commitOrder: "relaxed",
    gtid: "own",
    engine: { dependency, packTransactionsMax: 1, writesetHistory: WRITESET_HISTORY },
  });
  return [
    { ...nativeContender(server, workers, "relaxed"), name: "native" },
    abreast("abreast-low-water-mark", "low-water-mark"),
    abreast("abreast-graph", "graph"),
  ];
}

export function benchBatchMix(options: BatchMixBenchOptions): Promise<BatchMixReport> {
  const { server, load, seed, contenders, onProgress } = options;
  return Contest.hold({ ...options, serverOptions: sourceHistory(server) }, async (contest) => {
    const workload = batchMixWorkload(load);
    const backlog = await contest.makeBacklog({ workload, seed, threads: BATCH_SESSIONS + SMALL_SESSIONS });
    const runs: BatchMixRun[] = [];
    for (const contender of contenders) {
      onProgress(contender.name);
      runs.push(runOf(await contest.run(contender, backlog, watchConcurrency)));
    }
    await contest.dismiss(backlog);
    return {
      server,
      serverVersion: backlog.source.version,
      durability: options.durability,
      workload: {
        name: "batch-mix",
        transactions: backlog.transactions,
        ...load,
        batchSessions: BATCH_SESSIONS,
        smallSessions: SMALL_SESSIONS,
        seed,
      },
      runs,
      graphRatio: graphRatioOf(runs, "meanConcurrency"),
      graphRatioOfEngine: graphRatioOf(runs, "engineConcurrency"),
    };
  });
}

const sourceHistory = (server: ServerFlavour): string[] =>
  server === "mysql-9.7" ? [`--binlog-transaction-dependency-history-size=${WRITESET_HISTORY}`] : [];

function runOf({ contender, seconds, engine, identical, seen }: Outcome<number>): BatchMixRun {
  const { who, workers, policy, commitOrder } = contender;
  return {
    who,
    dependency: (contender.who === "abreast" ? contender.engine?.dependency : undefined) ?? "low-water-mark",
    workers,
    policy: engine?.status.policy ?? policy,
    commitOrder,
    seconds: round(seconds, 2),
    engineCpuSeconds: engine === undefined ? null : round(engine.engineCpuSeconds, 2),
    meanConcurrency: round(seen, 2),
    engineConcurrency: engine === undefined ? null : round(engine.status.applied.meanConcurrency, 2),
    identical,
  };
}
