import { rmSync } from "node:fs";
import { signalProcess } from "./process.ts";
import type { ProcessIdentity } from "./process.ts";

/** A server that must not outlive this process. */
export interface KeptServer {
  identity: ProcessIdentity;
  /** Removed with the server; undefined when the data folder is the caller's. */
  temporaryFolder: string | undefined;
}

/**
 * The servers that this process started and has not stopped. Every one of them ends with the process: without that, a
 * failed test or a Ctrl-C would leave servers that nobody knows.
 */
const kept = new Set<KeptServer>();
let watching = false;

export function keepServer(server: KeptServer): void {
  kept.add(server);
  if (watching) return;
  watching = true;
  process.on("exit", endAll);
  // First in the row: a listener added with once() before ours is gone from the count when its turn has passed.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.prependListener(signal, onSignal);
}

export function releaseServer(server: KeptServer): void {
  kept.delete(server);
}

/** Our listener alone must not keep a signal from ending the process; a program with its own decides itself and exits later. */
function onSignal(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 1) return;
  endAll();
  process.off(signal, onSignal);
  process.kill(process.pid, signal);
}

/** Nothing can be awaited here: a server with data worth keeping is asked to end, the others are ended. */
function endAll(): void {
  for (const { identity, temporaryFolder } of kept) {
    signalProcess(identity, temporaryFolder === undefined ? "SIGTERM" : "SIGKILL");
    if (temporaryFolder !== undefined) rmSync(temporaryFolder, { recursive: true, force: true, maxRetries: 3 });
  }
  kept.clear();
}
