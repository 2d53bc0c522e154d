import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { runFolderParent } from "../sandbox/folders.ts";

export interface TemporaryFolder {
  path: string;
  remove(): void;
}

/** A folder that goes with this process at the latest, Ctrl-C included, unless `keep`. */
export function makeTemporaryFolder(name: string, keep = false): TemporaryFolder {
  const path = mkdtempSync(join(runFolderParent(), `abreast-${name}-`));
  const remove = (): void => rmSync(path, { recursive: true, force: true, maxRetries: 3 });
  if (keep) return { path, remove: () => {} };
  process.on("exit", remove);
  return {
    path,
    remove: () => {
      process.off("exit", remove);
      remove();
    },
  };
}

/** Makes Ctrl-C an ordinary end of the process: what hangs on its end (servers, folders) is then tidied up, with the exit code of a shell. */
export function exitOnSignals(): void {
  process.once("SIGINT", () => process.exit(128 + 2));
  process.once("SIGTERM", () => process.exit(128 + 15));
}
