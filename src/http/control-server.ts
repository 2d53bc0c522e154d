import { chmodSync, mkdirSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { connect } from "node:net";
import { ReplicationError } from "../base/error.ts";
import type { EngineStatus, PausePosition } from "../engine/status.ts";
import { errorMessage, parsePauseRequest, parseWorkersRequest } from "./messages.ts";
import { chooseSocketPath, forgetSocketPath } from "./socket-path.ts";

/** What the control API talks to: the engine, or what stands in for it while it starts. */
export interface Controlled {
  status(): EngineStatus;
  stop(): Promise<void>;
  pauseAt(position?: PausePosition): Promise<void>;
  resume(): void;
  /** From now on applies with so many workers. */
  setWorkers(count: number): Promise<void>;
}

/** Long enough to write a short answer to a process on the same machine. */
const CLOSE_MS_MAX = 1000;
/** Far above any request of ours. */
const BODY_BYTES_MAX = 64 * 1024;

/**
 * The control API of one running engine: HTTP over a unix socket in the engine's folder, for its owner only.
 *
 * Invariant: whoever listens on the folder's socket owns the folder. Two engines in one folder would write the same relay log; so this starts
 * first and refuses when another process answers, and takes over a socket that nobody answers on (kill -9).
 */
export class ControlServer {
  readonly #server: Server;
  readonly #folder: string;
  readonly #engine: Controlled;
  /** Answers kept open by `whileConnected`: the pauses that end with their connection. */
  readonly #holds = new Set<ServerResponse>();

  private constructor(folder: string, engine: Controlled) {
    this.#folder = folder;
    this.#engine = engine;
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  /** @throws ReplicationError FENCED when another engine runs in this folder. */
  static async start(folder: string, engine: Controlled): Promise<ControlServer> {
    mkdirSync(folder, { recursive: true });
    const socketPath = chooseSocketPath(folder);
    if (await answers(socketPath)) {
      throw new ReplicationError("FENCED", `another engine runs in ${folder}`, {
        hint: `see it with: abreast status --folder ${folder}`,
      });
    }
    rmSync(socketPath, { force: true });
    const control = new ControlServer(folder, engine);
    await control.#listen(socketPath);
    return control;
  }

  #listen(socketPath: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", (cause) => {
        reject(
          new ReplicationError("CONFIG", `no control socket can be made at ${socketPath}: ${cause.message}`, {
            hint: "give another folder with --folder",
            cause,
          }),
        );
      });
      this.#server.listen(socketPath, () => {
        chmodSync(socketPath, 0o600);
        resolve();
      });
    });
  }

  /** Answers what was asked, then closes: whoever asked the engine to stop is told that it did. */
  async close(): Promise<void> {
    for (const hold of this.#holds) hold.end();
    this.#holds.clear();
    // A pause that is still waited for would keep the process alive.
    const deadline = setTimeout(() => this.#server.closeAllConnections(), CLOSE_MS_MAX);
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
    clearTimeout(deadline);
    forgetSocketPath(this.#folder);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      switch (`${request.method} ${request.url}`) {
        case "GET /status":
          return send(response, 200, this.#engine.status());
        case "POST /stop":
          await this.#engine.stop();
          return send(response, 200, this.#engine.status());
        case "POST /pause":
          return await this.#pause(await readBody(request), response);
        case "POST /resume":
          this.#resume();
          return send(response, 200, this.#engine.status());
        case "POST /workers":
          await this.#engine.setWorkers(parseWorkersRequest(await readBody(request)).count);
          return send(response, 200, this.#engine.status());
        default:
          return send(response, 404, {
            error: { code: "CONFIG", message: `there is no ${request.method} ${request.url}` },
          });
      }
    } catch (error) {
      send(response, error instanceof ReplicationError && error.code === "CONFIG" ? 400 : 500, errorMessage(error));
    }
  }

  async #pause(body: string, response: ServerResponse): Promise<void> {
    const { position, whileConnected } = parsePauseRequest(body);
    if (whileConnected) {
      this.#holds.add(response);
      response.once("close", () => {
        // Only if nobody resumed in between: a later pause is someone else's.
        if (this.#holds.delete(response)) this.#engine.resume();
      });
    }
    try {
      await this.#engine.pauseAt(position);
    } catch (error) {
      this.#holds.delete(response);
      throw error;
    }
    if (!this.#holds.has(response)) return send(response, 200, this.#engine.status());
    response.writeHead(200, { "content-type": "application/json" });
    response.write(`${JSON.stringify(this.#engine.status())}\n`);
  }

  #resume(): void {
    const holds = [...this.#holds];
    this.#holds.clear();
    this.#engine.resume();
    for (const hold of holds) if (hold.headersSent) hold.end();
  }
}

/** Whether a process listens there. A socket file without one refuses at once. */
function answers(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(socketPath);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) throw new ReplicationError("CONFIG", "the request is too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function send(response: ServerResponse, status: number, body: unknown): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, { "content-type": "application/json", connection: "close" });
  response.end(`${JSON.stringify(body)}\n`);
}
