import { ReplicationError } from "../base/error.ts";
import { EVENT_TYPE } from "../binlog/event-type.ts";
import { eventType } from "../binlog/event.ts";
import { decodeQuery } from "../binlog/events/query.ts";
import { countRows, isRowsType, rowsTableId } from "../binlog/events/rows.ts";
import { type TableMapEvent, TableMaps } from "../binlog/events/table-map.ts";
import type { BinlogFormat } from "../binlog/format.ts";
import type { SchedulerTransaction } from "../schedule/scheduler-types.ts";
import { describeId, type Transaction } from "../transaction/transaction.ts";
import type { SimulatedTransaction, TableRows } from "./simulated-transaction.ts";

interface CountedRows {
  rows: TableRows[];
  leftOutRows: number;
  leftOutBytes: number;
}

type Operation = "inserts" | "updates" | "deletes";

/** Makes of the transactions of a log, in order, what the simulator needs to know of them. */
export class FromLog {
  readonly #without: ReadonlySet<string>;
  #maps = new TableMaps();
  #format: BinlogFormat | undefined;

  /** `withoutTables`: `schema.table` each. Their rows are left out, and their bytes. */
  constructor(withoutTables: readonly string[] = []) {
    this.#without = new Set(withoutTables);
  }

  of(transaction: Transaction, scheduler: SchedulerTransaction): SimulatedTransaction {
    const { rows, leftOutRows, leftOutBytes } = this.#rowsOf(transaction);
    const executionUs = executionUsOf(transaction);
    const { id, end, committedAtUs } = transaction;
    return {
      scheduler:
        leftOutBytes === 0
          ? scheduler
          : {
              ...scheduler,
              rows: Math.max(0, scheduler.rows - leftOutRows),
              bytes: Math.max(0, scheduler.bytes - leftOutBytes),
            },
      committedAtUs,
      name: id.kind === "anonymous" ? `${end.file}:${end.position}` : describeId(id),
      rows,
      ...(executionUs === undefined ? {} : { executionUs }),
    };
  }

  #rowsOf(transaction: Transaction): CountedRows {
    const { body, format, rows, tables } = transaction;
    if (rows === 0) return { rows: [], leftOutRows: 0, leftOutBytes: 0 };
    if (!("events" in body)) return this.#evenly([...tables], rows, transaction.eventBytes);
    if (this.#format !== format) {
      this.#format = format;
      this.#maps = new TableMaps();
    }
    const found = new Map<string, TableRows>();
    for (const event of body.events) this.#count(event, format, found);
    const left = [...found.values()].filter(({ table }) => this.#without.has(table));
    return {
      rows: left.length === 0 ? [...found.values()] : [...found.values()].filter((table) => !left.includes(table)),
      leftOutRows: left.reduce((sum, { inserts, updates, deletes }) => sum + inserts + updates + deletes, 0),
      leftOutBytes: left.reduce((sum, { bytes }) => sum + bytes, 0),
    };
  }

  /** Of a transaction that is too large to be held only the tables are known. */
  #evenly(tables: string[], rows: number, bytes: number): CountedRows {
    const kept = tables.filter((table) => !this.#without.has(table));
    const part = 1 / Math.max(1, tables.length);
    const left = (tables.length - kept.length) * part;
    return {
      rows: kept.map((table) => ({ table, inserts: 0, updates: rows * part, deletes: 0, bytes: bytes * part })),
      leftOutRows: rows * left,
      leftOutBytes: bytes * left,
    };
  }

  #count(event: Buffer, format: BinlogFormat, found: Map<string, TableRows>): void {
    const type = eventType(event);
    if (type === EVENT_TYPE.TABLE_MAP) {
      const map = this.#maps.add(event, format);
      rowsOfTable(found, map).bytes += event.length;
      return;
    }
    const map = isRowsType(type) ? this.#maps.get(rowsTableId(event, format)) : undefined;
    if (map === undefined) return;
    const table = rowsOfTable(found, map);
    table.bytes += event.length;
    table[operationOf(type)] += rowsIn(event, map, format);
  }
}

function rowsOfTable(found: Map<string, TableRows>, { schema, table }: TableMapEvent): TableRows {
  const name = `${schema}.${table}`;
  let rows = found.get(name);
  if (rows === undefined) {
    rows = { table: name, inserts: 0, updates: 0, deletes: 0, bytes: 0 };
    found.set(name, rows);
  }
  return rows;
}

/** Lengths of MariaDB's old temporal types are not in the log: then what is surely there is counted. */
function rowsIn(event: Buffer, map: TableMapEvent, format: BinlogFormat): number {
  try {
    return countRows(event, map, format);
  } catch (error) {
    if (error instanceof ReplicationError) return 1;
    throw error;
  }
}

function operationOf(type: number): Operation {
  switch (type) {
    case EVENT_TYPE.WRITE_ROWS:
    case EVENT_TYPE.WRITE_ROWS_V1:
      return "inserts";
    case EVENT_TYPE.DELETE_ROWS:
    case EVENT_TYPE.DELETE_ROWS_V1:
      return "deletes";
    default:
      return "updates";
  }
}

/** Whole seconds are all that a statement's event tells; 0 says nothing. */
function executionUsOf({ kind, body, format }: Transaction): number | undefined {
  if ((kind !== "ddl" && kind !== "mixed") || !("events" in body)) return undefined;
  let seconds = 0;
  for (const event of body.events) {
    if (eventType(event) === EVENT_TYPE.QUERY) seconds += decodeQuery(event, format).executionSeconds;
  }
  return seconds === 0 ? undefined : seconds * 1e6;
}
