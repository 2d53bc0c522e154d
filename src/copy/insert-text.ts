import { ReplicationError } from "../base/error.ts";
import type { Column, Table } from "../schema/catalog.ts";
import { quoteName, quoteTable } from "../schema/names.ts";
import { exactDecimals, withExactDecimals } from "./exact-json.ts";

/**
 * How a column travels. Both sessions speak `SET NAMES binary`: the source gives the stored bytes, and a plain literal stores them as they are.
 * - `bare`: a number, printed exactly. ENUM and SET travel as numbers too, so members that look like one or another's prefix cannot be confused.
 * - `quoted`: times, and FLOAT and DOUBLE with all 17 digits (a string, or -0 would become 0).
 * - `bytes`: escaped.
 * - `text`: escaped, and said to be ASCII: UUID and INET6 would take a binary literal for their inner form.
 * - `json`: escaped, and said to be utf8mb4, the only one that JSON takes.
 */
interface CopiedColumn {
  name: string;
  select: string;
  kind: "bare" | "quoted" | "bytes" | "text" | "json";
}

const BARE = new Set(["tinyint", "smallint", "mediumint", "int", "bigint", "integer", "decimal", "numeric"]);
const BARE_IN_DISGUISE = new Set(["bit", "year", "enum", "set"]);
const QUOTED = new Set(["date", "time", "datetime", "timestamp"]);
const TEXT = new Set(["uuid", "inet4", "inet6"]);

function copiedColumn(column: Column, targetIsMysql: boolean): CopiedColumn {
  const select = quoteName(column.name);
  const { name, dataType } = column;
  if (BARE.has(dataType)) return { name, select, kind: "bare" };
  if (BARE_IN_DISGUISE.has(dataType)) return { name, select: `CAST(${select} AS UNSIGNED)`, kind: "bare" };
  if (dataType === "float" || dataType === "double") return { name, select: `${select}*1e0`, kind: "quoted" };
  if (QUOTED.has(dataType)) return { name, select, kind: "quoted" };
  if (TEXT.has(dataType)) return { name, select, kind: "text" };
  if (dataType === "json" && targetIsMysql) return { name, select, kind: "json" };
  return { name, select, kind: "bytes" };
}

/** What is read of a table, and what the statements that write it begin with. Generated columns are left to the target. */
export interface InsertPlan {
  select: string;
  prefix: Buffer;
  kinds: readonly CopiedColumn["kind"][];
}

export function insertPlan(table: Table, targetIsMysql: boolean): InsertPlan {
  const columns = table.columns
    .filter((column) => column.generated === "no")
    .map((column) => copiedColumn(column, targetIsMysql));
  const primary = table.keys.find((key) => key.name === "PRIMARY" && !key.hidden);
  const order = primary?.columns.map((column) => quoteName(column.name ?? "")).join(",");
  const names = columns.map((column) => quoteName(column.name)).join(",");
  return {
    // A table of generated columns only still has rows.
    select:
      `SELECT ${columns.length === 0 ? "1" : columns.map((column) => column.select).join(",")} FROM ${quoteTable(table)}` +
      (order === undefined ? "" : ` FORCE INDEX (PRIMARY) ORDER BY ${order}`),
    prefix: Buffer.from(`INSERT INTO ${quoteTable(table)} (${names}) VALUES `),
    kinds: columns.map((column) => column.kind),
  };
}

const NULL = Buffer.from("NULL");
const QUOTE = 0x27;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;

/**
 * Rows on their way to the target: text of one INSERT, built from the packets in which the source sends rows without an object per row. Escaped are only the quote
 * and the backslash: the session has no multi-byte character set in which they could be part of a character, and no NO_BACKSLASH_ESCAPES.
 */
export class InsertText {
  readonly #plan: InsertPlan;
  #buffer: Buffer;
  #length = 0;
  #rows = 0;

  constructor(plan: InsertPlan, bytes: number) {
    this.#plan = plan;
    this.#buffer = Buffer.allocUnsafe(bytes);
  }

  get rows(): number {
    return this.#rows;
  }

  get bytes(): number {
    return this.#length;
  }

  /** `packet`: a text protocol row. */
  addRow(packet: Buffer): void {
    this.#reserve(packet.length + 64);
    if (this.#rows === 0) this.#put(this.#plan.prefix);
    else this.#byte(COMMA);
    this.#rows++;
    this.#byte(0x28);
    const { kinds } = this.#plan;
    let at = 0;
    for (let index = 0; index < kinds.length; index++) {
      if (index > 0) this.#byte(COMMA);
      const first = packet[at++] as number;
      if (first === 0xfb) {
        this.#put(NULL);
        continue;
      }
      let length = first;
      if (first === 0xfc) {
        length = packet.readUInt16LE(at);
        at += 2;
      } else if (first === 0xfd) {
        length = packet.readUIntLE(at, 3);
        at += 3;
      } else if (first === 0xfe) {
        length = Number(packet.readBigUInt64LE(at));
        at += 8;
      }
      this.#value(kinds[index] as CopiedColumn["kind"], packet, at, at + length);
      at += length;
    }
    this.#byte(0x29);
  }

  /** The statement; the text is then empty again. */
  take(): Buffer {
    const text = this.#buffer.subarray(0, this.#length);
    this.#buffer = Buffer.allocUnsafe(Math.min(this.#buffer.length, 8 * 1024 * 1024));
    this.#length = 0;
    this.#rows = 0;
    return text;
  }

  #value(kind: CopiedColumn["kind"], packet: Buffer, from: number, to: number): void {
    switch (kind) {
      case "bare":
        this.#copy(packet, from, to);
        return;
      case "quoted":
      case "bytes":
        this.#quoted(packet, from, to);
        return;
      case "text":
        this.#ascii("_ascii");
        this.#quoted(packet, from, to);
        return;
      case "json":
        this.#json(packet, from, to);
    }
  }

  #json(packet: Buffer, from: number, to: number): void {
    const decimals = exactDecimals(packet.toString("utf8", from, to));
    if (decimals.length === 0) {
      this.#ascii("_utf8mb4");
      this.#quoted(packet, from, to);
      return;
    }
    const [before, after] = withExactDecimals("\0", decimals).split("\0") as [string, string];
    this.#ascii(`${before}CAST(_utf8mb4`);
    this.#quoted(packet, from, to);
    this.#ascii(` AS JSON)${after}`);
  }

  #quoted(packet: Buffer, from: number, to: number): void {
    this.#byte(QUOTE);
    const value = packet.subarray(from, to);
    let start = 0;
    let quote = value.indexOf(QUOTE);
    let backslash = value.indexOf(BACKSLASH);
    while (quote >= 0 || backslash >= 0) {
      const next = quote < 0 || (backslash >= 0 && backslash < quote) ? backslash : quote;
      this.#copy(value, start, next);
      this.#byte(BACKSLASH);
      this.#byte(value[next] as number);
      start = next + 1;
      if (next === quote) quote = value.indexOf(QUOTE, start);
      else backslash = value.indexOf(BACKSLASH, start);
    }
    this.#copy(value, start, value.length);
    this.#byte(QUOTE);
  }

  #copy(packet: Buffer, from: number, to: number): void {
    this.#reserve(to - from);
    packet.copy(this.#buffer, this.#length, from, to);
    this.#length += to - from;
  }

  #put(bytes: Buffer): void {
    this.#copy(bytes, 0, bytes.length);
  }

  #ascii(text: string): void {
    this.#reserve(text.length);
    this.#length += this.#buffer.write(text, this.#length, "latin1");
  }

  #byte(byte: number): void {
    this.#reserve(1);
    this.#buffer[this.#length++] = byte;
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, Math.min(2 * this.#buffer.length, needed + 64 * 1024 * 1024)));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
  }
}

/** @throws ReplicationError CONFIG when a statement cannot be sent to this target */
export function checkStatementSize(bytes: number, bytesMax: number, table: string): void {
  if (bytes <= bytesMax) return;
  throw new ReplicationError(
    "CONFIG",
    `a row of ${table} needs a statement of ${bytes} bytes, the target takes ${bytesMax}`,
    {
      where: { table },
      hint: `SET GLOBAL max_allowed_packet=${Math.min(1024 ** 3, 1024 * Math.ceil((bytes + 1024) / 1024))} on the target, then start again`,
    },
  );
}
