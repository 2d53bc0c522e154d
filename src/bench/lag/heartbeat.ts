import type { ServerAddress } from "../../base/server-url.ts";
import { Session } from "../../wire/session.ts";

/** As pt-heartbeat makes it (Percona Toolkit 3): other tools that read such a table read ours. */
const TABLE =
  "CREATE TABLE heartbeat (ts varchar(26) NOT NULL, server_id int unsigned NOT NULL PRIMARY KEY, file varchar(255) DEFAULT NULL, " +
  "position bigint unsigned DEFAULT NULL, relay_master_log_file varchar(255) DEFAULT NULL, exec_master_log_pos bigint unsigned DEFAULT NULL) ENGINE=InnoDB";
const SERVER_ID = 1;

export const HEARTBEAT_MS = 100;

/** The statements that make the table in the default schema. */
export function heartbeatPreparation(nowMs: number): string[] {
  return [TABLE, `INSERT INTO heartbeat (ts, server_id) VALUES ('${timestamp(nowMs)}', ${SERVER_ID})`];
}

/** When the heartbeat that a server has was written, by the clock of whoever wrote it. */
export async function readHeartbeatMs(session: Session, schema: string): Promise<number> {
  const ts = await session.queryValue(`SELECT ts FROM \`${schema}\`.heartbeat WHERE server_id=${SERVER_ID}`);
  return Date.parse(`${(ts ?? "").slice(0, 23)}Z`);
}

/** `2026-11-30T18:16:39.123000`: UTC, to the microsecond as pt-heartbeat writes it. */
const timestamp = (ms: number): string => `${new Date(ms).toISOString().slice(0, -1)}000`;

/**
 * Writes the time into a row of the source, every 100 ms. A server that does not answer in that time gets no second beat before it has: then the row is older, and that is what its age
 * is to say. The time is ours, and so is that of whoever reads it: clocks of servers play no part.
 */
export class Heartbeat {
  readonly #session: Session;
  readonly #schema: string;
  readonly #timer: NodeJS.Timeout;
  #beating: Promise<void> | undefined;
  #failure: unknown;

  static async start(address: ServerAddress, schema: string): Promise<Heartbeat> {
    return new Heartbeat(await Session.connect(address), schema);
  }

  private constructor(session: Session, schema: string) {
    this.#session = session;
    this.#schema = schema;
    this.#timer = setInterval(() => this.#tick(), HEARTBEAT_MS);
  }

  /** @returns the time of the last beat: once a replica has it, it has everything before it */
  async stop(): Promise<number> {
    clearInterval(this.#timer);
    try {
      await this.#beating;
      if (this.#failure !== undefined) throw this.#failure;
      return await this.#beat();
    } finally {
      await this.#session.close();
    }
  }

  #tick(): void {
    this.#beating ??= this.#beatOrFail().finally(() => {
      this.#beating = undefined;
    });
  }

  async #beatOrFail(): Promise<void> {
    try {
      await this.#beat();
    } catch (error) {
      this.#failure = error;
    }
  }

  async #beat(): Promise<number> {
    const nowMs = Date.now();
    await this.#session.execute(
      `UPDATE \`${this.#schema}\`.heartbeat SET ts='${timestamp(nowMs)}' WHERE server_id=${SERVER_ID}`,
    );
    return nowMs;
  }
}
