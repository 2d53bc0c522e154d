import { link, readFile, rename, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { ReplicationError } from "../base/error.ts";
import type { Log } from "../base/log.ts";
import { errnoOf } from "./disk.ts";

const LOCK_FILE = "relay-bin.lock";

/** Who holds the lock. A pid alone comes back after a while, so its start time goes with it, and the boot that the start time counts from. */
interface Holder {
  host: string;
  boot: string;
  pid: number;
  startTime: string;
}

/**
 * The folder's lock: one engine writes a relay log. It is a file with the holder's identity, made whole by `link`, so that a process killed at any
 * instant leaves either no lock or one that names it; the lock of a dead process is taken over. Without it two receivers would write into the same files.
 */
export interface RelayLock {
  release(): Promise<void>;
}

/** @throws ReplicationError RELAY_LOG when a living process holds it. */
export async function lockFolder(folder: string, log: Log): Promise<RelayLock> {
  const path = join(folder, LOCK_FILE);
  const mine = JSON.stringify(await thisProcess());
  const made = `${path}.${process.pid}.${uniqueSuffix()}`;
  await writeFile(made, `${mine}\n`);
  try {
    for (;;) {
      if (await linked(made, path)) return { release: () => rm(path, { force: true }) };
      await removeStale(path, folder, log);
    }
  } finally {
    await rm(made, { force: true });
  }
}

async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return false;
    throw error;
  }
}

async function removeStale(path: string, folder: string, log: Log): Promise<void> {
  const text = await readIfThere(path);
  if (text === undefined) return;
  const holder = parseHolder(text);
  if (holder === undefined || (await isAlive(holder))) {
    const who = holder === undefined ? "an unknown process" : `process ${holder.pid} on ${holder.host}`;
    throw new ReplicationError("RELAY_LOG", `the relay log in ${folder} is in use by ${who}`, {
      where: { file: LOCK_FILE },
      hint: `stop that engine, or give this one another folder; if it is surely gone, delete ${path}`,
    });
  }
  // Another process may judge the same lock at this moment and put its own in place: what is moved aside must be what was judged.
  const aside = `${path}.stale.${process.pid}.${uniqueSuffix()}`;
  try {
    await rename(path, aside);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return;
    throw error;
  }
  if ((await readIfThere(aside)) === text) {
    log.info("took over the relay log's lock from a process that is gone", { folder, pid: holder.pid });
  } else {
    await linked(aside, path);
  }
  await rm(aside, { force: true });
}

let suffixes = 0;
const uniqueSuffix = (): number => (suffixes += 1);

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

function parseHolder(text: string): Holder | undefined {
  try {
    const holder = JSON.parse(text) as Partial<Holder> | null;
    if (typeof holder?.pid !== "number" || typeof holder.host !== "string") return undefined;
    return { host: holder.host, boot: holder.boot ?? "", pid: holder.pid, startTime: holder.startTime ?? "" };
  } catch {
    return undefined;
  }
}

async function thisProcess(): Promise<Holder> {
  const boot = ((await readIfThere("/proc/sys/kernel/random/boot_id")) ?? "").trim();
  return { host: hostname(), boot, pid: process.pid, startTime: await startTimeOf(process.pid) };
}

async function isAlive(holder: Holder): Promise<boolean> {
  const here = await thisProcess();
  // A shared folder: that host's processes cannot be seen from here.
  if (holder.host !== here.host) return true;
  if (holder.boot !== here.boot) return false;
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    return errnoOf(error) === "EPERM";
  }
  return holder.startTime === (await startTimeOf(holder.pid));
}

/** Clock ticks since boot, field 22 of /proc/PID/stat (proc(5)); empty where there is no /proc. The name before it may hold spaces and parentheses. */
async function startTimeOf(pid: number): Promise<string> {
  const stat = await readIfThere(`/proc/${pid}/stat`);
  if (stat === undefined) return "";
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
}
