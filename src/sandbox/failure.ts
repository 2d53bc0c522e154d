import { ReplicationError } from "../base/error.ts";
import type { RunResult } from "./process.ts";

/** The last lines of a log or of a program's complaints, short enough for one message. */
export function lastLines(text: string, count: number): string {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .slice(-count)
    .join("\n  ");
}

/** What can go wrong with any fetch, recognised by the words of apt, dpkg, tar and npm. */
const KNOWN_FAILURES: readonly { pattern: RegExp; hint: string }[] = [
  {
    pattern: /No space left on device|ENOSPC|not enough free space|Disk quota exceeded/i,
    hint: "free some space, or set XDG_CACHE_HOME to a folder on another disk",
  },
  {
    pattern: /Permission denied|EACCES|Read-only file system|EROFS/i,
    hint: "set XDG_CACHE_HOME to a folder that you may write to",
  },
  {
    pattern: /NO_PUBKEY|EXPKEYSIG|KEYEXPIRED|is not signed|signatures were invalid/i,
    hint: "install the package debian-archive-keyring, or bring it up to date",
  },
  {
    pattern: /Hash Sum mismatch|EINTEGRITY|unexpected size/i,
    hint: "run it again: the archive was changing, or the download was damaged",
  },
  {
    pattern: /Unable to locate package|has no installation candidate/i,
    hint: "give a server of your own by its environment variable; this archive does not have the package",
  },
  {
    pattern:
      /Could ?n[o']t resolve|Temporary failure|Could not connect|Unable to connect|Connection refused|timed out|Failed to fetch|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH|network/i,
    hint: "check the network and the proxy settings, then run it again: what is there already is kept",
  },
];

/** The error for a program that a fetch ran and that failed. */
export function fetchFailure(what: string, result: RunResult, variable: string): ReplicationError {
  const text = `${result.output}\n${result.errors}`;
  const known = KNOWN_FAILURES.find(({ pattern }) => pattern.test(text));
  const said = result.errors.trim() === "" ? result.output : result.errors;
  return new ReplicationError("SANDBOX", `${what}:\n  ${lastLines(said, 4)}`, {
    hint: known?.hint ?? `give a server of your own: ${variable}=/path/to/mysqld`,
  });
}
