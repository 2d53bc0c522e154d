import { assert } from "../base/assert.ts";
import { ReplicationError } from "../base/error.ts";
import { describeAddress, type ServerAddress } from "../base/server-url.ts";
import { Connection } from "./connection.ts";
import { login, type LoginOptions } from "./login.ts";
import { packetCount } from "./packet.ts";
import type { ServerVersion } from "./server-version.ts";
import { readErrorPacket } from "./sql-error.ts";
import { type ExecuteResult, type Outcome, type StatementResult, TextResultReader } from "./text-result.ts";

export type { ExecuteResult } from "./text-result.ts";

interface Pending {
  reader: TextResultReader;
  /** What the server gets when it asks for the file of a LOAD DATA LOCAL. */
  file?: readonly Buffer[];
  resolve: (results: ExecuteResult<never>) => void;
  reject: (error: ReplicationError) => void;
}

const COM_QUERY = Buffer.of(0x03);

/**
 * One session on a server, text protocol. Calls may overlap: each is written at once and the answers, which come in order, go to the calls in order; so the
 * queue of pending calls always mirrors what the server still owes us. An answer that cannot belong to the first of them ends the session, for every later
 * answer would go to the wrong call.
 */
export class Session {
  readonly connectionId: number;
  readonly serverVersion: ServerVersion;
  /** `user@host:port`. */
  readonly server: string;
  /** Called once when the session is over, whoever ended it. STOPPED: we did. */
  onClosed: (error: ReplicationError) => void = () => {};
  readonly #connection: Connection;
  readonly #pending: Pending[] = [];
  #closedBecause: ReplicationError | undefined;

  /** @throws ReplicationError CONNECT, ACCESS_DENIED, CONFIG */
  static async connect(address: ServerAddress, options: LoginOptions = {}): Promise<Session> {
    return new Session(new Connection(await login(address, options), describeAddress(address)));
  }

  private constructor(connection: Connection) {
    this.#connection = connection;
    this.connectionId = connection.connectionId;
    this.serverVersion = connection.serverVersion;
    this.server = connection.server;
    connection.onPacket = (bytes, start, end, sequenceId) => this.#receive(bytes.subarray(start, end), sequenceId);
    connection.onClosed = (error) => this.#ended(error);
  }

  get closed(): boolean {
    return this.#closedBecause !== undefined;
  }

  /** How many calls wait for their answer. */
  get pending(): number {
    return this.#pending.length;
  }

  /**
   * Runs a query, perhaps of several statements. Buffers are sent as they are, and several are sent one after the other without being joined.
   * A BINLOG statement must be the last of its query: the server ends the answer there.
   * @throws SqlError (a ReplicationError with sqlCode and sqlState) APPLY, APPLY_TEMPORARY (deadlock, lock wait), ACCESS_DENIED; results of statements
   *   before the failed one are dropped, those after it did not run
   * @throws ReplicationError CONNECTION_LOST, STOPPED
   */
  execute(sql: string | Buffer | readonly Buffer[], options?: { binary?: false }): Promise<ExecuteResult>;
  execute(sql: string | Buffer | readonly Buffer[], options: { binary: true }): Promise<ExecuteResult<Buffer>>;
  execute(
    sql: string | Buffer | readonly Buffer[],
    options: { binary?: boolean } = {},
  ): Promise<ExecuteResult<string | Buffer>> {
    if (this.#closedBecause !== undefined) return Promise.reject(this.#closedBecause);
    assert(this.#pending.at(-1)?.file === undefined, "what comes after a LOAD DATA LOCAL would be read as its file");
    const text = typeof sql === "string" ? [Buffer.from(sql)] : Buffer.isBuffer(sql) ? [sql] : sql;
    return this.#send(text, options.binary ?? false);
  }

  /** The calls that `work` makes leave in one piece. */
  together(work: () => void): void {
    this.#connection.together(work);
  }

  /**
   * Runs a LOAD DATA LOCAL INFILE statement; whatever file it names, the server gets `file`. No call may be made before it is answered, and the session must have
   * been opened with `localFiles`. Errors as `execute`; a server that allows no LOCAL answers with 1148 or 3948.
   */
  executeWithFile(sql: Buffer, file: readonly Buffer[]): Promise<ExecuteResult> {
    if (this.#closedBecause !== undefined) return Promise.reject(this.#closedBecause);
    return this.#send([sql], false, file) as Promise<ExecuteResult>;
  }

  #send(text: readonly Buffer[], binary: boolean, file?: readonly Buffer[]): Promise<ExecuteResult<string | Buffer>> {
    return new Promise((resolve, reject) => {
      const payload = [COM_QUERY, ...text];
      let bytes = 0;
      for (const part of payload) bytes += part.length;
      const reader = new TextResultReader(binary, packetCount(bytes));
      this.#pending.push({ reader, resolve, reject, ...(file === undefined ? {} : { file }) });
      this.#connection.send(payload);
    });
  }

  /** The rows of one statement as objects by column name; values are the server's text. Errors as `execute`. */
  async query(sql: string): Promise<Record<string, string | null>[]> {
    const results = await this.execute(sql);
    const { columns, rows } = results[results.length - 1] as StatementResult;
    return rows.map((row) => Object.fromEntries(columns.map((column, index) => [column, row[index] ?? null])));
  }

  /** The first value of the first row, for `SELECT @@x`; undefined when there is no row. Errors as `execute`. */
  async queryValue(sql: string): Promise<string | null | undefined> {
    const results = await this.execute(sql);
    return results[results.length - 1]?.rows[0]?.[0];
  }

  /** Ends gracefully once all pending calls are answered. Never rejects. */
  async close(): Promise<void> {
    while (this.#pending.length > 0) {
      await new Promise<void>((resolve) => {
        const last = this.#pending[this.#pending.length - 1] as Pending;
        const { resolve: answered, reject: failed } = last;
        last.resolve = (results) => (answered(results), resolve());
        last.reject = (error) => (failed(error), resolve());
      });
    }
    await this.#connection.close();
  }

  /** Ends at once; pending calls reject with STOPPED. The server rolls back what is open. */
  destroy(): void {
    this.#connection.destroy();
  }

  /** Hands the connection over to a use that is not question and answer (the binlog stream). The session is over without its `onClosed` being called. */
  release(): Connection {
    this.#closedBecause = new ReplicationError("STOPPED", `the session on ${this.server} became a stream`);
    this.#connection.onPacket = () => {};
    this.#connection.onClosed = () => {};
    return this.#connection;
  }

  #receive(payload: Buffer, sequenceId: number): void {
    const first = this.#pending[0];
    if (first === undefined) {
      // A server that gives up on an idle session says why before it closes (MySQL 8.0.24 and later, MariaDB's KILL).
      this.#connection.destroy(
        payload[0] === 0xff
          ? new ReplicationError("CONNECTION_LOST", readErrorPacket(payload, this.server).message)
          : new ReplicationError("CONNECTION_LOST", `${this.server} sent an answer that nobody asked for`),
      );
      return;
    }
    const outcome = this.#read(first, payload, sequenceId);
    if (outcome === "more") return;
    if (outcome === "file" && first.file !== undefined) {
      this.#sendFile(first.reader, first.file);
      return;
    }
    if (outcome === "broken" || outcome === "file") {
      this.#connection.destroy(new ReplicationError("CONNECTION_LOST", `${this.server} sent packets out of order`));
      return;
    }
    this.#pending.shift();
    if (outcome === "done") first.resolve(first.reader.results as ExecuteResult<never>);
    else first.reject(readErrorPacket(payload, this.server));
  }

  /** Blocks as packets, and an empty one as the end (Protocol::LOCAL_INFILE_Data). */
  #sendFile(reader: TextResultReader, file: readonly Buffer[]): void {
    for (const block of [...file.filter((some) => some.length > 0), Buffer.alloc(0)]) {
      this.#connection.send([block], reader.sequenceId);
      reader.skip(packetCount(block.length));
    }
  }

  #read(first: Pending, payload: Buffer, sequenceId: number): Outcome {
    try {
      return first.reader.push(payload, sequenceId);
    } catch (error) {
      // A packet shorter than what it must hold.
      if (error instanceof RangeError) return "broken";
      throw error;
    }
  }

  #ended(error: ReplicationError): void {
    this.#closedBecause = error;
    for (const { reject } of this.#pending.splice(0)) reject(error);
    this.onClosed(error);
  }
}
