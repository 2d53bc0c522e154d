import { fork } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { ReplicationError } from "../../base/error.ts";
import type { ServerAddress } from "../../base/server-url.ts";
import type { EngineOptions } from "../../engine/options.ts";
import type { EngineStatus } from "../../engine/status.ts";
import type { AbreastContender } from "./contender.ts";

/** Engine options as they travel to another process: without the log, which is a function. */
export type EngineTask = Omit<EngineOptions, "log">;

/** What a contest says of an engine; the rest is as a user gets it. */
export interface EnginePlace {
  source: ServerAddress;
  target: ServerAddress;
  folder: string;
  startFrom: string;
  /** Undefined: until it is stopped. */
  until: string | undefined;
  contender: AbreastContender;
}

export type EngineOrder = { type: "start"; task: EngineTask } | { type: "stop" };

export type EngineMessage =
  | { type: "log"; text: string }
  | { type: "lag"; lagMs: number | null }
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

/** An engine in a process of its own. */
export interface RunningEngine {
  /** Of its process. */
  readonly pid: number;
  /** Its own lag a moment ago, in milliseconds; undefined while it does not know, and always for a task with `until`. */
  lagMs(): number | undefined;
  /** Lets what is being applied end. */
  stop(): void;
  /** Rejects with ReplicationError APPLY when it ends without having applied everything. */
  done: Promise<EngineResult>;
}

/**
 * Runs an engine in a process of its own, so that processor time and memory are its own.
 * @throws ReplicationError APPLY when it ends without having applied everything.
 */
export const runEngine = (task: EngineTask, onProgress: (text: string) => void): Promise<EngineResult> =>
  startEngine(task, onProgress).done;

/** Without `until` the engine goes on until it is stopped. */
export function startEngine(task: EngineTask, onProgress: (text: string) => void): RunningEngine {
  const child = fork(childFile(), { stdio: ["ignore", "inherit", "inherit", "ipc"], execArgv: [] });
  const order = (each: EngineOrder): void => void (child.connected && child.send(each));
  let lagMs: number | undefined;
  const done = new Promise<EngineResult>((resolve, reject) => {
    const failed = (why: string): void => reject(new ReplicationError("APPLY", `the engine ended early: ${why}`));
    child.on("message", (message: EngineMessage) => {
      switch (message.type) {
        case "log":
          onProgress(message.text);
          break;
        case "lag":
          lagMs = message.lagMs ?? undefined;
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
  });
  order({ type: "start", task });
  return { pid: child.pid ?? 0, lagMs: () => lagMs, stop: () => order({ type: "stop" }), done };
}

/** Node runs JavaScript only: from the sources, the built file is taken. */
function childFile(): string {
  const here = fileURLToPath(new URL("engine-child", import.meta.url));
  const built = `${here.replace(/([/\\])src([/\\]bench[/\\])/, "$1dist$2")}.js`;
  if (existsSync(built)) return built;
  throw new ReplicationError("CONFIG", `${built} is missing`, { hint: "run `npm run build`" });
}
