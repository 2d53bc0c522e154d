import { mkdtemp, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { runFolderParent } from "./folders.ts";
import { identifyProcess, isRunning } from "./process.ts";
import type { ProcessIdentity } from "./process.ts";

/** Holds a server's socket, its pid file and data that nobody asked to keep. */
const PREFIX = "abreast-server-";
const OWNERS_FILE = "owners.json";

/** Makes a run folder for a server that this process starts, and removes those whose owners ended without time to. */
export async function makeRunFolder(): Promise<string> {
  const parent = runFolderParent();
  await removeAbandoned(parent);
  const folder = await mkdtemp(join(parent, PREFIX));
  const self = identifyProcess(process.pid);
  await setOwners(folder, self === undefined ? [] : [self]);
  return folder;
}

/** Names the processes that need the folder; it is abandoned when all of them have ended. */
export async function setOwners(folder: string, owners: readonly ProcessIdentity[]): Promise<void> {
  await writeFile(join(folder, OWNERS_FILE), JSON.stringify(owners));
}

/** Removes a run folder, and nothing that is none: the path may come from a file that somebody edited. */
export async function removeRunFolder(folder: string): Promise<void> {
  if (basename(folder).startsWith(PREFIX)) await rm(folder, { recursive: true, force: true });
}

async function removeAbandoned(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    if (!name.startsWith(PREFIX)) continue;
    const folder = join(parent, name);
    if (await isAbandoned(folder)) await rm(folder, { recursive: true, force: true }).catch(() => {});
  }
}

async function isAbandoned(folder: string): Promise<boolean> {
  try {
    // In a shared /tmp a folder of this name may be anybody's.
    if ((await stat(folder)).uid !== process.getuid?.()) return false;
    const owners = JSON.parse(await readFile(join(folder, OWNERS_FILE), "utf8")) as ProcessIdentity[];
    return owners.length > 0 && !owners.some(isRunning);
  } catch {
    return false;
  }
}
