import { ReplicationError } from "../../base/error.ts";
import { EVENT_TYPE } from "../../binlog/event-type.ts";
import { eventType } from "../../binlog/event.ts";
import { decodeExecuteLoadQuery } from "../../binlog/events/load-data.ts";
import { decodeQuery } from "../../binlog/events/query.ts";
import { ROWS_FLAG, rowsFlags } from "../../binlog/events/rows.ts";
import type { BinlogFormat } from "../../binlog/format.ts";
import type { EventFact } from "../../binlog/grammar.ts";
import type { Transaction } from "../../transaction/transaction.ts";
import type { BinlogInput, Fault } from "../input/input.ts";
import {
  describeFault,
  describeHead,
  describeIncomplete,
  type RowsOptions,
  type RowsOutcome,
  type Write,
  writeAll,
} from "./print-rows.ts";
import { ReverseSpool, type SpillFile } from "./reverse-spool.ts";
import { RowStatements } from "./row-statements.ts";
import { sqlComment, SqlText } from "./sql-text.ts";
import { OpenTables } from "./tables.ts";
import { readTransactions, type TransactionHead, type TransactionSink } from "./transaction-reader.ts";

const FLUSH_BYTES = 256 << 10;
const SETTINGS = `SET NAMES utf8mb4;
SET SESSION time_zone='+00:00', sql_mode='NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES';
`;
const COMMIT = Buffer.from("COMMIT;\n");

/**
 * The statements that take back every row change of the range, the last first, to `write`. What cannot be taken back (DDL, statements, rows of which the log has too little) is there as
 * a comment in its place. All of the range is read before the first statement comes: memory is bounded by `openSpill`, which gives room on disk when much has to wait. A failure
 * before that writes nothing; one behind it ends the text with a comment that says so, and takes back what the text has begun of a transaction.
 * @throws ReplicationError DISK_FULL, OUTPUT, and what `check` throws
 */
export async function printUndo(
  inputs: readonly BinlogInput[],
  options: RowsOptions,
  write: Write,
  openSpill: () => SpillFile,
): Promise<RowsOutcome> {
  const spool = new ReverseSpool(openSpill);
  const collector = new UndoCollector(options, spool);
  const onFault = (fault: Fault): void => {
    collector.comment(describeFault(fault));
    options.onFault(fault);
  };
  const missing = await readTransactions(inputs, { ...options, onFault }, collector);
  collector.finish();
  await writeBackwards(spool, collector.areUnchecked, write, options.check ?? (() => {}));
  const { obstacles, unseen } = collector.tables;
  return { ...collector.counts, obstacles, unseen, missing };
}

/**
 * With foreign keys checked, a cascade that the log does not have (before MySQL 9.6) runs back as it ran. Where the source did not check them, there may be rows in between that have no
 * parent, and the way back leads over the same states: then nothing is checked.
 */
async function writeBackwards(
  spool: ReverseSpool,
  areUnchecked: boolean,
  write: Write,
  check: () => void,
): Promise<void> {
  const sql = new SqlText();
  let hasBegun = false;
  const flush = async (): Promise<void> => {
    check();
    hasBegun = true;
    await writeAll(sql, write);
  };
  check();
  if (spool.length > 0) sql.text(`${SETTINGS}SET SESSION foreign_key_checks=${areUnchecked ? 0 : 1};\n`);
  try {
    for (const bytes of spool.backwards()) {
      sql.bytes(bytes);
      if (sql.length >= FLUSH_BYTES) await flush();
    }
    if (sql.length > 0) await flush();
  } catch (error) {
    if (hasBegun && error instanceof ReplicationError && error.code !== "OUTPUT") {
      sql.truncate(0);
      sql.text(`ROLLBACK;\n${sqlComment(describeIncomplete(error))}`);
      await writeAll(sql, write);
    }
    throw error;
  }
}

/** Puts a transaction's end first and its begin last, and its rows in between as they come: read backwards it is whole again. */
class UndoCollector implements TransactionSink {
  readonly tables: OpenTables;
  readonly counts = { transactions: 0, rows: 0, statements: 0, asComments: 0 };
  /** The source changed some rows without checking foreign keys. */
  areUnchecked = false;
  readonly #spool: ReverseSpool;
  readonly #sql = new SqlText();
  readonly #rows = new RowStatements(this.#sql);
  #head: TransactionHead | undefined;
  /** Where the open transaction begins in the spool, and what it has counted. */
  #from = 0;
  #countsBefore = { rows: 0, asComments: 0 };
  #hasRows = false;
  #returnsToSavepoint = false;
  #xid: string | undefined;
  /** Prepared, not yet committed: places in the spool. */
  readonly #prepared = new Map<string, { from: number; to: number; head: string }>();

  constructor(options: RowsOptions, spool: ReverseSpool) {
    this.tables = new OpenTables(options);
    this.#spool = spool;
  }

  begin(head: TransactionHead): void {
    this.#head = head;
    this.#from = this.#spool.length;
    this.#countsBefore = { ...this.counts };
    this.#hasRows = false;
    this.#returnsToSavepoint = false;
    this.#xid = undefined;
  }

  opened(xid: string | undefined): void {
    this.#xid = xid;
  }

  tableMap(event: Buffer, format: BinlogFormat): void {
    this.tables.add(event, format);
  }

  rows(event: Buffer, format: BinlogFormat): void {
    const table = this.tables.of(event, format);
    if (table === undefined) return;
    const { map, plan } = table;
    if (!this.#hasRows) this.#spool.append(COMMIT);
    this.#hasRows = true;
    const { undo: obstacle } = plan.obstacles;
    if (obstacle !== undefined) this.tables.obstacles.set(plan.name, obstacle);
    this.areUnchecked ||= (rowsFlags(event, format) & ROWS_FLAG.NO_FOREIGN_KEY_CHECKS) !== 0;
    const rows = this.#rows;
    rows.open(event, map, format, plan);
    while (rows.next()) {
      this.#sql.truncate(0);
      if (obstacle === undefined && rows.writeBackward()) {
        this.counts.rows++;
        this.#spool.append(this.#sql.view());
      } else {
        rows.writeForward();
        const change = this.#sql.view().toString("utf8").slice(plan.commented.length).trimEnd();
        this.#cannot(obstacle?.reason ?? "its row images hold too little", change);
      }
    }
  }

  statement(event: Buffer, format: BinlogFormat, fact: EventFact): void {
    const type = eventType(event);
    if (type !== EVENT_TYPE.QUERY && type !== EVENT_TYPE.EXECUTE_LOAD_QUERY) return;
    const query = type === EVENT_TYPE.QUERY ? decodeQuery(event, format) : decodeExecuteLoadQuery(event, format);
    const text = query.sql.toString("utf8");
    if (fact === "statement" && query.kind === "query") this.tables.defines(text, query.schema);
    if (fact === "savepoint") {
      this.#returnsToSavepoint ||= /^\s*ROLLBACK/i.test(text);
    } else if (fact === "xa-commit" || fact === "xa-rollback") {
      this.#endPrepared(/^\s*XA\s+\w+\s+(.*?)[\s;]*$/is.exec(text)?.[1] ?? "", fact === "xa-commit", text);
    } else if (this.tables.wantsStatement(text)) {
      this.counts.statements++;
      this.#cannot("it is a statement", text);
    }
  }

  end(ending: Transaction["ending"]): void {
    if (this.#hasRows && (ending === "rollback" || this.#returnsToSavepoint)) {
      this.#forget();
      this.#hasRows = false;
      this.#cannot("a part of it was rolled back, and the log does not tell which", "the transaction");
    }
    if (this.#spool.length > this.#from) {
      const head = this.#head === undefined ? "" : describeHead(this.#head);
      this.counts.transactions++;
      this.#spool.append(Buffer.from(`${sqlComment(`back before ${head}`)}${this.#hasRows ? "BEGIN;\n" : ""}`));
      if (ending === "prepare" && this.#xid !== undefined) {
        this.#prepared.set(this.#xid, { from: this.#from, to: this.#spool.length, head });
        this.#spool.skip(this.#from);
      }
    }
    this.#head = undefined;
  }

  abandon(): void {
    this.#forget();
    this.#head = undefined;
  }

  restart(): void {
    this.tables.restart();
  }

  flush(): Promise<void> | undefined {
    return this.tables.refresh();
  }

  comment(text: string): void {
    this.#spool.append(Buffer.from(sqlComment(text)));
  }

  /** What is still prepared has changed nothing yet: whoever ends it decides. */
  finish(): void {
    for (const [xid, { head }] of this.#prepared) {
      this.comment(`prepared and not ended here, so not undone: XA ${xid}, ${head}`);
    }
  }

  #endPrepared(xid: string, commits: boolean, text: string): void {
    const prepared = this.#prepared.get(xid);
    this.#prepared.delete(xid);
    if (!commits) return;
    if (prepared === undefined) this.#cannot("it was prepared before the range", text);
    else this.#spool.repeat(prepared.from, prepared.to);
  }

  #cannot(why: string, what: string): void {
    this.counts.asComments++;
    this.comment(`cannot be undone, ${why}: ${what}`);
  }

  /** The open transaction, as far as it was read. */
  #forget(): void {
    this.#spool.truncate(this.#from);
    Object.assign(this.counts, this.#countsBefore);
  }
}
