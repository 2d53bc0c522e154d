import { constants } from "node:fs";
import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import type { ServerFlavour } from "../../sandbox/flavours.ts";
import { type SandboxServer, startServer } from "../../sandbox/start.ts";
import { Session } from "../../wire/session.ts";
import { Heartbeat, heartbeatPreparation } from "../lag/heartbeat.ts";
import { type LagRecord, LagSampler } from "../lag/lag-sampler.ts";
import type { TemporaryFolder } from "../temporary-folder.ts";
import { prepareData } from "../workload/data.ts";
import type { Workload } from "../workload/workload.ts";
import { type EnginePlace, type EngineResult, type EngineTask, startEngine } from "./abreast.ts";
import type { Contender } from "./contender.ts";
import { type Durability, DURABILITY_OPTIONS } from "./durability.ts";
import { fewLines } from "./few-lines.ts";
import { startNative } from "./native.ts";
import { checksumsOf, cpuSecondsOf, gtidPosition, sameChecksums, settingsOf, warmUp } from "./server-facts.ts";

export interface LiveSetting {
  /** Names the folders of this run. */
  name: string;
  server: ServerFlavour;
  durability: Durability;
  serverOptions?: readonly string[];
  folder: TemporaryFolder;
  engineTask: (place: EnginePlace) => EngineTask;
  keep: boolean;
  onProgress: (text: string) => void;
}

export interface StartDataOptions {
  /** The first one also gets the heartbeat's table. */
  schemas: readonly string[];
  /** Whose tables are in every schema. */
  workloads: readonly Workload[];
  seed: number;
  /** Of the source in live runs. */
  sourceOptions?: readonly string[];
}

/** Pages with which servers begin. */
export interface StartData {
  schemas: readonly string[];
  sourceOptions: readonly string[];
  copyTo(folder: string): Promise<void>;
}

/** What a driver gets: it lets things happen on the source, and may wait for the replica. */
export interface LiveStage {
  source: SandboxServer;
  /** Since the curves began. */
  elapsedSeconds: () => number;
  /** Until the replica has everything that the source has now. */
  caughtUp: () => Promise<void>;
}

export type Drive<T> = (stage: LiveStage) => Promise<T>;

export interface LiveOutcome<T> {
  driven: T;
  /** From the begin of the driver until the replica had everything. */
  lag: LagRecord;
  /** From the end of the driver until the replica had everything. */
  catchUpSeconds: number;
  /** User and system time from the begin of the driver to the end. */
  cpuSeconds: { source: number; target: number; engine: number | null };
  engine: EngineResult | undefined;
  identical: boolean;
  serverVersion: string;
  settings: { source: Record<string, string>; target: Record<string, string> };
}

/** A server makes the tables, ends, and leaves its pages: so every run begins with the very same, in a second. */
export async function makeStart(setting: LiveSetting, options: StartDataOptions): Promise<StartData> {
  const { server, folder, name, onProgress } = setting;
  const { schemas, workloads, seed, sourceOptions = [] } = options;
  const dataFolder = join(folder.path, name);
  const maker = await startServer({
    flavour: server,
    dataFolder,
    serverId: 1,
    options: DURABILITY_OPTIONS.relaxed,
    onProgress,
  });
  folder.holds(maker);
  onProgress(`making the tables in ${schemas.length === 1 ? (schemas[0] ?? "") : `${schemas.length} schemas`}`);
  for (const workload of workloads) await prepareData(maker.address, schemas, workload, seed);
  await makeHeartbeat(maker, schemas[0] ?? "");
  await maker.stop({ keepData: true });
  // Two servers of one replication must not have the same UUID.
  await rm(join(dataFolder, "auto.cnf"), { force: true });
  return {
    schemas,
    sourceOptions,
    copyTo: (to) => cp(dataFolder, to, { recursive: true, mode: constants.COPYFILE_FICLONE }),
  };
}

/**
 * Source and target start with the same pages, the contender replicates, the driver lets things happen on the source, and the lag is looked at all the time. It ends when the replica has
 * everything, and every table is compared. Both servers have the same durability.
 */
export async function runLive<T>(
  setting: LiveSetting,
  contender: Contender,
  start: StartData,
  drive: Drive<T>,
): Promise<LiveOutcome<T>> {
  const { server, durability, serverOptions = [], folder, name, keep } = setting;
  const servers: SandboxServer[] = [];
  const begin = async (serverId: number, role: string, more: readonly string[]): Promise<SandboxServer> => {
    const dataFolder = join(folder.path, `${name}-${role}`);
    await start.copyTo(dataFolder);
    const options = [...DURABILITY_OPTIONS[durability], ...serverOptions, ...more];
    const started = await startServer({ flavour: server, dataFolder, serverId, options });
    folder.holds(started);
    servers.push(started);
    return started;
  };
  try {
    const source = await begin(1, "source", start.sourceOptions);
    const target = await begin(2, "target", []);
    await warmUp(target, start.schemas);
    return await replicate(setting, contender, start, { source, target }, drive);
  } finally {
    await Promise.all(servers.map((each) => each.stop({ keepData: keep })));
    if (!keep) {
      for (const each of servers) await rm(each.dataFolder, { recursive: true, force: true });
    }
  }
}

async function replicate<T>(
  setting: LiveSetting,
  contender: Contender,
  { schemas }: StartData,
  { source, target }: { source: SandboxServer; target: SandboxServer },
  drive: Drive<T>,
): Promise<LiveOutcome<T>> {
  const schema = schemas[0] ?? "";
  const from = await positionOf(source);
  const replica = await startReplica(setting, contender, from, source, target);
  const heartbeat = await Heartbeat.start(source.address, schema);
  const sampler = await LagSampler.start({
    target: target.address,
    schema,
    reported: replica.secondsBehind,
    cpuSeconds: () =>
      cpuSecondsOf(target.pid) + (replica.enginePid === undefined ? 0 : cpuSecondsOf(replica.enginePid)),
  });
  let [beating, isSampling] = [true, true];
  try {
    const arrival = (beatMs: number): Promise<unknown> => Promise.race([sampler.arrived(beatMs), replica.failed]);
    await arrival(Date.now());
    sampler.begin();
    const beginMs = performance.now();
    const cpuBefore = [cpuSecondsOf(source.pid), cpuSecondsOf(target.pid), engineCpu(replica)] as const;
    const driven = await drive({
      source,
      elapsedSeconds: () => (performance.now() - beginMs) / 1000,
      caughtUp: async () => void (await arrival(Date.now())),
    });
    const drivenMs = performance.now();
    await arrival(Date.now());
    const catchUpSeconds = (performance.now() - drivenMs) / 1000;
    // The heart beats on until then: else its last beat would only get older, and the curve would never come down.
    await arrival(Date.now());
    beating = false;
    await arrival(await heartbeat.stop());
    await replica.reached(await positionOf(source));
    const cpuAfter = [cpuSecondsOf(source.pid), cpuSecondsOf(target.pid), engineCpu(replica)] as const;
    isSampling = false;
    const lag = await sampler.stop();
    const engine = await replica.stop();
    const [expected, found] = [await checksumsOf(source, schemas), await checksumsOf(target, schemas)];
    return {
      driven,
      lag,
      catchUpSeconds,
      cpuSeconds: {
        source: cpuAfter[0] - cpuBefore[0],
        target: cpuAfter[1] - cpuBefore[1],
        engine: contender.who === "native" ? null : cpuAfter[2] - cpuBefore[2],
      },
      engine,
      identical: sameChecksums(expected, found),
      serverVersion: source.version,
      settings: { source: await settingsOf(source), target: await settingsOf(target) },
    };
  } finally {
    // What has failed by then has been told.
    if (beating) await heartbeat.stop().catch(() => {});
    if (isSampling) {
      await sampler.stop().catch(() => {});
      await replica.stop().catch(() => {});
    }
  }
}

interface Replica {
  enginePid: number | undefined;
  secondsBehind: () => Promise<number | undefined>;
  /** Never resolves; rejects when the replica ends by itself. */
  failed: Promise<never>;
  reached(until: string): Promise<void>;
  stop(): Promise<EngineResult | undefined>;
}

const engineCpu = ({ enginePid }: Replica): number => (enginePid === undefined ? 0 : cpuSecondsOf(enginePid));

async function startReplica(
  { engineTask, folder, name, onProgress }: LiveSetting,
  contender: Contender,
  from: string,
  source: SandboxServer,
  target: SandboxServer,
): Promise<Replica> {
  if (contender.who === "native") {
    const native = await startNative(contender, { address: source.address, from }, target);
    return {
      enginePid: undefined,
      secondsBehind: native.secondsBehind,
      failed: new Promise(() => {}),
      reached: native.reached,
      stop: async () => {
        await native.stop();
        return undefined;
      },
    };
  }
  const tell = fewLines(contender.name, onProgress);
  const engine = startEngine(
    engineTask({
      source: source.address,
      target: target.address,
      folder: join(folder.path, `${name}-relay`),
      startFrom: from,
      until: undefined,
      contender,
    }),
    tell.line,
  );
  const failed = new Promise<never>((_, reject) => {
    engine.done.catch(reject);
  });
  failed.catch(() => {});
  return {
    enginePid: engine.pid,
    secondsBehind: async () => {
      const lagMs = engine.lagMs();
      return lagMs === undefined ? undefined : lagMs / 1000;
    },
    failed,
    // The source's commit order is kept, so the last heartbeat came last.
    reached: async () => {},
    stop: async () => {
      engine.stop();
      tell.end();
      return engine.done;
    },
  };
}

async function positionOf(server: SandboxServer): Promise<string> {
  const session = await Session.connect(server.address);
  try {
    return await gtidPosition(session);
  } finally {
    await session.close();
  }
}

async function makeHeartbeat(server: SandboxServer, schema: string): Promise<void> {
  const session = await Session.connect(server.address);
  try {
    await session.execute(`USE \`${schema}\``);
    for (const statement of heartbeatPreparation(Date.now())) await session.execute(statement);
  } finally {
    await session.close();
  }
}
