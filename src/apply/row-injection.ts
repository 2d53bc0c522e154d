import { assert } from "../base/assert.ts";
import { EVENT_HEADER_LENGTH, eventType } from "../binlog/event.ts";
import { EVENT_TYPE } from "../binlog/event-type.ts";
import type { BinlogFormat } from "../binlog/format.ts";

/**
 * Row injection: the source's own row events go to the target in `BINLOG '…'` statements, and the server applies them with its replication code, so every
 * type is exact and no SQL is built per row. The server accepts FORMAT_DESCRIPTION, Table_map and rows events there, nothing else
 * (sql/rpl_binlog_sender… `mysql_client_binlog_statement`, sql/sql_binlog.cc of MySQL 8.0 and MariaDB 10.11).
 */
const TABLE_ID_OFFSET = EVENT_HEADER_LENGTH;
/** Of Table_map and of rows events alike. */
const FLAGS_OFFSET = TABLE_ID_OFFSET + 6;
const POST_HEADER_END = FLAGS_OFFSET + 2;
const STATEMENT_END_FLAG = 0x1;
/** Said of each event by itself; all other flags are taken from the first rows event of a statement (no foreign key checks, relaxed unique checks, …). */
const FLAGS_OF_ONE_EVENT = STATEMENT_END_FLAG | 0x8;
/** In a Table_map of MariaDB: the source's triggers have done their work. The server believes it of the first rows event's table only. */
const TABLE_HAS_TRIGGERS_FLAG = 0x4000;
const V1_TO_V2 = EVENT_TYPE.WRITE_ROWS - EVENT_TYPE.WRITE_ROWS_V1;
/** Length field of the extra data that version 2 has after the flags: it counts itself. */
const NO_EXTRA_DATA = Buffer.of(2, 0);
/** The server opens all tables of a statement at once. */
const STATEMENT_TABLES_MAX = 64;

const PREFIX = Buffer.from("BINLOG '");
const SUFFIX = Buffer.from("'");

/** Never changed. */
const NO_MAPS: Buffer[] = [];

/** What a server takes from the first rows event of a statement for all of it. */
interface StatementHead {
  flags: number;
  action: "write" | "update" | "delete";
  timestamp: number;
}

export interface BinlogStatementOptions {
  source: BinlogFormat["flavour"];
  target: BinlogFormat["flavour"];
  /** Of events, before base64. */
  bytesMax: number;
}

/**
 * Collects row events and gives them out as BINLOG statements of bounded size. Inside one, the server knows statements too: the table maps up to the first rows
 * event name the tables that it then opens and locks, and the rows event with STMT_END_F closes them. A statement of the source that is cut between two BINLOGs gets
 * its table maps repeated and its statement end marked: the server closes the tables at the end of each BINLOG, and would otherwise not know the
 * tables of the rest.
 *
 * Opening and closing costs a server as much as a few rows do, so with `mergeStatements` consecutive statements of the source become one as long as the server
 * treats their rows as it would apart. Invariant: all table maps of a statement lie before its first rows event, or their tables would not be open and
 * the server would skip their rows without a word.
 */
export class BinlogStatementBuilder {
  /** Only for rows that one transaction of the target holds and can roll back. May change whenever the builder is empty. */
  mergeStatements = false;
  readonly #bytesMax: number;
  readonly #toVersion2: boolean;
  readonly #target: BinlogFormat["flavour"];
  #buffer: Buffer;
  #length = 0;
  /** The source's statement at hand: its table maps, and how many of them, the last ones, no rows event has followed yet. */
  #sourceMaps: Buffer[] = NO_MAPS;
  #mapsWaiting = 0;
  #sourceOpen = false;
  /** The statement that is being built: its tables by id, and where its table maps end; undefined between statements. */
  #head: StatementHead | undefined;
  readonly #tables = new Map<number, Buffer>();
  #tablesHaveTriggers = false;
  #mapsEnd = 0;
  #lastRowsAt = 0;

  constructor({ source, target, bytesMax }: BinlogStatementOptions) {
    this.#bytesMax = bytesMax;
    this.#toVersion2 = source === "mariadb" && target === "mysql";
    this.#target = target;
    this.#buffer = Buffer.allocUnsafe(Math.min(bytesMax, 64 * 1024));
  }

  /** Takes a Table_map or rows event without checksum. @returns the statement that had to end before it. */
  add(event: Buffer): Buffer[] | undefined {
    if (eventType(event) === EVENT_TYPE.TABLE_MAP) {
      if (this.#sourceOpen) this.#sourceMaps.push(event);
      else {
        this.#sourceMaps = [event];
        this.#mapsWaiting = 0;
      }
      this.#sourceOpen = true;
      this.#mapsWaiting++;
      return undefined;
    }
    assert(this.#sourceMaps.length > 0, "rows events follow their table map");
    const continues = this.#mapsWaiting < this.#sourceMaps.length;
    const newMaps = this.#newMaps();
    const joins = this.#head !== undefined && (continues || this.#canMerge(event, newMaps));
    let bytes = event.length + NO_EXTRA_DATA.length;
    for (const map of joins ? newMaps : this.#sourceMaps) bytes += map.length;
    const full = this.#length > 0 && this.#length + bytes > this.#bytesMax ? this.#cut() : undefined;
    if (!joins || full !== undefined) this.#begin(event);
    else if (newMaps.length > 0) this.#insertMaps(newMaps);
    this.#mapsWaiting = 0;
    this.#lastRowsAt = this.#length;
    this.#appendRows(event);
    this.#sourceOpen = (event.readUInt16LE(FLAGS_OFFSET) & STATEMENT_END_FLAG) === 0;
    if (!this.#sourceOpen) this.#sourceMaps = NO_MAPS;
    return full;
  }

  /** The last statement; undefined when there is nothing left to apply. The builder can be used again. */
  finish(): Buffer[] | undefined {
    const statement = this.#length === 0 ? undefined : this.#cut();
    this.#sourceMaps = NO_MAPS;
    this.#mapsWaiting = 0;
    this.#sourceOpen = false;
    return statement;
  }

  /** Those of the waiting table maps that the statement being built has not. */
  #newMaps(): readonly Buffer[] {
    let maps: readonly Buffer[] = NO_MAPS;
    for (let at = this.#sourceMaps.length - this.#mapsWaiting; at < this.#sourceMaps.length; at++) {
      const map = this.#sourceMaps[at] as Buffer;
      if (!sameMap(this.#tables.get(tableId(map)), map)) maps = [...maps, map];
    }
    return maps;
  }

  /** Whether the server does with the rows of a statement that begins with `event` the same in the statement being built as by themselves. */
  #canMerge(event: Buffer, newMaps: readonly Buffer[]): boolean {
    const open = this.#head;
    if (!this.mergeStatements || open === undefined) return false;
    const next = headOf(event);
    if (next.flags !== open.flags) return false;
    // Which tables a foreign key or a trigger will touch is looked up once, for the first event; a write prepares for all (`get_trg_event_map`).
    if (next.action !== open.action && open.action !== "write") return false;
    if (this.#target === "mariadb") {
      // NOW() of defaults and of row versions; MySQL sets it for each event.
      if (next.timestamp !== open.timestamp) return false;
      if (this.#tablesHaveTriggers || newMaps.some(hasTriggers)) return false;
    }
    if (newMaps.length === 0) return true;
    if (this.#tables.size + newMaps.length > STATEMENT_TABLES_MAX) return false;
    for (const known of this.#tables.values()) {
      if (newMaps.some((map) => tableId(map) === tableId(known) || sameName(map, known))) return false;
    }
    return true;
  }

  #begin(event: Buffer): void {
    this.#endStatement();
    this.#head = headOf(event);
    this.#mapsEnd = this.#length;
    this.#insertMaps(this.#sourceMaps);
  }

  /** Behind the table maps that are there, before the rows. */
  #insertMaps(maps: readonly Buffer[]): void {
    for (const map of maps) {
      // MySQL 9.7 maps a table of a cascade more than once.
      if (sameMap(this.#tables.get(tableId(map)), map)) continue;
      this.#reserve(map.length);
      if (this.#mapsEnd < this.#length) {
        this.#buffer.copyWithin(this.#mapsEnd + map.length, this.#mapsEnd, this.#length);
      }
      map.copy(this.#buffer, this.#mapsEnd);
      this.#mapsEnd += map.length;
      this.#length += map.length;
      this.#tables.set(tableId(map), map);
      this.#tablesHaveTriggers ||= hasTriggers(map);
    }
  }

  #endStatement(): void {
    if (this.#head === undefined) return;
    const flagsAt = this.#lastRowsAt + FLAGS_OFFSET;
    this.#buffer.writeUInt16LE(this.#buffer.readUInt16LE(flagsAt) | STATEMENT_END_FLAG, flagsAt);
    this.#head = undefined;
    this.#tables.clear();
    this.#tablesHaveTriggers = false;
  }

  #cut(): Buffer[] {
    this.#endStatement();
    const text = base64(this.#buffer, this.#length);
    this.#length = 0;
    // One large row is no reason to keep its memory.
    if (this.#buffer.length > 2 * this.#bytesMax) this.#buffer = Buffer.allocUnsafe(this.#bytesMax);
    return [PREFIX, text, SUFFIX];
  }

  #append(event: Buffer): void {
    this.#reserve(event.length);
    event.copy(this.#buffer, this.#length);
    this.#length += event.length;
  }

  #appendRows(event: Buffer): void {
    const start = this.#length;
    const type = eventType(event);
    if (this.#toVersion2 && isVersion1(type)) {
      this.#append(event.subarray(0, POST_HEADER_END));
      this.#append(NO_EXTRA_DATA);
      this.#append(event.subarray(POST_HEADER_END));
      this.#buffer[start + 4] = type + V1_TO_V2;
      this.#buffer.writeUInt32LE(event.length + NO_EXTRA_DATA.length, start + 9);
    } else this.#append(event);
    // Its low byte; whoever ends the statement sets it again.
    this.#buffer[start + FLAGS_OFFSET] = (event[FLAGS_OFFSET] as number) & ~STATEMENT_END_FLAG;
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#length + bytes, 2 * this.#buffer.length));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}

const isVersion1 = (type: number): boolean => type >= EVENT_TYPE.WRITE_ROWS_V1 && type <= EVENT_TYPE.DELETE_ROWS_V1;

const tableId = (map: Buffer): number =>
  map.readUInt32LE(TABLE_ID_OFFSET) + 2 ** 32 * map.readUInt16LE(TABLE_ID_OFFSET + 4);

const hasTriggers = (map: Buffer): boolean => (map.readUInt16LE(FLAGS_OFFSET) & TABLE_HAS_TRIGGERS_FLAG) !== 0;

/** Schema and table lie there one after the other, each as length, name, zero byte. */
function nameEnd(map: Buffer): number {
  const tableAt = POST_HEADER_END + 1 + (map[POST_HEADER_END] ?? 0) + 1;
  return tableAt + 1 + (map[tableAt] ?? 0);
}

function sameName(one: Buffer, other: Buffer): boolean {
  const end = nameEnd(one);
  return end === nameEnd(other) && one.compare(other, POST_HEADER_END, end, POST_HEADER_END, end) === 0;
}

/** All but the header is the same: id, flags, names, columns, and what metadata the source gives. */
const sameMap = (known: Buffer | undefined, map: Buffer): boolean =>
  known?.length === map.length &&
  map.compare(known, EVENT_HEADER_LENGTH, known.length, EVENT_HEADER_LENGTH, map.length) === 0;

function headOf(event: Buffer): StatementHead {
  return {
    flags: event.readUInt16LE(FLAGS_OFFSET) & ~FLAGS_OF_ONE_EVENT,
    action: actionOf(eventType(event)),
    timestamp: event.readUInt32LE(0),
  };
}

function actionOf(type: number): StatementHead["action"] {
  switch (type) {
    case EVENT_TYPE.WRITE_ROWS:
    case EVENT_TYPE.WRITE_ROWS_V1:
      return "write";
    case EVENT_TYPE.DELETE_ROWS:
    case EVENT_TYPE.DELETE_ROWS_V1:
      return "delete";
    default:
      return "update";
  }
}

/** A multiple of 3. Strings of this size live and die in the young generation: several times faster than one string, and half the memory for a large row. */
const BASE64_SLICE_BYTES = 36 * 1024;

function base64(bytes: Buffer, length: number): Buffer {
  const text = Buffer.allocUnsafe(4 * Math.ceil(length / 3));
  let at = 0;
  for (let from = 0; from < length; from += BASE64_SLICE_BYTES) {
    at += text.write(bytes.toString("base64", from, Math.min(from + BASE64_SLICE_BYTES, length)), at, "latin1");
  }
  return text;
}

/** What MySQL 5.7 says of types 1–38: enough for any MySQL since 5.6 to read version 2 events that came from MariaDB. */
const MYSQL_POST_HEADER_LENGTHS = Buffer.from([
  56, 13, 0, 8, 0, 18, 0, 4, 4, 4, 4, 18, 0, 0, 95, 0, 4, 26, 8, 0, 0, 0, 8, 8, 8, 2, 0, 0, 0, 10, 10, 10, 42, 42, 0,
  18, 52, 0,
]);
const SERVER_VERSION_LENGTH = 50;
const CHECKSUM_OFF_TAIL = Buffer.alloc(5);

/**
 * The FORMAT_DESCRIPTION statement that must come before the first rows of a session and whenever the source's format changes. It says that events carry no
 * checksum. For events from MariaDB on a MySQL target it is one of MySQL's own.
 */
export function formatStatement(source: BinlogFormat, target: BinlogFormat["flavour"]): string {
  const foreign = source.flavour === "mariadb" && target === "mysql";
  const lengths = foreign ? MYSQL_POST_HEADER_LENGTHS : source.postHeaderLengths.subarray(1);
  const body = Buffer.alloc(2 + SERVER_VERSION_LENGTH + 4 + 1);
  body.writeUInt16LE(4, 0);
  body.write(foreign ? "5.7.44" : source.serverVersion, 2, SERVER_VERSION_LENGTH - 1, "latin1");
  body[body.length - 1] = EVENT_HEADER_LENGTH;
  const header = Buffer.alloc(EVENT_HEADER_LENGTH);
  const event = Buffer.concat([header, body, lengths, CHECKSUM_OFF_TAIL]);
  event[4] = EVENT_TYPE.FORMAT_DESCRIPTION;
  event.writeUInt32LE(1, 5);
  event.writeUInt32LE(event.length, 9);
  return `BINLOG '${event.toString("base64")}'`;
}
