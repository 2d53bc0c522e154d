import { ReplicationError } from "../base/error.ts";
import { CHECKSUM_LENGTH } from "../binlog/checksum.ts";
import { eventType } from "../binlog/event.ts";
import { COLUMN_TYPE } from "../binlog/columns/types.ts";
import { countRows, ROWS_FLAG, rowsFlags, rowsTableId } from "../binlog/events/rows.ts";
import { type TableMapEvent, TableMaps } from "../binlog/events/table-map.ts";
import type { BinlogFormat } from "../binlog/format.ts";
import { type EventList, EventListBuilder } from "./event-list.ts";
import type { SourcePosition } from "./transaction.ts";

/** False drops the table's row events and their table map, in the whole transaction: `at` is the transaction's start. */
export type TableFilter = (schema: string, table: string, at: SourcePosition) => boolean;

/** The servers' own limit of one event is max_allowed_packet (1 GiB) and its header. */
export const EVENT_BYTES_MAX = 1024 * 1024 * 1024 + 64 * 1024;

/** A row event with this table id changes nothing: it only ends a statement whose last events were filtered away (`sql/log_event.cc`, dummy_event). */
const DUMMY_TABLE_ID = 0xff_ff_ff;

interface NamedMap {
  map: TableMapEvent;
  /** `schema.table` */
  name: string;
}

/**
 * Collects the events of a transaction that the target is to see, cleaned: no checksum; of tables that the filter wants; a table map only when rows follow it.
 * Invariant: every statement's row events end in one with STMT_END_F, also when the filter took the last one away. Without it the target would
 * keep the statement's tables open and locked and refuse the next statement.
 */
export class BodyCollector {
  /** Bytes of all events given out or counted, unpacked. */
  eventBytes = 0;
  rows = 0;
  rowEvents = 0;
  tables = new Set<string>();
  schemas = new Set<string>();
  /** False: count only, hold nothing. */
  keep = true;
  readonly #events = new EventListBuilder();
  readonly #filter: TableFilter | undefined;
  readonly #maps = new TableMaps();
  #named = new Map<number, NamedMap>();
  /** Tables of the open statement that the filter does not want. */
  readonly #unwanted = new Set<number>();
  /** Table maps of the open statement that no rows have followed yet, raw. */
  #waitingMaps: { event: Buffer; format: BinlogFormat; named: NamedMap }[] = [];
  /** The open statement has row events among those held or given out before. */
  #statementOpen = false;

  constructor(filter: TableFilter | undefined) {
    this.#filter = filter;
  }

  /** Forgets the transaction, not the table maps' decoded forms. */
  reset(): void {
    this.#events.clear();
    this.eventBytes = 0;
    this.rows = 0;
    this.rowEvents = 0;
    this.tables = new Set();
    this.schemas = new Set();
    this.keep = true;
    this.#endStatement();
  }

  /** The server that wrote the maps has gone: its table ids mean nothing any more. */
  forgetMaps(): void {
    this.#maps.clear();
    this.#named.clear();
  }

  /** Takes the events that are ready. While a statement is open its last row event stays: it may yet have to end the statement. */
  take(): EventList {
    return this.#statementOpen && this.#filter !== undefined ? this.#events.takeAllButLast() : this.#events.take();
  }

  /** How many events are held. */
  get held(): number {
    return this.#events.length;
  }

  get heldBytes(): number {
    return this.#events.byteLength;
  }

  /** Drops what is held and holds nothing more: the transaction is too big. */
  stopKeeping(): void {
    this.keep = false;
    this.#events.clear();
  }

  tableMap(event: Buffer, format: BinlogFormat, at: SourcePosition): void {
    const map = this.#maps.add(event, format);
    if (this.#filter !== undefined && !this.#filter(map.schema, map.table, at)) {
      this.#unwanted.add(map.tableId);
      return;
    }
    let named = this.#named.get(map.tableId);
    if (named?.map !== map) {
      named = { map, name: `${map.schema}.${map.table}` };
      this.#named.set(map.tableId, named);
    }
    this.#unwanted.delete(map.tableId);
    if (this.#waitingMaps.length > 0) this.#waitingMaps.push({ event, format, named });
    else this.#waitingMaps = [{ event, format, named }];
  }

  rowsEvent(event: Buffer, format: BinlogFormat): void {
    const tableId = rowsTableId(event, format);
    const ends = (rowsFlags(event, format) & ROWS_FLAG.STATEMENT_END) !== 0;
    if (this.#unwanted.has(tableId) || tableId === DUMMY_TABLE_ID) {
      if (ends) this.#endStatementOf(format);
      return;
    }
    const map = this.#maps.get(tableId);
    if (map === undefined) {
      throw new ReplicationError("GRAMMAR", `row events of table id ${tableId} without a table map before them`);
    }
    for (const waiting of this.#waitingMaps) {
      // A map with its checksum goes before rows that were unpacked and have none.
      this.#hold(waiting.event, waiting.format);
      this.tables.add(waiting.named.name);
      this.schemas.add(waiting.named.map.schema);
    }
    if (this.#waitingMaps.length > 0) this.#waitingMaps = [];
    this.rows += hidesLengths(map, format) ? atLeastRows(event, map, format) : countRows(event, map, format);
    this.rowEvents++;
    this.#hold(event, format);
    this.#statementOpen = true;
    if (ends) this.#endStatement();
  }

  /** Any other event that is to be executed. */
  other(event: Buffer, format: BinlogFormat): void {
    this.#hold(event, format);
  }

  /** The open statement's last event is one that we drop: the one before it takes its flag. */
  #endStatementOf(format: BinlogFormat): void {
    const { last } = this.#events;
    if (this.#statementOpen && last !== undefined) {
      last.writeUInt16LE(rowsFlags(last, format) | ROWS_FLAG.STATEMENT_END, rowsFlagsOffset(last, format));
    }
    this.#endStatement();
  }

  #endStatement(): void {
    this.#statementOpen = false;
    if (this.#waitingMaps.length > 0) this.#waitingMaps = [];
    if (this.#unwanted.size > 0) this.#unwanted.clear();
  }

  #hold(event: Buffer, format: BinlogFormat): void {
    const checksumBytes = format.checksum === "crc32" ? CHECKSUM_LENGTH : 0;
    this.eventBytes += event.length - checksumBytes;
    if (this.keep) this.#events.append(event, checksumBytes);
  }
}

/**
 * MariaDB's old TIME, DATETIME and TIMESTAMP with a fraction (mysql56_temporal_format=OFF, or tables from before 10.1) have the type of those without, and no metadata: how
 * long a value is only the table's definition tells.
 */
function hidesLengths({ types }: TableMapEvent, { flavour }: BinlogFormat): boolean {
  return flavour === "mariadb" && OLD_TEMPORAL.some((type) => types.includes(type));
}

const OLD_TEMPORAL = [COLUMN_TYPE.TIMESTAMP, COLUMN_TYPE.TIME, COLUMN_TYPE.DATETIME];

function atLeastRows(event: Buffer, map: TableMapEvent, format: BinlogFormat): number {
  try {
    return countRows(event, map, format);
  } catch (error) {
    if (error instanceof ReplicationError && error.code === "CORRUPT_EVENT") return 1;
    throw error;
  }
}

/** Two bytes of flags follow the table id, which had 4 bytes before 5.1.4. */
function rowsFlagsOffset(event: Buffer, format: BinlogFormat): number {
  return format.headerLength + (format.postHeaderLengths[eventType(event)] === 6 ? 4 : 6);
}
