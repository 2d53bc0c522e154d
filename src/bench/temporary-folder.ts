import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { runFolderParent } from "../sandbox/folders.ts";
import { signalProcess } from "../sandbox/process.ts";
import type { SandboxServer } from "../sandbox/start.ts";

/**
 * A folder that goes with this process at the latest, Ctrl-C included, and the servers whose data are in it. They are killed first: a server that is asked
 * to end while its files are taken away writes new ones, or never ends.
 */
export class TemporaryFolder {
  readonly path: string;
  readonly #keep: boolean;
  readonly #servers = new Set<SandboxServer>();
  readonly #atExit = (): void => this.remove();

  constructor(name: string, keep = false) {
    this.path = mkdtempSync(join(runFolderParent(), `abreast-${name}-`));
    this.#keep = keep;
    process.on("exit", this.#atExit);
  }

  holds(server: SandboxServer): void {
    this.#servers.add(server);
  }

  remove(): void {
    process.off("exit", this.#atExit);
    if (this.#keep) return;
    for (const server of this.#servers) signalProcess(server.process, "SIGKILL");
    rmSync(this.path, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Makes Ctrl-C an ordinary end of the process: what hangs on its end (servers, folders) is then tidied up, with the exit code of a shell. */
export function exitOnSignals(): void {
  process.once("SIGINT", () => process.exit(128 + 2));
  process.once("SIGTERM", () => process.exit(128 + 15));
}
