import { rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { ReplicationError } from "../base/error.ts";
import { findServer } from "./find.ts";
import type { ServerFlavour } from "./flavours.ts";
import { sandboxStateFolder } from "./folders.ts";
import { withLockFile } from "./lock.ts";
import { isFreePort } from "./port.ts";
import { isRunning, signalProcess, waitForEnd } from "./process.ts";
import { checkName, ownDataFolder, readRecord, readRecords, removeRecord, writeRecord } from "./record.ts";
import type { SandboxRecord } from "./record.ts";
import { removeRunFolder } from "./run-folder.ts";
import { startServer } from "./start.ts";
import type { SandboxServer } from "./start.ts";
import { isUnused } from "./template.ts";

export interface SandboxStatus extends SandboxRecord {
  /** `dead`: it ended without `sandbox down`; `up` with the same name starts it again on its data. */
  state: "running" | "dead";
}

export interface UpOptions {
  flavour: ServerFlavour;
  /** Without it: the flavour, with a number when that is taken. */
  name?: string | undefined;
  port?: number | undefined;
  /** Without it: a folder of ours, which `down` removes. */
  dataFolder?: string | undefined;
  options?: readonly string[] | undefined;
  onProgress?: ((text: string) => void) | undefined;
}

/** Starts a server that outlives this process and writes it down. */
export async function upSandbox(options: UpOptions): Promise<SandboxStatus> {
  if (options.name !== undefined) checkName(options.name);
  // A fetch may take minutes: nobody should wait for it who only wants to list.
  await findServer(options.flavour, { onProgress: options.onProgress });
  return withStateLock(async () => {
    const name = options.name ?? (await freeName(options.flavour));
    const former = await readRecord(name);
    if (former !== undefined) checkReplaceable(former, options.flavour);
    const dataFolder =
      options.dataFolder === undefined ? (former?.dataFolder ?? ownDataFolder(name)) : resolve(options.dataFolder);
    const port = options.port ?? (await formerPort(former));
    const server = await startNew({ ...options, port }, name, dataFolder, former?.serverId);
    const record: SandboxRecord = {
      name,
      flavour: server.flavour,
      version: server.version,
      url: server.url,
      port: server.address.port,
      serverId: server.serverId,
      process: server.process,
      startedAt: new Date().toISOString(),
      dataFolder: server.dataFolder,
      runFolder: server.runFolder,
      errorLogFile: server.errorLogFile,
    };
    // Until it is written down, the server would be lost with us: so it ends with us.
    await writeRecord(record);
    await server.detach();
    return statusOf(record);
  });
}

/** Who connected to the server before finds it again, where nobody else has taken its port. */
async function formerPort(former: SandboxRecord | undefined): Promise<number | undefined> {
  return former !== undefined && (await isFreePort(former.port)) ? former.port : undefined;
}

async function startNew(
  options: UpOptions,
  name: string,
  dataFolder: string,
  serverId: number | undefined,
): Promise<SandboxServer> {
  const { flavour, port, onProgress } = options;
  const isNew = await isUnused(dataFolder);
  try {
    return await startServer({
      flavour,
      dataFolder,
      port,
      serverId,
      options: options.options,
      onProgress,
      detachable: true,
    });
  } catch (error) {
    if (!isNew || dataFolder !== ownDataFolder(name) || !(error instanceof ReplicationError)) throw error;
    // Nobody would find data that no record names; the log is in it, and what it said is in the error.
    await rm(dirname(dataFolder), { recursive: true, force: true });
    const { code, message, hint, cause } = error;
    throw new ReplicationError(code, message, { cause, ...(hint === undefined ? {} : { hint }) });
  }
}

export async function listSandboxes(): Promise<SandboxStatus[]> {
  return (await readRecords()).map(statusOf);
}

export interface DownOptions {
  /** Leaves data folders that we made where they are. */
  keepData?: boolean;
}

export interface DownResult extends SandboxRecord {
  /** `stopped` by us, or already `dead`. */
  was: "stopped" | "dead";
  dataRemoved: boolean;
}

/** Stops the named servers, or all; forgets them; removes the data folders that we made for them. */
export async function downSandbox(names: readonly string[] | "all", options: DownOptions = {}): Promise<DownResult[]> {
  return withStateLock(async () => {
    const records = await readRecords();
    const chosen = names === "all" ? records : names.map((name) => recordNamed(records, name));
    const results: DownResult[] = [];
    for (const record of chosen) results.push(await stopRecorded(record, options));
    return results;
  });
}

const STOP_TIMEOUT_MS = 60_000;
const KILL_TIMEOUT_MS = 10_000;

/** Only the process with the recorded start time is signalled: after a crash or a reboot the pid may be anybody's. */
async function stopRecorded(record: SandboxRecord, { keepData = false }: DownOptions): Promise<DownResult> {
  const wasRunning = signalProcess(record.process, "SIGTERM");
  if (!(await waitForEnd(record.process, STOP_TIMEOUT_MS))) {
    signalProcess(record.process, "SIGKILL");
    if (!(await waitForEnd(record.process, KILL_TIMEOUT_MS))) {
      throw new ReplicationError("SANDBOX", `${record.name} (pid ${record.process.pid}) does not end`);
    }
  }
  const dataRemoved = record.dataFolder === ownDataFolder(record.name) && !keepData;
  await removeRunFolder(record.runFolder);
  if (dataRemoved) await rm(dirname(record.dataFolder), { recursive: true, force: true });
  await removeRecord(record);
  return { ...record, was: wasRunning ? "stopped" : "dead", dataRemoved };
}

function statusOf(record: SandboxRecord): SandboxStatus {
  return { ...record, state: isRunning(record.process) ? "running" : "dead" };
}

function recordNamed(records: readonly SandboxRecord[], name: string): SandboxRecord {
  const record = records.find((candidate) => candidate.name === name);
  if (record !== undefined) return record;
  const known = records.map((candidate) => candidate.name).join(", ");
  throw new ReplicationError("CONFIG", `there is no sandbox server named ${name}`, {
    hint: known === "" ? "start one with abreast sandbox up" : `use one of ${known}`,
  });
}

function checkReplaceable(former: SandboxRecord, flavour: ServerFlavour): void {
  if (isRunning(former.process)) {
    throw new ReplicationError("CONFIG", `a sandbox server named ${former.name} already runs at ${former.url}`, {
      hint: `choose another --name, or stop it with abreast sandbox down ${former.name}`,
    });
  }
  if (former.flavour !== flavour) {
    throw new ReplicationError("CONFIG", `${former.name} holds data of ${former.flavour}, not of ${flavour}`, {
      hint: `choose another --name, or remove it with abreast sandbox down ${former.name}`,
    });
  }
}

async function freeName(flavour: ServerFlavour): Promise<string> {
  const taken = new Set((await readRecords()).map(({ name }) => name));
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? flavour : `${flavour}-${number}`;
    if (!taken.has(name)) return name;
  }
}

function withStateLock<T>(work: () => Promise<T>): Promise<T> {
  return withLockFile(join(sandboxStateFolder(), ".lock"), () => {}, work);
}
