import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { ServerFlavour } from "../../sandbox/flavours.ts";
import { type SandboxServer, startServer } from "../../sandbox/start.ts";
import { Session } from "../../wire/session.ts";
import { TemporaryFolder } from "../temporary-folder.ts";
import { type EngineResult, type EngineTask, runEngine } from "./abreast.ts";
import { type Backlog, type BacklogOptions, makeBacklog, SCHEMA } from "./backlog.ts";
import type { AbreastContender, Contender } from "./contender.ts";
import { runNative } from "./native.ts";
import { checksumTables, cpuSecondsOf, sameChecksums } from "./server-facts.ts";
import { SlowLink } from "./slow-link.ts";

export type Durability = "durable" | "relaxed";

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

export interface EnginePlace {
  source: SandboxServer["address"];
  target: SandboxServer["address"];
  folder: string;
  startFrom: string;
  until: string;
  contender: AbreastContender;
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

/** The same for natives and ours: binlog on, replicated changes logged, so that the target could serve replicas and point-in-time recovery itself. */
const TARGET_OPTIONS: Readonly<Record<Durability, readonly string[]>> = {
  durable: ["--sync-binlog=1", "--innodb-flush-log-at-trx-commit=1"],
  relaxed: ["--sync-binlog=0", "--innodb-flush-log-at-trx-commit=2"],
};

/** Some loads make the engine warn at every turn. */
const ENGINE_LINES_MAX = 5;

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
  makeBacklog(load: Pick<BacklogOptions, "workload" | "seed" | "transactions" | "threads">): Promise<Backlog> {
    const { server, serverOptions = [], onProgress } = this.#options;
    return makeBacklog({ ...load, server, serverOptions, onProgress, folder: this.#folder });
  }

  async dismiss(backlog: Backlog): Promise<void> {
    await backlog.source.stop({ keepData: true });
  }

  async run<Seen>(contender: Contender, backlog: Backlog, watch: Watch<Seen>): Promise<Outcome<Seen>> {
    const { server, durability, serverOptions = [], keep, onProgress } = this.#options;
    const name = `${++this.#runs}-${contender.name}`;
    const dataFolder = join(this.#folder.path, name);
    await backlog.copyStart(dataFolder);
    const options = [...TARGET_OPTIONS[durability], ...serverOptions];
    const target = await startServer({ flavour: server, dataFolder, serverId: 2, options });
    this.#folder.holds(target);
    try {
      await warmUp(target);
      const endWatch = await watch(target, contender);
      const cpuBefore = cpuSecondsOf(target.pid);
      const result =
        contender.who === "native"
          ? { seconds: await runNative(contender, backlog, target), engine: undefined, roundTripMs: undefined }
          : await this.#runEngine(name, contender, backlog, target);
      const targetCpuSeconds = cpuSecondsOf(target.pid) - cpuBefore;
      const seen = await endWatch();
      const identical = sameChecksums(await checksumsOf(target), backlog.checksums);
      onProgress(`${contender.name}: ${result.seconds.toFixed(1)} s, ${identical ? "identical" : "NOT IDENTICAL"}`);
      return { contender, ...result, targetCpuSeconds, identical, seen };
    } finally {
      await target.stop({ keepData: keep });
      if (!keep) await rm(dataFolder, { recursive: true, force: true });
    }
  }

  async #runEngine(
    name: string,
    contender: AbreastContender,
    backlog: Backlog,
    target: SandboxServer,
  ): Promise<{ seconds: number; engine: EngineResult; roundTripMs: number | undefined }> {
    const { engineTask, onProgress } = this.#options;
    const link =
      contender.roundTripMs === undefined ? undefined : await SlowLink.open(target.address, contender.roundTripMs);
    try {
      const task = engineTask({
        source: backlog.source.address,
        target: link?.address ?? target.address,
        folder: join(this.#folder.path, `${name}-relay`),
        startFrom: backlog.from,
        until: backlog.until,
        contender,
      });
      const roundTripMs = await link?.measureMs();
      let told = 0;
      const engine = await runEngine(task, (text) => {
        if (++told <= ENGINE_LINES_MAX) onProgress(`${contender.name}: ${text}`);
      });
      if (told > ENGINE_LINES_MAX) onProgress(`${contender.name}: and ${told - ENGINE_LINES_MAX} lines more`);
      return { seconds: engine.seconds, engine, roundTripMs };
    } finally {
      await link?.close();
    }
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
