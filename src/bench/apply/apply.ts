import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { ServerFlavour } from "../../sandbox/flavours.ts";
import { type SandboxServer, startServer } from "../../sandbox/start.ts";
import { Session } from "../../wire/session.ts";
import { TemporaryFolder } from "../temporary-folder.ts";
import { oltpWriteOnly } from "../workload/oltp-write-only.ts";
import type { WorkloadOptions } from "../workload/workload.ts";
import { type EngineTask, runEngine } from "./abreast.ts";
import { type Backlog, makeBacklog, SCHEMA } from "./backlog.ts";
import type { Contender } from "./contenders.ts";
import { runNative } from "./native.ts";
import { type ApplyReport, type ApplyRun, bestOf, type Durability, round } from "./report.ts";
import { checksumTables, cpuSecondsOf, sameChecksums } from "./server-facts.ts";

export interface ApplyOptions {
  server: ServerFlavour;
  transactions: number;
  threads: number;
  durability: Durability;
  data: WorkloadOptions;
  contenders: readonly Contender[];
  /** Leave data folders and relay logs where they are; their place is told. */
  keep: boolean;
  /** The engine as a user gets it, but for what a contender says. */
  engineTask(place: EnginePlace): EngineTask;
  onProgress: (text: string) => void;
}

export interface EnginePlace {
  source: SandboxServer["address"];
  target: SandboxServer["address"];
  folder: string;
  startFrom: string;
  until: string;
  contender: Contender;
}

/** Makes one backlog and lets every contender apply it, one after the other, each on a fresh target of its own. */
export async function benchApply(options: ApplyOptions): Promise<ApplyReport> {
  const { onProgress, server, contenders } = options;
  const workload = oltpWriteOnly;
  const folder = new TemporaryFolder("bench", options.keep);
  if (options.keep) onProgress(`everything is kept in ${folder.path}`);
  try {
    const backlog = await makeBacklog({ ...options, workload, folder });
    const runs: ApplyRun[] = [];
    for (const [index, contender] of contenders.entries()) {
      onProgress(`run ${index + 1} of ${contenders.length}: ${contender.name}`);
      const run = await runContender(contender, backlog, options, folder);
      onProgress(`${contender.name}: ${run.seconds} s, ${run.identical ? "identical" : "NOT IDENTICAL"}`);
      runs.push(run);
    }
    await backlog.source.stop({ keepData: true });
    const { tables, tableSize, distribution, seed } = options.data;
    return {
      server,
      serverVersion: backlog.source.version,
      durability: options.durability,
      transactions: options.transactions,
      workload: { name: workload.name, tables, tableSize, distribution, threads: options.threads, seed },
      binlogBytes: backlog.binlogBytes,
      runs,
      best: bestOf(runs),
    };
  } finally {
    folder.remove();
  }
}

/** The same for natives and ours: binlog on, replicated changes logged, so that the target could serve replicas and point-in-time recovery itself. */
const TARGET_OPTIONS: Readonly<Record<Durability, readonly string[]>> = {
  durable: ["--sync-binlog=1", "--innodb-flush-log-at-trx-commit=1"],
  relaxed: ["--sync-binlog=0", "--innodb-flush-log-at-trx-commit=2"],
};

async function runContender(
  contender: Contender,
  backlog: Backlog,
  options: ApplyOptions,
  folder: TemporaryFolder,
): Promise<ApplyRun> {
  const dataFolder = join(folder.path, contender.name);
  await backlog.copyStart(dataFolder);
  const target = await startServer({
    flavour: options.server,
    dataFolder,
    serverId: 2,
    options: TARGET_OPTIONS[options.durability],
  });
  folder.holds(target);
  try {
    await warmUp(target);
    const cpuBefore = cpuSecondsOf(target.pid);
    const result =
      contender.who === "native"
        ? { seconds: await runNative(contender, backlog, target), engineCpuSeconds: null, rssBytesMax: null }
        : await runEngine(
            options.engineTask({
              source: backlog.source.address,
              target: target.address,
              folder: join(folder.path, `${contender.name}-relay`),
              startFrom: backlog.from,
              until: backlog.until,
              contender,
            }),
            (text) => options.onProgress(`${contender.name}: ${text}`),
          );
    const targetCpuSeconds = cpuSecondsOf(target.pid) - cpuBefore;
    const { name: _, ...settings } = contender;
    return {
      ...settings,
      seconds: round(result.seconds, 2),
      engineCpuSeconds: result.engineCpuSeconds === null ? null : round(result.engineCpuSeconds, 2),
      rssBytesMax: result.rssBytesMax,
      targetCpuSeconds: round(targetCpuSeconds, 2),
      identical: sameChecksums(await checksumsOf(target), backlog.checksums),
    };
  } finally {
    await target.stop({ keepData: options.keep });
    if (!options.keep) await rm(dataFolder, { recursive: true, force: true });
  }
}

/** Reads every row once, so that nobody measures the first read of a page. MariaDB's copy of the source's binlog goes: it is not the target's own. */
async function warmUp(target: SandboxServer): Promise<void> {
  const session = await Session.connect(target.address);
  try {
    if (session.serverVersion.flavour === "mariadb") await session.execute("RESET MASTER");
    await checksumTables(session, SCHEMA);
  } finally {
    await session.close();
  }
}

async function checksumsOf(server: SandboxServer): Promise<Map<string, string>> {
  const session = await Session.connect(server.address);
  try {
    return await checksumTables(session, SCHEMA);
  } finally {
    await session.close();
  }
}
