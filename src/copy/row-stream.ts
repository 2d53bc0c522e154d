import { assert } from "../base/assert.ts";
import { ReplicationError } from "../base/error.ts";
import type { Connection } from "../wire/connection.ts";
import { readErrorPacket } from "../wire/sql-error.ts";
import type { Session } from "../wire/session.ts";

const COM_QUERY = 0x03;
const ERR = 0xff;
const EOF = 0xfe;
const EOF_LENGTH_MAX = 9;
/** ER_QUERY_INTERRUPTED: what KILL says to a statement at work, before it closes the connection. */
const INTERRUPTED = 1317;

/**
 * Reads results that are larger than memory: rows are handed on as they come, and the server stops sending when the reader says so. Takes the session over, with the
 * transaction that is open in it; from then on it can only be asked for rows.
 */
export class RowStream {
  readonly #connection: Connection;
  #onRow: (packet: Buffer) => void = () => {};
  #end: ((error: ReplicationError | undefined) => void) | undefined;
  #state: "idle" | "start" | "columns" | "rows" = "idle";
  #closedBecause: ReplicationError | undefined;

  constructor(session: Session) {
    this.#connection = session.release();
    this.#connection.onPacket = (bytes, start, end) => this.#receive(bytes.subarray(start, end));
    this.#connection.onClosed = (error) => {
      this.#closedBecause = error;
      this.#finish(error);
    };
  }

  /** `onRow` gets each row's packet (text protocol). One query at a time. */
  query(sql: string, onRow: (packet: Buffer) => void): Promise<void> {
    assert(this.#state === "idle", "one query after the other");
    if (this.#closedBecause !== undefined) return Promise.reject(this.#closedBecause);
    return new Promise((resolve, reject) => {
      this.#state = "start";
      this.#onRow = onRow;
      this.#end = (error) => (error === undefined ? resolve() : reject(error));
      this.#connection.send([Buffer.of(COM_QUERY), Buffer.from(sql)]);
    });
  }

  pause(): void {
    this.#connection.pause();
  }

  resume(): void {
    this.#connection.resume();
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  destroy(): void {
    this.#connection.destroy();
  }

  #receive(payload: Buffer): void {
    if (payload[0] === ERR) {
      const error = readErrorPacket(payload, this.#connection.server);
      this.#finish(
        error.sqlCode === INTERRUPTED
          ? new ReplicationError("CONNECTION_LOST", error.message, { where: error.where, cause: error })
          : error,
      );
      return;
    }
    const isEof = payload[0] === EOF && payload.length < EOF_LENGTH_MAX;
    switch (this.#state) {
      case "start":
        this.#state = "columns";
        return;
      case "columns":
        if (isEof) this.#state = "rows";
        return;
      case "rows":
        if (isEof) this.#finish(undefined);
        else this.#onRow(payload);
        return;
      case "idle":
        this.#connection.destroy(
          new ReplicationError("CONNECTION_LOST", `${this.#connection.server} sent an answer that nobody asked for`),
        );
    }
  }

  #finish(error: ReplicationError | undefined): void {
    const end = this.#end;
    this.#state = "idle";
    this.#end = undefined;
    end?.(error);
  }
}
