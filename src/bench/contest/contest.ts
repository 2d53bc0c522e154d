import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { ServerFlavour } from "../../sandbox/flavours.ts";
import { type SandboxServer, startServer } from "../../sandbox/start.ts";
import { TemporaryFolder } from "../temporary-folder.ts";
import { type EnginePlace, type EngineResult, type EngineTask, runEngine } from "./abreast.ts";
import { type Backlog, type BacklogOptions, makeBacklog, SCHEMA } from "./backlog.ts";
import type { AbreastContender, Contender, NativeContender } from "./contender.ts";
import {
  type Drive,
  type LiveOutcome,
  type LiveSetting,
  makeStart,
  runLive,
  type StartData,
  type StartDataOptions,
} from "./live.ts";
import { runNative } from "./native.ts";
import { checksumsOf, cpuSecondsOf, sameChecksums, warmUp } from "./server-facts.ts";
import { type Durability, DURABILITY_OPTIONS } from "./durability.ts";
import { fewLines } from "./few-lines.ts";
import { withLink } from "./slow-link.ts";

export type { EnginePlace } from "./abreast.ts";
export type { Durability } from "./durability.ts";

/** What everybody in a bench has in common. */
export interface ContestOptions {
  server: ServerFlavour;
  durability: Durability;
  /** More options of source and targets. */
  serverOptions?: readonly string[];
  /** Leave data folders and relay logs where they are; their place is told. */
  keep: boolean;
  /** The engine as a user gets it, but for what a contender says. */
  engineTask: (place: EnginePlace) => EngineTask;
  onProgress: (text: string) => void;
}

/** What one contender took, and what was seen of its target meanwhile. */
export interface Outcome<Seen> {
  contender: Contender;
  /** From START REPLICA, or from the start of the engine, with an empty relay log, until everything is applied. */
  seconds: number;
  /** Undefined for the server's own replica, which has no process of its own. */
  engine: EngineResult | undefined;
  /** User and system time of the target server during the run. */
  targetCpuSeconds: number;
  /** What a query took at the engine's end of the link, where there is one. */
  roundTripMs: number | undefined;
  /** CHECKSUM TABLE of every table agrees with the source. */
  identical: boolean;
  seen: Seen;
}

/** Looks at a target while a contender works on it: begins when called, ends with what it saw when what it returns is called. */
export type Watch<Seen> = (target: SandboxServer, contender: Contender) => Promise<() => Promise<Seen>>;

/**
 * Contenders apply the same backlog, one after the other, each on a fresh target of its own that starts from the same pages as the others'. So what differs
 * between two outcomes is the contender, and the machine's mood.
 */
export class Contest {
  readonly #options: ContestOptions;
  readonly #folder: TemporaryFolder;
  #runs = 0;

  private constructor(options: ContestOptions, folder: TemporaryFolder) {
    this.#options = options;
    this.#folder = folder;
  }

  /** Gives `work` a contest; servers and folders are gone when it ends. */
  static async hold<T>(options: ContestOptions, work: (contest: Contest) => Promise<T>): Promise<T> {
    const folder = new TemporaryFolder("bench", options.keep);
    if (options.keep) options.onProgress(`everything is kept in ${folder.path}`);
    try {
      return await work(new Contest(options, folder));
    } finally {
      folder.remove();
    }
  }

  /** The source of a backlog runs until `dismiss`. */
  makeBacklog(
    load: Pick<BacklogOptions, "workload" | "seed" | "transactions" | "threads"> & {
      /** Of this source alone. */
      sourceOptions?: readonly string[];
    },
  ): Promise<Backlog> {
    const { server, serverOptions = [], onProgress } = this.#options;
    const { sourceOptions = [], ...rest } = load;
    return makeBacklog({
      ...rest,
      name: `${++this.#runs}-${rest.workload.name}`,
      server,
      serverOptions: [...serverOptions, ...sourceOptions],
      onProgress,
      folder: this.#folder,
    });
  }

  /** Data that source and target of live runs begin with. */
  makeStart(data: StartDataOptions): Promise<StartData> {
    return makeStart(this.#liveSetting("start"), data);
  }

  /** A contender replicates while `drive` lets things happen on the source. */
  runLive<T>(contender: Contender, start: StartData, drive: Drive<T>): Promise<LiveOutcome<T>> {
    return runLive(this.#liveSetting(contender.name), contender, start, drive);
  }

  #liveSetting(name: string): LiveSetting {
    return { ...this.#options, folder: this.#folder, name: `${++this.#runs}-${name}` };
  }

  async dismiss(backlog: Backlog): Promise<void> {
    await backlog.source.stop({ keepData: true });
    if (this.#options.keep) return;
    for (const folder of backlog.folders) await rm(folder, { recursive: true, force: true });
  }

  async run<Seen>(contender: Contender, backlog: Backlog, watch: Watch<Seen>): Promise<Outcome<Seen>> {
    const { server, durability, serverOptions = [], keep, onProgress } = this.#options;
    const name = `${++this.#runs}-${contender.name}`;
    const dataFolder = join(this.#folder.path, name);
    await backlog.copyStart(dataFolder);
    const options = [...DURABILITY_OPTIONS[durability], ...serverOptions];
    const target = await startServer({ flavour: server, dataFolder, serverId: 2, options });
    this.#folder.holds(target);
    try {
      await warmUp(target, [SCHEMA]);
      const endWatch = await watch(target, contender);
      const cpuBefore = cpuSecondsOf(target.pid);
      const result =
        contender.who === "native"
          ? await this.#runNative(contender, backlog, target)
          : await this.#runEngine(name, contender, backlog, target);
      const targetCpuSeconds = cpuSecondsOf(target.pid) - cpuBefore;
      const seen = await endWatch();
      const identical = sameChecksums(await checksumsOf(target, [SCHEMA]), backlog.checksums);
      onProgress(`${contender.name}: ${result.seconds.toFixed(1)} s, ${identical ? "identical" : "NOT IDENTICAL"}`);
      return { contender, ...result, targetCpuSeconds, identical, seen };
    } finally {
      await target.stop({ keepData: keep });
      if (!keep) await rm(dataFolder, { recursive: true, force: true });
    }
  }

  async #runNative(
    contender: NativeContender,
    backlog: Backlog,
    target: SandboxServer,
  ): Promise<{ seconds: number; engine: undefined; roundTripMs: number | undefined }> {
    const { from, until, source } = backlog;
    return withLink(source.address, contender.sourceRoundTripMs, async (address, link) => {
      const roundTripMs = await link?.measureMs();
      return { seconds: await runNative(contender, { address, from, until }, target), engine: undefined, roundTripMs };
    });
  }

  async #runEngine(
    name: string,
    contender: AbreastContender,
    backlog: Backlog,
    target: SandboxServer,
  ): Promise<{ seconds: number; engine: EngineResult; roundTripMs: number | undefined }> {
    const { engineTask, onProgress } = this.#options;
    return withLink(backlog.source.address, contender.sourceRoundTripMs, (source) =>
      withLink(target.address, contender.roundTripMs, async (address, link) => {
        const folder = join(this.#folder.path, `${name}-relay`);
        const task = engineTask({
          source,
          target: address,
          folder,
          startFrom: backlog.from,
          until: backlog.until,
          contender,
        });
        const roundTripMs = await link?.measureMs();
        const tell = fewLines(contender.name, onProgress);
        const engine = await runEngine(task, tell.line);
        tell.end();
        return { seconds: engine.seconds, engine, roundTripMs };
      }),
    );
  }
}
