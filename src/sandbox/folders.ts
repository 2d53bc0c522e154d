import { homedir, tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";

type Environment = Readonly<Record<string, string | undefined>>;

/** The XDG base directory specification: a relative path in these variables is to be ignored. */
function baseFolder(environment: Environment, variable: string, ...fallback: string[]): string {
  const value = environment[variable];
  return value !== undefined && isAbsolute(value) ? value : join(homedir(), ...fallback);
}

/** Where fetched servers are kept: can be deleted at any time. */
export function serversFolder(environment: Environment = process.env): string {
  return join(baseFolder(environment, "XDG_CACHE_HOME", ".cache"), "abreast", "servers");
}

/** Where `sandbox up` records what it started. */
export function sandboxStateFolder(environment: Environment = process.env): string {
  return join(baseFolder(environment, "XDG_STATE_HOME", ".local", "state"), "abreast", "sandbox");
}

/**
 * The folder in which a server's run folder is made. A socket's path has 108 bytes (`sun_path`, unix(7)), so a long TMPDIR
 * gives way to /tmp.
 */
export function runFolderParent(): string {
  const folder = tmpdir();
  return Buffer.byteLength(folder) > 60 ? "/tmp" : folder;
}
