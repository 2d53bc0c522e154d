import { assert } from "../base/assert.ts";
import { EVENT_HEADER_LENGTH, eventType } from "../binlog/event.ts";
import { EVENT_TYPE } from "../binlog/event-type.ts";
import type { BinlogFormat } from "../binlog/format.ts";

/**
 * Row injection: the source's own row events go to the target in `BINLOG '…'` statements, and the server applies them with its replication code, so every
 * type is exact and no SQL is built per row. The server accepts FORMAT_DESCRIPTION, Table_map and rows events there, nothing else
 * (sql/rpl_binlog_sender… `mysql_client_binlog_statement`, sql/sql_binlog.cc of MySQL 8.0 and MariaDB 10.11).
 */
const ROWS_FLAGS_OFFSET = EVENT_HEADER_LENGTH + 6;
const ROWS_V1_POST_HEADER_END = EVENT_HEADER_LENGTH + 8;
const STATEMENT_END_FLAG = 0x1;
const V1_TO_V2 = EVENT_TYPE.WRITE_ROWS - EVENT_TYPE.WRITE_ROWS_V1;
/** Length field of the extra data that version 2 has after the flags: it counts itself. */
const NO_EXTRA_DATA = Buffer.of(2, 0);

const PREFIX = Buffer.from("BINLOG '");
const SUFFIX = Buffer.from("'");

/**
 * Collects row events and gives them out as BINLOG statements of bounded size. A statement of the source that is cut between two BINLOG statements gets
 * its table maps repeated and its statement end marked: the server closes the tables at the end of each BINLOG, and would
 * otherwise not know the tables of the rest.
 */
export class BinlogStatementBuilder {
  readonly #bytesMax: number;
  readonly #toVersion2: boolean;
  #buffer: Buffer;
  #length = 0;
  /** Table maps of the source's statement at hand, and where in the buffer those lie that no rows event has followed yet. */
  #tableMaps: Buffer[] = [];
  #danglingMapsAt: number | undefined;
  #statementOpen = false;
  #lastRowsAt: number | undefined;

  constructor(source: BinlogFormat["flavour"], target: BinlogFormat["flavour"], bytesMax: number) {
    this.#bytesMax = bytesMax;
    this.#toVersion2 = source === "mariadb" && target === "mysql";
    this.#buffer = Buffer.allocUnsafe(Math.min(bytesMax, 64 * 1024));
  }

  /** Takes a Table_map or rows event without checksum. @returns the statement that had to end before it. */
  add(event: Buffer): Buffer[] | undefined {
    if (eventType(event) === EVENT_TYPE.TABLE_MAP) {
      if (!this.#statementOpen) this.#tableMaps = [];
      this.#statementOpen = true;
      this.#danglingMapsAt ??= this.#length;
      this.#tableMaps.push(event);
      this.#append(event);
      return undefined;
    }
    assert(this.#tableMaps.length > 0, "rows events follow their table map");
    let statement: Buffer[] | undefined;
    if (this.#length + event.length + NO_EXTRA_DATA.length > this.#bytesMax && this.#lastRowsAt !== undefined) {
      statement = this.#cut(this.#danglingMapsAt ?? this.#length);
      for (const tableMap of this.#tableMaps) this.#append(tableMap);
    }
    this.#danglingMapsAt = undefined;
    this.#lastRowsAt = this.#length;
    this.#appendRows(event);
    this.#statementOpen = (event.readUInt16LE(ROWS_FLAGS_OFFSET) & STATEMENT_END_FLAG) === 0;
    return statement;
  }

  /** The last statement; undefined when there is nothing left to apply. The builder can be used again. */
  finish(): Buffer[] | undefined {
    const statement = this.#lastRowsAt === undefined ? undefined : this.#cut(this.#danglingMapsAt ?? this.#length);
    this.#length = 0;
    this.#tableMaps = [];
    this.#danglingMapsAt = undefined;
    this.#statementOpen = false;
    return statement;
  }

  #cut(length: number): Buffer[] {
    assert(this.#lastRowsAt !== undefined, "a BINLOG statement holds at least one rows event");
    const flagsAt = this.#lastRowsAt + ROWS_FLAGS_OFFSET;
    this.#buffer.writeUInt16LE(this.#buffer.readUInt16LE(flagsAt) | STATEMENT_END_FLAG, flagsAt);
    const text = base64(this.#buffer, length);
    this.#length = 0;
    this.#lastRowsAt = undefined;
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
    const type = eventType(event);
    const isVersion1 = type >= EVENT_TYPE.WRITE_ROWS_V1 && type <= EVENT_TYPE.DELETE_ROWS_V1;
    if (!isVersion1 || !this.#toVersion2) return this.#append(event);
    const start = this.#length;
    this.#append(event.subarray(0, ROWS_V1_POST_HEADER_END));
    this.#append(NO_EXTRA_DATA);
    this.#append(event.subarray(ROWS_V1_POST_HEADER_END));
    this.#buffer[start + 4] = type + V1_TO_V2;
    this.#buffer.writeUInt32LE(event.length + NO_EXTRA_DATA.length, start + 9);
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#length + bytes, 2 * this.#buffer.length));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
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
