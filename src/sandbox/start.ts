import { randomInt } from "node:crypto";
import { mkdir, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { assert } from "../base/assert.ts";
import { ReplicationError } from "../base/error.ts";
import type { ServerAddress } from "../base/server-url.ts";
import { findServer } from "./find.ts";
import { FLAVOURS } from "./flavours.ts";
import type { ServerFlavour } from "./flavours.ts";
import { commandOf } from "./installation.ts";
import type { ServerInstallation, ServerTool } from "./installation.ts";
import { keepServer, releaseServer } from "./keep.ts";
import type { KeptServer } from "./keep.ts";
import { launchServer, PortTakenError } from "./launch.ts";
import { freePort } from "./port.ts";
import { identifyProcess, isRunning, signalProcess, waitUntil } from "./process.ts";
import type { Command, ProcessIdentity } from "./process.ts";
import { makeRunFolder, setOwners } from "./run-folder.ts";
import { serverArguments } from "./server-options.ts";
import type { ServerPlace } from "./server-options.ts";
import { fillDataFolder, isUnused } from "./template.ts";

export interface StartServerOptions {
  flavour: ServerFlavour;
  /** Kept when the server stops. Without it: a temporary folder, removed when the server stops. */
  dataFolder?: string | undefined;
  /** Without it: a free one. */
  port?: number | undefined;
  /** Without it: a random one. */
  serverId?: number | undefined;
  /** More options for mysqld, such as `--sync-binlog=0`; they win over ours. */
  options?: readonly string[] | undefined;
  onProgress?: ((text: string) => void) | undefined;
  /** The server can be detached: then it outlives this process, and whoever asked for it has to stop it. */
  detachable?: boolean | undefined;
}

/** A server of our own on 127.0.0.1: user root, no password, every privilege; binlog in row format, GTIDs. */
export interface SandboxServer {
  readonly flavour: ServerFlavour;
  /** `9.7.4`, `10.11.18-MariaDB` */
  readonly version: string;
  readonly installation: ServerInstallation;
  readonly address: ServerAddress;
  /** The address as `--source` and `--target` take it. */
  readonly url: string;
  readonly serverId: number;
  readonly dataFolder: string;
  readonly socketFile: string;
  /** Holds everything the server ever said, restarts included. */
  readonly errorLogFile: string;
  /** Holds the socket and the pid file. */
  readonly runFolder: string;
  /** Of the running server, or of the last one. */
  readonly pid: number;
  readonly process: ProcessIdentity;
  isRunning(): boolean;
  /**
   * Shuts down cleanly; with `keepData`, `restart` can start a server with temporary data again. Without it, temporary data
   * is removed, and the server is not given the second or two that a clean shutdown of it would take.
   */
  stop(options?: { keepData?: boolean }): Promise<void>;
  /** kill -9: a crash. `restart` brings the server back. */
  kill(): Promise<void>;
  /** Stops the server if it runs and starts it on the same data and port. `options` replaces those it was started with. */
  restart(options?: readonly string[]): Promise<void>;
  /** From now on the server outlives this process. Only for one started `detachable`. */
  detach(): Promise<void>;
  /** The client or mysqlbinlog of this server, ready for `spawn`. The client is told where to connect. */
  command(tool: ServerTool, args: readonly string[]): Command;
}

/**
 * Starts a server and waits until it answers.
 * @throws ReplicationError SANDBOX when it cannot be had or does not start; its last words are in the message.
 */
export async function startServer(options: StartServerOptions): Promise<SandboxServer> {
  const onProgress = options.onProgress ?? (() => {});
  const installation = await findServer(options.flavour, { onProgress });
  const runFolder = await makeRunFolder();
  try {
    const dataFolder = options.dataFolder === undefined ? join(runFolder, "data") : resolve(options.dataFolder);
    if (await isUnused(dataFolder)) await fillDataFolder(installation, dataFolder, onProgress);
    const server = new LocalServer(installation, {
      runFolder,
      temporaryData: options.dataFolder === undefined,
      detachable: options.detachable ?? false,
      options: options.options ?? [],
      place: {
        dataFolder,
        socketFile: join(runFolder, "mysqld.sock"),
        pidFile: join(runFolder, "mysqld.pid"),
        port: options.port ?? (await freePort()),
        // Small ones are what people give by hand.
        serverId: options.serverId ?? randomInt(1_000, 2 ** 31),
      },
    });
    await server.startFirst(options.port === undefined);
    return server;
  } catch (error) {
    await rm(runFolder, { recursive: true, force: true });
    throw error;
  }
}

interface LocalServerSetup {
  /** Holds the socket, the pid file and temporary data. */
  runFolder: string;
  temporaryData: boolean;
  detachable: boolean;
  options: readonly string[];
  place: ServerPlace;
}

const STOP_TIMEOUT_MS = 60_000;
const KILL_TIMEOUT_MS = 10_000;
const PORT_ATTEMPTS_MAX = 5;

/**
 * Invariant: every signal goes to the very process that this object started, recognised by pid and start time. Signalling by
 * pid alone would hit a stranger once the pid is used again.
 */
class LocalServer implements SandboxServer {
  readonly installation: ServerInstallation;
  #setup: LocalServerSetup;
  #running: KeptServer | undefined;
  #lastProcess: ProcessIdentity | undefined;

  constructor(installation: ServerInstallation, setup: LocalServerSetup) {
    this.installation = installation;
    this.#setup = setup;
  }

  get flavour(): ServerFlavour {
    return this.installation.flavour;
  }

  get version(): string {
    return this.installation.version;
  }

  get address(): ServerAddress {
    return { host: "127.0.0.1", port: this.#setup.place.port, user: "root", password: "", tls: "off" };
  }

  get url(): string {
    return `${FLAVOURS[this.flavour].product}://root@127.0.0.1:${this.#setup.place.port}`;
  }

  get serverId(): number {
    return this.#setup.place.serverId;
  }

  get dataFolder(): string {
    return this.#setup.place.dataFolder;
  }

  get runFolder(): string {
    return this.#setup.runFolder;
  }

  get socketFile(): string {
    return this.#setup.place.socketFile;
  }

  get errorLogFile(): string {
    return join(this.dataFolder, "error.log");
  }

  get process(): ProcessIdentity {
    assert(this.#lastProcess !== undefined, "a server is handed out after it has started");
    return this.#lastProcess;
  }

  get pid(): number {
    return this.process.pid;
  }

  isRunning(): boolean {
    return this.#running !== undefined && isRunning(this.#running.identity);
  }

  /** The first start may move to another port when the chosen one was taken in the meantime. */
  async startFirst(mayMove: boolean): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#launch();
      } catch (error) {
        if (!(error instanceof PortTakenError) || !mayMove || attempt >= PORT_ATTEMPTS_MAX) throw error;
        this.#setup = { ...this.#setup, place: { ...this.#setup.place, port: await freePort() } };
      }
    }
  }

  async #launch(): Promise<void> {
    const { place, options, detachable, temporaryData, runFolder } = this.#setup;
    await mkdir(runFolder, { recursive: true });
    await launchServer({
      flavour: this.flavour,
      command: commandOf(
        this.installation,
        this.installation.mysqld,
        serverArguments(this.installation, place, options),
      ),
      errorLogFile: this.errorLogFile,
      place,
      temporaryData,
      endsWithUs: !detachable,
      onStarted: (started) => {
        this.#lastProcess = started;
        this.#running = { identity: started, temporaryFolder: temporaryData ? runFolder : undefined };
        keepServer(this.#running);
      },
      onEnded: (ended) => this.#release(ended),
    });
    const self = identifyProcess(process.pid);
    await setOwners(runFolder, self === undefined ? [this.process] : [this.process, self]);
  }

  async detach(): Promise<void> {
    assert(this.#setup.detachable, "a server that is not detachable ends with its process");
    await setOwners(this.#setup.runFolder, [this.process]);
    if (this.#running !== undefined) releaseServer(this.#running);
  }

  /** The news of an end may come late, when the next process already runs. */
  #release(ended: ProcessIdentity): void {
    if (this.#running?.identity !== ended) return;
    releaseServer(this.#running);
    this.#running = undefined;
  }

  async stop(options: { keepData?: boolean } = {}): Promise<void> {
    const dataGoes = this.#setup.temporaryData && options.keepData !== true;
    await this.#end(dataGoes ? "SIGKILL" : "SIGTERM", STOP_TIMEOUT_MS);
    if (options.keepData !== true) await rm(this.#setup.runFolder, { recursive: true, force: true });
  }

  async kill(): Promise<void> {
    await this.#end("SIGKILL", KILL_TIMEOUT_MS);
  }

  async #end(signal: NodeJS.Signals, timeoutMs: number): Promise<void> {
    const running = this.#running;
    if (running === undefined) return;
    // Released when Node has seen it end: then no zombie is left either.
    const isReleased = (): boolean => this.#running !== running;
    signalProcess(running.identity, signal);
    if (await waitUntil(isReleased, timeoutMs)) return;
    signalProcess(running.identity, "SIGKILL");
    if (await waitUntil(isReleased, KILL_TIMEOUT_MS)) return;
    throw new ReplicationError("SANDBOX", `${this.flavour} (pid ${running.identity.pid}) does not end`);
  }

  async restart(options?: readonly string[]): Promise<void> {
    await this.#end("SIGTERM", STOP_TIMEOUT_MS);
    if (await isUnused(this.dataFolder)) {
      throw new ReplicationError("SANDBOX", `${this.flavour} was stopped and its temporary data removed`, {
        hint: "stop it with keepData to start it again",
      });
    }
    if (options !== undefined) this.#setup = { ...this.#setup, options };
    await this.#launch();
  }

  command(tool: ServerTool, args: readonly string[]): Command {
    return toolCommand(this.installation, this.address, tool, args);
  }
}

function toolCommand(
  installation: ServerInstallation,
  address: ServerAddress,
  tool: ServerTool,
  args: readonly string[],
): Command {
  const binary = tool === "mysql" ? installation.client : installation.mysqlbinlog;
  if (binary === undefined) {
    throw new ReplicationError("SANDBOX", `${installation.flavour} comes without ${tool}`, {
      hint: "use the one of another flavour: MySQL 9.7's reads and talks to older servers",
    });
  }
  const connection =
    tool === "mysql" ? [`--host=${address.host}`, `--port=${address.port}`, `--user=${address.user}`] : [];
  return commandOf(installation, binary, ["--no-defaults", ...connection, ...args]);
}
