import { constants } from "node:fs/promises";
import { delimiter, dirname, join, resolve } from "node:path";
import { ReplicationError } from "../base/error.ts";
import { cachedInstallation, fetchInstallation } from "./cache.ts";
import { FLAVOURS } from "./flavours.ts";
import type { ServerFlavour } from "./flavours.ts";
import { firstReadable, isAccessible, isOfFlavour, toolNames, versionOf } from "./installation.ts";
import type { ServerInstallation } from "./installation.ts";

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

async function givenInstallation(flavour: ServerFlavour, given: string): Promise<ServerInstallation> {
  const { variable } = FLAVOURS[flavour];
  const mysqld = resolve(given);
  if (!(await isAccessible(mysqld, constants.X_OK))) {
    throw new ReplicationError("SANDBOX", `${variable} names ${mysqld}, which is no program`, {
      hint: `set ${variable} to the path of a mysqld, or unset it`,
    });
  }
  const installation = await hostInstallation(flavour, mysqld, "path");
  if (!isOfFlavour(installation)) {
    throw new ReplicationError("SANDBOX", `${variable} names ${mysqld}, which is version ${installation.version}`, {
      hint: `set ${variable} to a server of ${flavour}, or unset it`,
    });
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
      if (folder === "" || !(await isAccessible(mysqld, constants.X_OK))) continue;
      // One that does not even run is as good as none here.
      const installation = await hostInstallation(flavour, mysqld, "installed").catch(() => undefined);
      if (installation !== undefined && isOfFlavour(installation)) return installation;
    }
  }
  return undefined;
}

/** A server that runs with the machine's own libraries. */
async function hostInstallation(
  flavour: ServerFlavour,
  mysqld: string,
  from: "path" | "installed",
): Promise<ServerInstallation> {
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
  return { ...installation, version: await versionOf(installation) };
}
