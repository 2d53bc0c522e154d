import { setTimeout as sleep } from "node:timers/promises";
import { ReplicationError } from "../base/error.ts";
import type { RelayLog } from "../relay/relay-log.ts";
import type { Connection } from "../wire/connection.ts";
import type { ReceiverState } from "./status.ts";

const DISK_FULL_RETRY_MS = 1000;

type FlushedLog = Pick<RelayLog, "flush" | "waitForRoom">;

interface FlusherEvents {
  onState: (state: ReceiverState) => void;
  /** Flushing waits for space until the next call, which has no error. */
  onDiskFull: (error: ReplicationError | undefined) => void;
  /** The relay log can no longer be written. */
  onError: (error: ReplicationError) => void;
}

/**
 * Group commit of the relay log: one flush at a time, and whatever was appended while it ran goes with the next, so the disk's own speed makes the groups.
 * Holds the source back (stops reading the socket) while the relay log has no room in memory, on disk or under its size limit.
 */
export class RelayFlusher {
  readonly #relay: FlushedLog;
  readonly #events: FlusherEvents;
  #connection: Connection | undefined;
  #afterFlush: (() => void) | undefined;
  #appended = false;
  #running: Promise<void> | undefined;
  #roomChecked = true;
  #isFinishing = false;
  /** Why the socket is not read: each reason goes by itself. */
  readonly #holds = new Set<"memory" | "disk" | "size">();

  constructor(relay: FlushedLog, events: FlusherEvents) {
    this.#relay = relay;
    this.#events = events;
  }

  get paused(): boolean {
    return this.#holds.size > 0;
  }

  /** The stream whose socket is held back, until `detach`. */
  attach(connection: Connection): void {
    this.#connection = connection;
    if (this.paused) connection.pause();
  }

  /** What waits to be told after the flush concerns that stream only, and is forgotten. */
  detach(): void {
    this.#connection = undefined;
    this.#afterFlush = undefined;
  }

  /** After each `append`; `room` is its answer. */
  appended(room: boolean, betweenTransactions: boolean): void {
    this.#appended = true;
    if (!room) this.#hold("memory");
    if (betweenTransactions && !this.#roomChecked) {
      this.#roomChecked = true;
      void this.#waitForRoom();
    }
    this.#running ??= this.#run();
  }

  /** Calls back once everything appended so far is on disk. Only the last one counts: it covers those before it. */
  afterFlush(callback: () => void): void {
    this.#afterFlush = callback;
    this.#appended = true;
    this.#running ??= this.#run();
  }

  /** Resolves when everything appended is on disk, or the disk is full: then the rest is left to the source, which has it. To be called last. */
  async finish(): Promise<void> {
    this.#isFinishing = true;
    while (this.#running !== undefined) await this.#running;
  }

  async #run(): Promise<void> {
    try {
      // The rest of the socket's chunk first.
      await new Promise((resolve) => setImmediate(resolve));
      while (this.#appended) {
        this.#appended = false;
        const afterFlush = this.#afterFlush;
        this.#afterFlush = undefined;
        const connection = this.#connection;
        await this.#flush();
        this.#roomChecked = false;
        this.#release("memory");
        if (connection === this.#connection) afterFlush?.();
      }
    } catch (error) {
      this.#events.onError(
        error instanceof ReplicationError ? error : new ReplicationError("RELAY_LOG", String(error), { cause: error }),
      );
    } finally {
      this.#running = undefined;
    }
  }

  async #flush(): Promise<void> {
    for (;;) {
      try {
        await this.#relay.flush();
        if (this.#holds.has("disk")) this.#events.onDiskFull(undefined);
        this.#release("disk");
        return;
      } catch (error) {
        if (!(error instanceof ReplicationError) || error.code !== "DISK_FULL") throw error;
        if (this.#isFinishing) throw error;
        if (!this.#holds.has("disk")) this.#events.onDiskFull(error);
        this.#hold("disk");
        await sleep(DISK_FULL_RETRY_MS);
      }
    }
  }

  async #waitForRoom(): Promise<void> {
    const room = this.#relay.waitForRoom();
    const now = await Promise.race([room.then(() => true), new Promise((resolve) => setImmediate(resolve, false))]);
    if (now === true) return;
    this.#hold("size");
    await room;
    this.#release("size");
  }

  #hold(reason: "memory" | "disk" | "size"): void {
    if (this.#holds.has(reason)) return;
    this.#holds.add(reason);
    this.#connection?.pause();
    this.#tell();
  }

  #release(reason: "memory" | "disk" | "size"): void {
    if (!this.#holds.delete(reason)) return;
    if (this.#holds.size === 0) this.#connection?.resume();
    this.#tell();
  }

  #tell(): void {
    this.#events.onState(
      this.#holds.has("disk")
        ? "Waiting for disk space"
        : this.#holds.has("size")
          ? "Waiting for the replica SQL thread to free enough relay log space"
          : this.#holds.has("memory")
            ? "Queueing source event to the relay log"
            : "Waiting for source to send event",
    );
  }
}
