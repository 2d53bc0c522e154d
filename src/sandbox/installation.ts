import type { ServerFlavour } from "./flavours.ts";
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
  if (libraryFolders.length > 0)
    return { file: binary, args: [...args], env: { ...process.env, LD_LIBRARY_PATH: libraryPath } };
  return { file: binary, args: [...args], env: process.env };
}
