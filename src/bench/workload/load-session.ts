import { assert } from "../../base/assert.ts";
import type { ReplicationError } from "../../base/error.ts";
import { describeAddress, type ServerAddress } from "../../base/server-url.ts";
import { Connection } from "../../wire/connection.ts";
import { login } from "../../wire/login.ts";
import { readErrorPacket, SqlError } from "../../wire/sql-error.ts";
import { AnswerReader, type StatementCounts } from "./answer-reader.ts";
import { executePayload, PREPARE, QUERY } from "./client-commands.ts";
import { type Statement, statementText } from "./statement.ts";

interface Prepared {
  id: number;
  /** The types of the values travel with the first execution only. */
  isExecuted: boolean;
}

interface Waiting {
  reader: AnswerReader;
  resolve: (reader: AnswerReader) => void;
  reject: (error: ReplicationError) => void;
}

/** A server that cannot prepare a statement (BEGIN) says so with this. */
const UNSUPPORTED_PREPARED = 1295;

/**
 * One client of a load: one command at a time, of which the answer is counted and not kept, so that the load takes little of the processor that it shares with the server. A second
 * command before the answer to the first would be taken for part of it.
 */
export class LoadSession {
  readonly #connection: Connection;
  #counts: StatementCounts = { reads: 0, writes: 0, others: 0 };
  readonly #prepared = new Map<string, Prepared | "text">();
  #waiting: Waiting | undefined;
  #closedBecause: ReplicationError | undefined;

  /** Errors as `login`. */
  static async connect(address: ServerAddress): Promise<LoadSession> {
    return new LoadSession(new Connection(await login(address, { changedRows: true }), describeAddress(address)));
  }

  private constructor(connection: Connection) {
    this.#connection = connection;
    connection.onPacket = (bytes, start, end) => this.#receive(bytes, start, end);
    connection.onClosed = (error) => {
      this.#closedBecause = error;
      this.#waiting?.reject(error);
      this.#waiting = undefined;
    };
  }

  /** From now on every answered statement is added to `counts`, which many sessions may share. */
  countIn(counts: StatementCounts): void {
    this.#counts = counts;
  }

  /**
   * Runs text, perhaps of several statements.
   * @throws SqlError as Session.execute; ReplicationError CONNECTION_LOST, STOPPED
   */
  async query(sql: string): Promise<void> {
    await this.#ask([QUERY, Buffer.from(sql)], this.#counts);
  }

  /** Runs one statement, prepared when it is one to prepare and the server can. Errors as `query`. */
  async run(statement: Statement): Promise<void> {
    if (typeof statement === "string") return this.query(statement);
    const known = this.#prepared.get(statement.sql) ?? (await this.#prepare(statement.sql));
    if (known === "text") return this.query(statementText(statement));
    await this.#ask([executePayload(known.id, statement.values, !known.isExecuted)], this.#counts);
    known.isExecuted = true;
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  async #prepare(sql: string): Promise<Prepared | "text"> {
    const made = await this.#ask([PREPARE, Buffer.from(sql)], undefined).then(
      ({ statementId }): Prepared => ({ id: statementId, isExecuted: false }),
      (error: unknown) => {
        if (error instanceof SqlError && error.sqlCode === UNSUPPORTED_PREPARED) return "text" as const;
        throw error;
      },
    );
    this.#prepared.set(sql, made);
    return made;
  }

  /** `counts`: undefined when the answer is that to a prepare. */
  #ask(payload: readonly Buffer[], counts: StatementCounts | undefined): Promise<AnswerReader> {
    assert(this.#waiting === undefined, "a session of a load has one command at a time");
    if (this.#closedBecause !== undefined) return Promise.reject(this.#closedBecause);
    return new Promise((resolve, reject) => {
      this.#waiting = { reader: new AnswerReader(counts), resolve, reject };
      this.#connection.send(payload);
    });
  }

  #receive(bytes: Buffer, start: number, end: number): void {
    const waiting = this.#waiting;
    if (waiting === undefined) {
      this.#connection.destroy(readErrorPacket(bytes.subarray(start, end), this.#connection.server));
      return;
    }
    const outcome = waiting.reader.push(bytes, start, end);
    if (outcome === "more") return;
    this.#waiting = undefined;
    if (outcome === "done") waiting.resolve(waiting.reader);
    else waiting.reject(readErrorPacket(bytes.subarray(start, end), this.#connection.server));
  }
}
