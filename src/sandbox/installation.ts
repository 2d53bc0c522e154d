import { access, constants } from "node:fs/promises";
import { ReplicationError } from "../base/error.ts";
import { lastLines } from "./failure.ts";
import { FLAVOURS } from "./flavours.ts";
import type { ServerFlavour } from "./flavours.ts";
import { runProgram } from "./process.ts";
import type { Command } from "./process.ts";

export type ServerTool = "mysqlbinlog" | "mysql";

/**
 * A server's binaries and how to run them. Fetched ones run through the loader and libraries that came with them, so they
 * need nothing of the machine but its kernel.
 */
export interface ServerInstallation {
  flavour: ServerFlavour;
  /** As the server says it: `9.7.4`, `10.11.18-MariaDB`. */
  version: string;
  /** `path`: the environment named it; `cache`: fetched by us; `installed`: found on the machine. */
  from: "path" | "cache" | "installed";
  mysqld: string;
  /** Undefined when the installation has none: 5.6's package is the server alone. */
  mysqlbinlog: string | undefined;
  client: string | undefined;
  /** The dynamic loader to start every binary with. */
  loader: string | undefined;
  libraryFolders: readonly string[];
  /** Where the server finds its own files: goes before all other options. */
  serverOptions: readonly string[];
  /** Folder with the SQL that makes the system tables, for servers without `--initialize-insecure`. */
  systemTablesFolder: string | undefined;
}

/** How to start one of the installation's binaries. */
export function commandOf(installation: ServerInstallation, binary: string, args: readonly string[]): Command {
  const { loader, libraryFolders } = installation;
  const libraryPath = libraryFolders.join(":");
  if (loader !== undefined) {
    return { file: loader, args: ["--library-path", libraryPath, binary, ...args], env: process.env };
  }
  const env = libraryFolders.length === 0 ? process.env : { ...process.env, LD_LIBRARY_PATH: libraryPath };
  return { file: binary, args: [...args], env };
}

/** What a tool is called, the best name first. */
export function toolNames(flavour: ServerFlavour, tool: "binlog" | ""): string[] {
  if (FLAVOURS[flavour].product === "mysql") return [`mysql${tool}`];
  return [tool === "" ? "mariadb" : `mariadb-${tool}`, `mysql${tool}`];
}

/** `9.7.4` or `10.11.18-MariaDB`, from what `--version` prints. */
export async function versionOf(installation: ServerInstallation): Promise<string> {
  const { file, args, env } = commandOf(installation, installation.mysqld, ["--no-defaults", "--version"]);
  const result = await runProgram(file, args, { env });
  const version = /Ver (\d+\.\d+\.\d+(?:-MariaDB)?)/.exec(result.output)?.[1];
  if (result.exitCode !== 0 || version === undefined) {
    throw new ReplicationError(
      "SANDBOX",
      `${installation.mysqld} does not tell its version: ${lastLines(result.errors, 2)}`,
      {
        hint: `check that it runs: ${installation.mysqld} --version`,
      },
    );
  }
  return version;
}

export function isOfFlavour({ flavour, version }: Pick<ServerInstallation, "flavour" | "version">): boolean {
  const { series, product } = FLAVOURS[flavour];
  return series.test(version) && version.endsWith("-MariaDB") === (product === "mariadb");
}

export async function firstReadable(files: readonly string[]): Promise<string | undefined> {
  for (const file of files) {
    if (await isAccessible(file, constants.R_OK)) return file;
  }
  return undefined;
}

/** `mode` as access(2) has it. */
export function isAccessible(file: string, mode: number): Promise<boolean> {
  return access(file, mode).then(
    () => true,
    () => false,
  );
}
