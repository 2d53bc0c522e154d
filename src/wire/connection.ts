import type { Socket } from "node:net";
import { ReplicationError } from "../base/error.ts";
import type { LoggedIn } from "./login.ts";
import { framePayload, type OnPacket, PacketReader } from "./packet.ts";
import { ServerVersion } from "./server-version.ts";

/** How long a graceful end may take before the socket is simply closed. */
const CLOSE_TIMEOUT_MS = 2000;
/** Up to here copying is cheaper than a system call with a list of buffers. */
const JOINED_BYTES_MAX = 16 * 1024;

/**
 * Packets both ways on a logged-in socket: no thought of what they mean. Whoever sets `onPacket` gets every payload, in order; `onClosed` is called exactly
 * once, after the last packet. A view of a payload keeps the whole chunk of the socket alive.
 */
export class Connection {
  readonly server: string;
  readonly connectionId: number;
  readonly serverVersion: ServerVersion;
  onPacket: OnPacket = () => {};
  /** Something has come: called before the packets of each chunk of the socket. */
  onRead: () => void = () => {};
  onClosed: (error: ReplicationError) => void = () => {};
  readonly #socket: Socket;
  #closedBecause: ReplicationError | undefined;
  #bytesRead = 0;
  /** What is sent while `together` runs. */
  #together: Buffer[] | undefined;

  constructor(loggedIn: LoggedIn, server: string) {
    this.server = server;
    this.connectionId = loggedIn.connectionId;
    this.serverVersion = new ServerVersion(loggedIn.serverVersion);
    this.#socket = loggedIn.socket;
    const reader = new PacketReader((bytes, start, end, sequenceId) => {
      if (this.#closedBecause === undefined) this.onPacket(bytes, start, end, sequenceId);
    });
    this.#socket.on("data", (chunk: Buffer) => {
      this.#bytesRead += chunk.length;
      this.onRead();
      try {
        reader.push(chunk);
      } catch (error) {
        if (!(error instanceof ReplicationError)) throw error;
        this.destroy(error);
      }
    });
    this.#socket.on("error", (cause: NodeJS.ErrnoException) =>
      this.destroy(this.#lost(cause.code ?? cause.message, cause)),
    );
    this.#socket.on("end", () => this.destroy(this.#lost("the server closed it")));
    this.#socket.on("close", () => this.destroy(this.#lost("closed")));
    this.#socket.resume();
  }

  get closed(): boolean {
    return this.#closedBecause !== undefined;
  }

  /** Bytes from the server since the login, packet headers included. */
  get bytesRead(): number {
    return this.#bytesRead;
  }

  /** Sends one payload, given in parts that are not joined; its packets are numbered from `sequenceId`, 0 for a command. */
  send(parts: readonly Buffer[], sequenceId = 0): void {
    if (this.#closedBecause !== undefined) return;
    const framed = framePayload(parts, sequenceId);
    if (this.#together === undefined) this.#write(framed);
    else this.#together.push(...framed);
  }

  /** What `work` sends goes out at its end, in one piece: each write wakes the server, and costs more than a small packet itself. */
  together(work: () => void): void {
    const held: Buffer[] = [];
    this.#together = held;
    try {
      work();
    } finally {
      this.#together = undefined;
      if (held.length > 0 && this.#closedBecause === undefined) this.#write(held);
    }
  }

  #write(buffers: readonly Buffer[]): void {
    const bytes = buffers.reduce((sum, buffer) => sum + buffer.length, 0);
    if (buffers.length > 1 && bytes <= JOINED_BYTES_MAX) {
      this.#socket.write(Buffer.concat(buffers, bytes));
      return;
    }
    this.#socket.cork();
    for (const buffer of buffers) this.#socket.write(buffer);
    this.#socket.uncork();
  }

  /** Stops reading from the socket, so that the server's sending comes to a halt; packets of the chunk in hand still arrive. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Says goodbye (COM_QUIT) and waits until the server has closed, or for two seconds. */
  async close(): Promise<void> {
    if (this.#closedBecause !== undefined) return;
    const gone = new Promise<void>((resolve) => this.#socket.once("close", () => resolve()));
    this.send([Buffer.of(COM_QUIT)]);
    this.#finish(new ReplicationError("STOPPED", `the connection to ${this.server} was closed by us`));
    this.#socket.end();
    this.#socket.resume();
    const timer = setTimeout(() => this.#socket.destroy(), CLOSE_TIMEOUT_MS);
    await gone;
    clearTimeout(timer);
  }

  /** Closes the socket at once. */
  destroy(because?: ReplicationError): void {
    this.#finish(because ?? new ReplicationError("STOPPED", `the connection to ${this.server} was closed by us`));
    this.#socket.destroy();
  }

  #finish(because: ReplicationError): void {
    if (this.#closedBecause !== undefined) return;
    this.#closedBecause = because;
    this.onClosed(because);
  }

  #lost(reason: string, cause?: unknown): ReplicationError {
    return new ReplicationError("CONNECTION_LOST", `the connection to ${this.server} ended: ${reason}`, { cause });
  }
}

const COM_QUIT = 0x01;
