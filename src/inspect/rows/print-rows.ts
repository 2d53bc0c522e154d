import { ReplicationError } from "../../base/error.ts";
import { EVENT_TYPE } from "../../binlog/event-type.ts";
import { eventType } from "../../binlog/event.ts";
import { decodeExecuteLoadQuery } from "../../binlog/events/load-data.ts";
import { decodeQuery } from "../../binlog/events/query.ts";
import type { BinlogFormat } from "../../binlog/format.ts";
import type { EventFact } from "../../binlog/grammar.ts";
import { describeId, type Transaction } from "../../transaction/transaction.ts";
import type { BinlogInput, Fault } from "../input/input.ts";
import type { Bound } from "../input/range.ts";
import { RowStatements } from "./row-statements.ts";
import { SessionText } from "./session-text.ts";
import { sqlComment, SqlText } from "./sql-text.ts";
import type { Obstacle } from "./obstacle.ts";
import { OpenTables, type TablesOptions } from "./tables.ts";
import {
  type ReadOptions,
  readTransactions,
  type TransactionHead,
  type TransactionSink,
} from "./transaction-reader.ts";

export interface RowsOptions extends ReadOptions, TablesOptions {
  /** Asked when all was read, and before `printUndo` writes: throws when it was not all of the range, or when somebody has ended the work. */
  check?: () => void;
}

export interface RowsOutcome {
  /** With something to show. */
  transactions: number;
  rows: number;
  statements: number;
  /** Changes that no statement does, or takes back: the text has them as comments. */
  asComments: number;
  /** By quoted name: tables of which that is so for all changes, and why. */
  obstacles: ReadonlyMap<string, Obstacle>;
  /** Of the tables that were asked for, those of which nothing came. */
  unseen: string[];
  /** A bound of the range that names something which never came. */
  missing: Bound | undefined;
}

/** Takes text in pieces, in order. The bytes are there until it returns, or until the promise that it returns is kept; then they are written over. */
export type Write = (bytes: Buffer) => Promise<void> | undefined;

const FLUSH_BYTES = 256 << 10;

/**
 * Every row and statement of the log as SQL that does it again, transaction by transaction, to `write`. What could not be read, and what ended the reading, is a comment in its place.
 */
export async function printRows(
  inputs: readonly BinlogInput[],
  options: RowsOptions,
  write: Write,
): Promise<RowsOutcome> {
  const printer = new RowsPrinter(options, write);
  const onFault = (fault: Fault): void => {
    printer.comment(describeFault(fault));
    options.onFault(fault);
  };
  let missing: Bound | undefined;
  try {
    missing = await readTransactions(inputs, { ...options, onFault }, printer);
    options.check?.();
  } catch (error) {
    if (error instanceof ReplicationError && error.code !== "OUTPUT") {
      printer.comment(describeIncomplete(error));
      await printer.write();
    }
    throw error;
  }
  await printer.write();
  const { obstacles, unseen } = printer.tables;
  return { ...printer.counts, obstacles, unseen, missing };
}

export const describeFault = ({ file, offset, reason }: Fault): string =>
  `what stands here cannot be read, and is missing in this text: ${file}:${offset}: ${reason}`;

export const describeIncomplete = (error: ReplicationError): string => `this text is incomplete: ${error.message}`;

/** Gives all of the text away, and empties it once it is taken. */
export function writeAll(sql: SqlText, write: Write): Promise<void> | undefined {
  const waits = write(sql.view());
  if (waits !== undefined) return waits.then(() => sql.truncate(0));
  sql.truncate(0);
  return undefined;
}

let latestSecond = Number.NaN;
let latestSecondText = "";

/** `3e11…:23  2026-11-30 03:12:07.123456  binlog.000003:1234`, what stands over a transaction. */
export function describeHead({ id, start, committedAtUs }: TransactionHead): string {
  const second = Math.floor(committedAtUs / 1_000_000);
  if (second !== latestSecond) {
    latestSecond = second;
    latestSecondText = new Date(second * 1000).toISOString().slice(0, 19).replace("T", " ");
  }
  const micros = committedAtUs % 1_000_000;
  const fraction = micros === 0 ? "" : `.${String(1_000_000 + micros).slice(1)}`;
  const name = id.kind === "anonymous" ? "" : `${describeId(id)}  `;
  return `${name}${latestSecondText}${fraction}  ${start.file}:${start.position}`;
}

class RowsPrinter implements TransactionSink {
  readonly tables: OpenTables;
  readonly counts = { transactions: 0, rows: 0, statements: 0, asComments: 0 };
  readonly #sql = new SqlText();
  readonly #session = new SessionText(this.#sql);
  readonly #rows = new RowStatements(this.#sql);
  readonly #write: Write;
  /** The transaction that is read; nothing of it is written before it has something to show. */
  #head: TransactionHead | undefined;
  #opener: string | undefined;
  /** What begins and ends the open transaction is written. */
  #isOpen = false;
  #xid: string | undefined;

  constructor(options: RowsOptions, write: Write) {
    this.tables = new OpenTables(options);
    this.#write = write;
  }

  begin(head: TransactionHead): void {
    this.#head = head;
    this.#opener = undefined;
    this.#isOpen = false;
    this.#xid = undefined;
  }

  opened(xid: string | undefined): void {
    this.#xid = xid;
    this.#opener = xid === undefined ? "BEGIN;\n" : `XA START ${xid};\n`;
  }

  tableMap(event: Buffer, format: BinlogFormat): void {
    this.tables.add(event, format);
  }

  rows(event: Buffer, format: BinlogFormat): void {
    const table = this.tables.of(event, format);
    if (table === undefined) return;
    const { map, plan } = table;
    this.#showHead();
    this.#session.forRows(event, format);
    this.#open();
    const obstacle = plan.obstacles.repeat;
    if (obstacle !== undefined) this.#tellObstacle(plan.name, obstacle);
    const rows = this.#rows;
    rows.open(event, map, format, plan);
    while (rows.next()) {
      rows.writeForward();
      this.counts.rows++;
      if (obstacle !== undefined) this.counts.asComments++;
    }
  }

  statement(event: Buffer, format: BinlogFormat, fact: EventFact): void {
    const type = eventType(event);
    if (this.#session.takeContext(event, format)) return;
    if (type === EVENT_TYPE.EXECUTE_LOAD_QUERY) {
      this.#loadData(event, format);
      return;
    }
    if (type !== EVENT_TYPE.QUERY) return;
    const query = decodeQuery(event, format);
    const text = query.sql.toString("latin1");
    if (fact === "statement") this.tables.defines(query.sql.toString("utf8"), query.schema);
    if (fact !== "savepoint" && !this.tables.wantsStatement(text)) return;
    if (fact === "savepoint" && !this.#isOpen && this.#head !== undefined) return;
    this.#showHead();
    // It commits what is open, and its rows follow as a transaction: that is how CREATE TABLE … SELECT is logged.
    const creates = STARTS_TRANSACTION.exec(text);
    if (creates !== null) {
      this.#session.statement(withoutEnd(event, format, creates[0].length), format);
      this.counts.statements++;
      return;
    }
    this.#open();
    this.#session.statement(event, format);
    if (fact !== "savepoint") this.counts.statements++;
  }

  end(ending: Transaction["ending"]): void {
    if (this.#isOpen) {
      const xid = this.#xid;
      if (ending === "prepare") this.#sql.ascii(`XA END ${xid};\nXA PREPARE ${xid};\n`);
      else if (xid !== undefined) this.#sql.ascii(`XA END ${xid};\nXA COMMIT ${xid} ONE PHASE;\n`);
      else this.#sql.ascii(ending === "rollback" ? "ROLLBACK;\n" : "COMMIT;\n");
    }
    this.#head = undefined;
    this.#isOpen = false;
  }

  abandon(): void {
    if (this.#isOpen) {
      this.#sql.ascii("-- the log breaks off in this transaction\n");
      this.#sql.ascii(this.#xid === undefined ? "ROLLBACK;\n" : `XA END ${this.#xid};\nXA ROLLBACK ${this.#xid};\n`);
    }
    this.#head = undefined;
    this.#isOpen = false;
  }

  restart(): void {
    this.tables.restart();
  }

  flush(idle: boolean): Promise<void> | undefined {
    const refreshes = this.tables.refresh();
    if (refreshes !== undefined) return refreshes;
    return this.#sql.length < (idle ? 1 : FLUSH_BYTES) ? undefined : this.write();
  }

  write(): Promise<void> | undefined {
    return this.#sql.length === 0 ? undefined : writeAll(this.#sql, this.#write);
  }

  comment(text: string): void {
    this.#sql.text(sqlComment(text));
  }

  #showHead(): void {
    if (this.#head === undefined) return;
    this.#sql.text(sqlComment(describeHead(this.#head)));
    this.#head = undefined;
    this.counts.transactions++;
  }

  #open(): void {
    if (this.#isOpen || this.#opener === undefined) return;
    this.#isOpen = true;
    this.#sql.text(this.#opener);
  }

  #tellObstacle(name: string, obstacle: Obstacle): void {
    if (this.tables.obstacles.has(name)) return;
    this.tables.obstacles.set(name, obstacle);
    this.comment(`changes of ${name} are only comments; ${obstacle.reason}`);
  }

  #loadData(event: Buffer, format: BinlogFormat): void {
    const text = decodeExecuteLoadQuery(event, format).sql.toString("utf8");
    if (!this.tables.wantsStatement(text)) return;
    this.#showHead();
    this.counts.statements++;
    this.counts.asComments++;
    this.comment(`its file is in the log and is not shown:\n${text}`);
  }
}

const STARTS_TRANSACTION = /\s+START\s+TRANSACTION\s*$/i;

/** A QUERY event without the last bytes of its text. */
function withoutEnd(event: Buffer, format: BinlogFormat, bytes: number): Buffer {
  const checksumBytes = format.checksum === "crc32" ? 4 : 0;
  return Buffer.concat([
    event.subarray(0, event.length - checksumBytes - bytes),
    event.subarray(event.length - checksumBytes),
  ]);
}
