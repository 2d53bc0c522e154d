/** Statements as sysbench counts them (src/drivers/mysql/drv_mysql.c): a result set is a read, changed rows are a write, all else (BEGIN, COMMIT, an UPDATE to what is there already) is other. */
export interface StatementCounts {
  reads: number;
  writes: number;
  others: number;
}

const OK = 0x00;
const EOF = 0xfe;
const ERR = 0xff;
const MORE_RESULTS_EXIST = 0x8;
/** An EOF packet is short; a row that starts with 0xfe (a value above 16 MiB) is not. */
const EOF_LENGTH_MAX = 9;

/**
 * Finds the end of the answer to one command and counts its statements, without looking at columns and rows (Protocol::COM_QUERY_Response, COM_STMT_PREPARE_Response,
 * Binary Protocol Resultset; without CLIENT_DEPRECATE_EOF and CLIENT_SESSION_TRACK).
 */
export class AnswerReader {
  /** Of a prepare. */
  statementId = 0;
  /** Undefined: this is the answer to a prepare. */
  readonly #counts: StatementCounts | undefined;
  /** EOF packets that must still come before this statement's answer is over. */
  #eofsLeft = 0;

  constructor(counts: StatementCounts | undefined) {
    this.#counts = counts;
  }

  /** @returns whether the answer is complete; `error` when this packet is the server's refusal */
  push(bytes: Buffer, start: number, end: number): "more" | "done" | "error" {
    const first = bytes[start];
    if (first === ERR) return "error";
    if (this.#eofsLeft > 0) return this.#within(bytes, start, end, first);
    if (first !== OK) {
      // A column count. Column definitions end with an EOF, and rows with another one.
      this.#eofsLeft = 2;
      return "more";
    }
    if (this.#counts === undefined) return this.#prepareOk(bytes, start);
    const { value: affectedRows, end: behind } = lengthEncoded(bytes, start + 1);
    if (affectedRows > 0) this.#counts.writes++;
    else this.#counts.others++;
    const { end: statusAt } = lengthEncoded(bytes, behind);
    return (bytes.readUInt16LE(statusAt) & MORE_RESULTS_EXIST) === 0 ? "done" : "more";
  }

  #within(bytes: Buffer, start: number, end: number, first: number | undefined): "more" | "done" {
    if (first !== EOF || end - start >= EOF_LENGTH_MAX) return "more";
    if (--this.#eofsLeft > 0) return "more";
    if (this.#counts === undefined) return "done";
    this.#counts.reads++;
    return (bytes.readUInt16LE(start + 3) & MORE_RESULTS_EXIST) === 0 ? "done" : "more";
  }

  /** Statement id, number of columns, number of parameters; definitions of each follow, if there are any, with an EOF behind them. */
  #prepareOk(bytes: Buffer, start: number): "more" | "done" {
    this.statementId = bytes.readUInt32LE(start + 1);
    const columns = bytes.readUInt16LE(start + 5);
    const parameters = bytes.readUInt16LE(start + 7);
    this.#eofsLeft = (columns > 0 ? 1 : 0) + (parameters > 0 ? 1 : 0);
    return this.#eofsLeft > 0 ? "more" : "done";
  }
}

/** Only whether the value is 0, and where it ends, are ever asked. */
function lengthEncoded(bytes: Buffer, at: number): { value: number; end: number } {
  const first = bytes[at] as number;
  if (first < 0xfb) return { value: first, end: at + 1 };
  return { value: 1, end: at + (first === 0xfc ? 3 : first === 0xfd ? 4 : 9) };
}
