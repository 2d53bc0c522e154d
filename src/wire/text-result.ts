import { unreachable } from "../base/assert.ts";
import { packetCount } from "./packet.ts";

/** What one statement gave. `columns` and `rows` are empty for statements that give no rows; `info` is the server's text (`Records: 3  Duplicates: 0 …`). */
export interface StatementResult<Value = string> {
  /** Matched (not only changed) rows. */
  affectedRows: number;
  insertId: bigint;
  warnings: number;
  info: string;
  columns: string[];
  rows: (Value | null)[][];
}

/** One result per statement of the query, in order. */
export type ExecuteResult<Value = string> = StatementResult<Value>[];

/**
 * `more`: packets are missing; `file`: the server waits for the file of a LOAD DATA LOCAL; `done`, `error`: the answer is complete; `broken`: this packet cannot
 * stand here.
 */
export type Outcome = "more" | "file" | "done" | "error" | "broken";

const OK = 0x00;
const EOF = 0xfe;
const ERR = 0xff;
const NULL_VALUE = 0xfb;
/** The first byte of a LOCAL INFILE request, where a column count would be. */
const LOCAL_INFILE = 0xfb;
const SERVER_MORE_RESULTS_EXISTS = 0x8;
/** An EOF packet is short; a row that starts with 0xfe (a value above 16 MiB) is not. */
const EOF_LENGTH_MAX = 9;

/**
 * Reads the answer to one COM_QUERY: for each statement an OK packet, or column count, column definitions, EOF, rows, EOF; ended by the first status
 * without SERVER_MORE_RESULTS_EXISTS or by an ERR packet. (Protocol::COM_QUERY_Response, without CLIENT_DEPRECATE_EOF and CLIENT_SESSION_TRACK.)
 */
export class TextResultReader {
  readonly results: StatementResult<string | Buffer>[] = [];
  readonly #binary: boolean;
  #state: "start" | "columns" | "columns-end" | "rows" = "start";
  #columnsLeft = 0;
  #current: StatementResult<string | Buffer> = emptyResult();
  #sequenceId: number;
  #at = 0;

  /** The answer's packets are numbered on from those of the query, which was of `queryPackets` packets. */
  constructor(binary: boolean, queryPackets: number) {
    this.#binary = binary;
    this.#sequenceId = queryPackets & 0xff;
  }

  /** Number of the next packet, ours or the server's. */
  get sequenceId(): number {
    return this.#sequenceId;
  }

  /** So many packets of a file were sent. */
  skip(packets: number): void {
    this.#sequenceId = (this.#sequenceId + packets) & 0xff;
  }

  push(payload: Buffer, sequenceId: number): Outcome {
    // A payload of several packets carries the last one's id.
    const expected = (this.#sequenceId + packetCount(payload.length) - 1) & 0xff;
    // A server that ends the session in the middle sends its ERR with whatever id it had (MySQL 8.0.24, ER_CLIENT_INTERACTION_TIMEOUT: 0).
    if (payload[0] === ERR) return "error";
    if (sequenceId !== expected || payload.length === 0) return "broken";
    this.#sequenceId = (sequenceId + 1) & 0xff;
    switch (this.#state) {
      case "start":
        if (payload[0] === OK) return this.#ok(payload);
        if (payload[0] === LOCAL_INFILE) return "file";
        this.#at = 0;
        this.#columnsLeft = this.#length(payload);
        if (this.#columnsLeft <= 0) return "broken";
        this.#state = "columns";
        return "more";
      case "columns":
        this.#current.columns.push(this.#columnName(payload));
        if (--this.#columnsLeft === 0) this.#state = "columns-end";
        return "more";
      case "columns-end":
        if (payload[0] !== EOF) return "broken";
        this.#state = "rows";
        return "more";
      case "rows":
        if (payload[0] === EOF && payload.length < EOF_LENGTH_MAX) {
          this.#current.warnings = payload.readUInt16LE(1);
          return this.#finish(payload.readUInt16LE(3));
        }
        this.#current.rows.push(this.#row(payload));
        return "more";
      default:
        return unreachable(this.#state);
    }
  }

  #ok(payload: Buffer): Outcome {
    this.#at = 1;
    this.#current.affectedRows = this.#length(payload);
    this.#current.insertId = this.#bigLength(payload);
    const status = payload.readUInt16LE(this.#at);
    this.#current.warnings = payload.readUInt16LE(this.#at + 2);
    this.#at += 4;
    if (this.#at < payload.length) {
      const length = this.#length(payload);
      this.#current.info = payload.toString("utf8", this.#at, this.#at + length);
    }
    return this.#finish(status);
  }

  #finish(status: number): Outcome {
    this.results.push(this.#current);
    if ((status & SERVER_MORE_RESULTS_EXISTS) === 0) return "done";
    this.#current = emptyResult();
    this.#state = "start";
    return "more";
  }

  /** Protocol::ColumnDefinition41: catalog, schema, table, org_table, then the name. */
  #columnName(payload: Buffer): string {
    this.#at = 0;
    for (let skipped = 0; skipped < 4; skipped++) {
      const length = this.#length(payload);
      this.#at += length;
    }
    const length = this.#length(payload);
    return payload.toString("utf8", this.#at, this.#at + length);
  }

  #row(payload: Buffer): (string | Buffer | null)[] {
    const width = this.#current.columns.length;
    const row: (string | Buffer | null)[] = [];
    this.#at = 0;
    for (let column = 0; column < width; column++) {
      if (payload[this.#at] === NULL_VALUE) {
        this.#at++;
        row.push(null);
        continue;
      }
      const length = this.#length(payload);
      const end = this.#at + length;
      row.push(this.#binary ? payload.subarray(this.#at, end) : payload.toString("utf8", this.#at, end));
      this.#at = end;
    }
    return row;
  }

  /** A length-encoded integer below 2^53; larger ones lose their last bits. */
  #length(payload: Buffer): number {
    const first = payload[this.#at++] as number;
    if (first < NULL_VALUE) return first;
    switch (first) {
      case 0xfc:
        this.#at += 2;
        return payload.readUInt16LE(this.#at - 2);
      case 0xfd:
        this.#at += 3;
        return payload.readUIntLE(this.#at - 3, 3);
      default:
        this.#at += 8;
        return Number(payload.readBigUInt64LE(this.#at - 8));
    }
  }

  #bigLength(payload: Buffer): bigint {
    if (payload[this.#at] !== 0xfe) return BigInt(this.#length(payload));
    this.#at += 9;
    return payload.readBigUInt64LE(this.#at - 8);
  }
}

function emptyResult(): StatementResult<string | Buffer> {
  return { affectedRows: 0, insertId: 0n, warnings: 0, info: "", columns: [], rows: [] };
}
