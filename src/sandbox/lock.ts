import { randomUUID } from "node:crypto";
import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ReplicationError } from "../base/error.ts";
import { identifyProcess, isRunning } from "./process.ts";
import type { ProcessIdentity } from "./process.ts";

const POLL_MS = 100;

/**
 * Runs `work` while holding the lock file. It saves two processes from doing the same work; it does not guard the result,
 * which appears by one rename and so is whole even if two holders met in the instant when a dead owner's file is taken away.
 */
export async function withLockFile<T>(file: string, onWait: () => void, work: () => Promise<T>): Promise<T> {
  const token = await acquire(file, onWait);
  try {
    return await work();
  } finally {
    if ((await readOwner(file))?.token === token) await rm(file, { force: true });
  }
}

interface Owner extends ProcessIdentity {
  token: string;
}

async function acquire(file: string, onWait: () => void): Promise<string> {
  const self = identifyProcess(process.pid);
  if (self === undefined) {
    throw new ReplicationError("SANDBOX", "this process is not to be seen in /proc", {
      hint: "run the sandbox on Linux with /proc mounted",
    });
  }
  const owner: Owner = { ...self, token: randomUUID() };
  await mkdir(dirname(file), { recursive: true });
  let told = false;
  let unreadable = 0;
  for (;;) {
    try {
      const handle = await open(file, "wx");
      try {
        await handle.writeFile(JSON.stringify(owner));
      } finally {
        await handle.close();
      }
      return owner.token;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    const other = await readOwner(file);
    // An owner needs a moment between making the file and writing it; one that died in between never will.
    unreadable = other === undefined ? unreadable + 1 : 0;
    if ((other !== undefined && !isRunning(other)) || unreadable > 20) {
      await takeAway(file);
      continue;
    }
    if (!told && other !== undefined) onWait();
    told ||= other !== undefined;
    await sleep(POLL_MS);
  }
}

async function takeAway(file: string): Promise<void> {
  const aside = `${file}.${randomUUID()}`;
  try {
    await rename(file, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw error;
  }
  await rm(aside, { force: true });
}

async function readOwner(file: string): Promise<Owner | undefined> {
  try {
    const value = JSON.parse(await readFile(file, "utf8")) as Partial<Owner>;
    const { pid, startedAt, token } = value;
    return typeof pid === "number" && typeof startedAt === "string" && typeof token === "string"
      ? { pid, startedAt, token }
      : undefined;
  } catch {
    return undefined;
  }
}
