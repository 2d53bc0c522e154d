import { request as httpRequest, type ClientRequest, type IncomingMessage } from "node:http";
import { ReplicationError } from "../base/error.ts";
import type { EngineStatus, PausePosition } from "../engine/status.ts";
import { parseJson, readErrorMessage, type PauseRequest, type WorkersRequest } from "./messages.ts";
import { findSocketPath } from "./socket-path.ts";

/** Short beside what ending a process takes. */
const POLL_MS = 50;

/**
 * Talks to the engine that runs in a folder. Nothing times out: a pause at a position answers when it is reached, a stop when the work at hand is done.
 * Every call throws ReplicationError: NOT_RUNNING when no engine answers there, STOPPED when the signal is aborted, or what the engine answered.
 */
export class ControlClient {
  readonly #folder: string;
  readonly #signal: AbortSignal | undefined;

  /** `signal` ends every call that waits, and with it a pause that hangs on its connection. */
  constructor(folder: string, signal?: AbortSignal) {
    this.#folder = folder;
    this.#signal = signal;
  }

  status(): Promise<EngineStatus> {
    return this.#ask("GET", "/status");
  }

  /** Resolves once the engine has stopped cleanly. */
  stop(): Promise<EngineStatus> {
    return this.#ask("POST", "/stop");
  }

  /** Resolves once nobody answers any more. */
  async ended(): Promise<void> {
    try {
      for (;;) {
        await this.status();
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
    } catch (error) {
      if (error instanceof ReplicationError && error.code === "NOT_RUNNING") return;
      throw error;
    }
  }

  /** Resolves once paused: at once, or exactly behind `position`. Lasts until someone resumes. */
  pause(position?: PausePosition): Promise<EngineStatus> {
    return this.#ask("POST", "/pause", position === undefined ? {} : { position });
  }

  resume(): Promise<EngineStatus> {
    return this.#ask("POST", "/resume");
  }

  /** Resolves once so many are wanted: new ones may still be connecting, others still finish what they have. */
  setWorkers(count: number): Promise<EngineStatus> {
    return this.#ask("POST", "/workers", { count });
  }

  /** Resolves once paused, as `pause` does, with a pause that ends when `release` is called or this process dies. */
  async hold(position?: PausePosition, signal = this.#signal): Promise<{ release(): void }> {
    const body: PauseRequest = { whileConnected: true, ...(position === undefined ? {} : { position }) };
    const { request, response } = await this.#send("POST", "/pause", body, signal);
    this.#read(await firstLineOf(response).catch(() => ""), signal);
    return { release: () => request.destroy() };
  }

  async #ask(method: string, path: string, body?: PauseRequest | WorkersRequest): Promise<EngineStatus> {
    const { response } = await this.#send(method, path, body, this.#signal);
    // An answer that is cut short is no answer.
    const chunks = await response.toArray().catch(() => []);
    return this.#read(chunks.map(String).join(""), this.#signal);
  }

  #read(text: string, signal: AbortSignal | undefined): EngineStatus {
    const answer = parseJson(text);
    const error = readErrorMessage(answer);
    if (error !== undefined) throw error;
    if (answer === undefined && signal?.aborted === true) throw notWaitedFor();
    if (answer === undefined) throw this.#notRunning("stopped answering");
    return answer as EngineStatus;
  }

  #send(
    method: string,
    path: string,
    body: PauseRequest | WorkersRequest | undefined,
    signal: AbortSignal | undefined,
  ): Promise<{ request: ClientRequest; response: IncomingMessage }> {
    const socketPath = findSocketPath(this.#folder);
    return new Promise((resolve, reject) => {
      const request = httpRequest(
        { socketPath, method, path, agent: false, ...(signal === undefined ? {} : { signal }) },
        (response) => {
          response.setEncoding("utf8");
          resolve({ request, response });
        },
      );
      request.on("error", (error: NodeJS.ErrnoException) => reject(this.#connectionError(error)));
      request.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  #connectionError(error: NodeJS.ErrnoException): ReplicationError {
    if (error.code === "ABORT_ERR") return notWaitedFor();
    if (error.code === "EACCES" || error.code === "EPERM") {
      return new ReplicationError("ACCESS_DENIED", `the control socket of ${this.#folder} belongs to another user`, {
        hint: "run this as the user who runs the engine",
        cause: error,
      });
    }
    return this.#notRunning(error.code === "ECONNRESET" ? "stopped answering" : "runs", error);
  }

  #notRunning(verb: "runs" | "stopped answering", cause?: Error): ReplicationError {
    const what =
      verb === "runs" ? `no engine runs in ${this.#folder}` : `the engine in ${this.#folder} stopped answering`;
    return new ReplicationError("NOT_RUNNING", what, {
      hint: "start it with: abreast replicate; or give the engine's --channel or --folder",
      ...(cause === undefined ? {} : { cause }),
    });
  }
}

function notWaitedFor(): ReplicationError {
  return new ReplicationError("STOPPED", "the engine's answer was not waited for");
}

/** Reads up to the first line's end and leaves the rest of the answer open. */
function firstLineOf(response: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    response.on("data", (chunk: string) => {
      text += chunk;
      if (text.includes("\n")) resolve(text);
    });
    response.once("end", () => resolve(text));
    response.once("error", reject);
  });
}
