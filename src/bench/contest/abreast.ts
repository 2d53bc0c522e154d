import { fork } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { ReplicationError } from "../../base/error.ts";
import type { EngineOptions } from "../../engine/options.ts";
import type { EngineStatus } from "../../engine/status.ts";

/** Engine options as they travel to another process: without the log, which is a function. */
export type EngineTask = Omit<EngineOptions, "log">;

export type EngineMessage =
  | { type: "log"; text: string }
  | { type: "done"; result: EngineResult }
  | { type: "failed"; error: string };

export interface EngineResult {
  /** From the start of the engine until everything up to `until` is applied and the engine has stopped. */
  seconds: number;
  /** User and system time of all threads of the process in that time: receiving, relay log and garbage collection included, loading Node and the program not. */
  engineCpuSeconds: number;
  rssBytesMax: number;
  /** At its end. */
  status: Pick<EngineStatus, "policy" | "applied" | "workers">;
}

/**
 * Runs an engine in a process of its own, so that processor time and memory are its own.
 * @throws ReplicationError APPLY when it ends without having applied everything.
 */
export function runEngine(task: EngineTask, onProgress: (text: string) => void): Promise<EngineResult> {
  return new Promise((resolve, reject) => {
    const child = fork(childFile(), { stdio: ["ignore", "inherit", "inherit", "ipc"], execArgv: [] });
    const failed = (why: string): void => reject(new ReplicationError("APPLY", `the engine ended early: ${why}`));
    child.on("message", (message: EngineMessage) => {
      switch (message.type) {
        case "log":
          onProgress(message.text);
          break;
        case "done":
          resolve(message.result);
          break;
        case "failed":
          failed(message.error);
          break;
      }
    });
    child.on("error", reject);
    child.on("exit", (code, signal) => failed(signal ?? `exit code ${code}`));
    child.send(task);
  });
}

/** Node runs JavaScript only: from the sources, the built file is taken. */
function childFile(): string {
  const here = fileURLToPath(new URL("engine-child", import.meta.url));
  const built = `${here.replace(/([/\\])src([/\\]bench[/\\])/, "$1dist$2")}.js`;
  if (existsSync(built)) return built;
  throw new ReplicationError("CONFIG", `${built} is missing`, { hint: "run `npm run build`" });
}
