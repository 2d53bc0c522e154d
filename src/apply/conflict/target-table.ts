import { ReplicationError } from "../../base/error.ts";
import { decodeValue, NULL_TEXT, type Value } from "../../binlog/columns/value.ts";
import type { RowImage } from "../../binlog/events/row-walker.ts";
import type { TableMapEvent } from "../../binlog/events/table-map.ts";
import { type Column, type Key, type Table, walkingKey } from "../../schema/catalog.ts";
import { readTable } from "../../schema/key-catalog.ts";
import { describeTable, quoteName, quoteTable, quoteText } from "../../schema/names.ts";
import { valueFacts } from "../../schema/value-facts.ts";
import type { Session } from "../../wire/session.ts";
import type { ConflictKind } from "./conflicts.ts";
import { bytesOf, isNull, type SingleRow } from "./single-row.ts";

/** A key by which the target's rows that are meant, or are in the way, are found. `where`: as SQL. */
export interface RowAddress {
  /** The key's name; undefined: the table has none that names a row, and all columns are compared. */
  key: string | undefined;
  where: string;
  /** The key's values as the source has them: `id=5`. */
  text: string;
}

/**
 * Literals of times are in UTC, dates may be zero, and text comes and goes in UTF-8. The character sets stay so: after `WorkerSession.forgetSettings` nobody relies on them.
 */
export async function useLiterals(session: Session): Promise<void> {
  await session.execute("SET NAMES utf8mb4; SET SESSION time_zone='+00:00', sql_mode=''");
}

/** The statement that restores what `useLiterals` is about to change and row events could depend on. */
export async function settingsOf(session: Session): Promise<string> {
  const [row] = await session.query("SELECT @@SESSION.time_zone AS zone, @@SESSION.sql_mode AS mode");
  return `SET SESSION time_zone=${quoteText(row?.["zone"] ?? "SYSTEM")}, sql_mode=${quoteText(row?.["mode"] ?? "")}`;
}

/** A table as the target has it, and what rows of the source's log say of it. Columns are matched by position, as the server does it. */
export class TargetTable {
  readonly table: Table;
  readonly #session: Session;
  readonly #offset: number;

  /** @throws ReplicationError UNSUPPORTED when the table is not there or its columns are not those of the log */
  static async read(session: Session, map: TableMapEvent): Promise<TargetTable> {
    const table = await readTable(session, map.schema, map.table, session.serverVersion.flavour);
    // A key that the target made for itself (sql_generate_invisible_primary_key) is its first column, and the source has no such column.
    const first = table?.columns[0];
    const offset =
      first?.name === "my_row_id" && first.invisible && map.columnCount < (table?.columns.length ?? 0) ? 1 : 0;
    if (table === undefined || map.columnCount + offset > table.columns.length) {
      throw new ReplicationError(
        "UNSUPPORTED",
        `the target has no table ${map.schema}.${map.table} with these columns`,
      );
    }
    return new TargetTable(session, table, offset);
  }

  private constructor(session: Session, table: Table, offset: number) {
    this.#session = session;
    this.table = table;
    this.#offset = offset;
  }

  get name(): string {
    return describeTable(this.table);
  }

  /** Where the row is that an update or delete did not find: by the key that names it, else by all of its before-image. */
  addressOfMissing(row: SingleRow): RowAddress | undefined {
    return this.#byWalkingKey(row, row.before) ?? this.#addressByAll(row);
  }

  /**
   * Where another row can have the after-image's values in a unique key; the key that the server's message names comes first. `self`: the image that names the row that is being
   * changed, which is not in its own way.
   */
  addressesOfDuplicate(row: SingleRow, message: string, self: RowImage | undefined = row.before): RowAddress[] {
    const unique = this.table.keys.filter((key) => key.unique);
    const told = /^.* for key '(.*)'/s.exec(message)?.[1] ?? "";
    const named = unique.filter(({ name }) => told === name || told.endsWith(`.${name}`));
    const own = this.#byWalkingKey(row, self);
    return [...named, ...unique.filter((key) => !named.includes(key))].flatMap((key) => {
      const address = this.#address(row, row.after, key);
      if (address === undefined) return [];
      if (own !== undefined) return [{ ...address, where: `${address.where} AND NOT (${own.where})` }];
      // Without a key that names it: a value that the update leaves as it is finds the row itself.
      const isKept = row.before !== undefined && this.#address(row, row.before, key)?.where === address.where;
      return isKept ? [] : [address];
    });
  }

  #byWalkingKey(row: SingleRow, image: RowImage | undefined): RowAddress | undefined {
    const key = walkingKey(this.table);
    return key === undefined || image === undefined ? undefined : this.#address(row, image, key);
  }

  /** Columns of the table map that are the primary key, when the whole of it is in the image; undefined also for one with prefixes. */
  primaryKeyColumns(row: SingleRow, image: RowImage | undefined): number[] | undefined {
    const key = this.table.keys.find(({ name }) => name === "PRIMARY");
    const columns = key?.columns.map(({ name, prefix }) => (prefix === undefined ? this.#columnOf(name) : undefined));
    if (columns === undefined || columns.length === 0) return undefined;
    const known = columns.filter((column) => column !== undefined && bytesOf(row, image, column) !== undefined);
    return known.length === columns.length ? (known as number[]) : undefined;
  }

  /** Whether the image has every column that the server does not compute. */
  isWhole(row: SingleRow, image: RowImage | undefined): boolean {
    return this.#logged(row.map).every(
      ({ column, index }) =>
        column.generated !== "no" || bytesOf(row, image, index) !== undefined || isNull(image, index),
    );
  }

  /** `id=5, name='x'`: what the image has, cut to a sensible length. */
  describe(row: SingleRow, image: RowImage | undefined): string {
    const parts: string[] = [];
    for (const { column, index } of this.#logged(row.map)) {
      const value = this.#value(row, image, index);
      if (value !== undefined) parts.push(`${column.name}=${shown(value)}`);
    }
    return cut(parts.join(", "), ROW_CHARACTERS_MAX);
  }

  /** The target's row at that address, in the same words; undefined: there is none. */
  async find({ where }: RowAddress): Promise<string | undefined> {
    const columns = this.table.columns.map(({ name, dataType, charset }) => {
      const quoted = quoteName(name);
      if (dataType === "bit") return `CAST(${quoted}+0 AS CHAR)`;
      if (BYTES.test(dataType)) return `CONCAT('0x',HEX(${quoted}))`;
      return charset === undefined ? `CAST(${quoted} AS CHAR)` : `CONCAT('''',${quoted},'''')`;
    });
    const rows = await this.#session.execute(
      `SELECT ${columns.join(",")} FROM ${quoteTable(this.table)} WHERE ${where} LIMIT 1`,
    );
    const found = rows.at(-1)?.rows[0];
    if (found === undefined) return undefined;
    const parts = this.table.columns.map(({ name }, i) => `${name}=${cut(found[i] ?? "NULL", VALUE_CHARACTERS_MAX)}`);
    return cut(parts.join(", "), ROW_CHARACTERS_MAX);
  }

  /** Deletes what is at that address. Children are looked after as foreign keys say, whatever the row events before it have set. */
  async remove({ where }: RowAddress): Promise<void> {
    await this.#session.execute("SET SESSION foreign_key_checks=1");
    await this.#session.execute(`DELETE FROM ${quoteTable(this.table)} WHERE ${where}`);
  }

  async hasDeleteTrigger(): Promise<boolean> {
    const { schema, name } = this.table;
    const found = await this.#session.queryValue(
      `SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE EVENT_MANIPULATION='DELETE' AND EVENT_OBJECT_SCHEMA=${quoteText(schema)} AND EVENT_OBJECT_TABLE=${quoteText(name)} LIMIT 1`,
    );
    return found !== undefined;
  }

  #address(row: SingleRow, image: RowImage | undefined, key: Key): RowAddress | undefined {
    const conditions: string[] = [];
    const texts: string[] = [];
    for (const { name, prefix } of key.columns) {
      const column = this.#columnOf(name);
      const value = column === undefined ? undefined : this.#value(row, image, column);
      // NULL is equal to nothing, and an expression's value is not known.
      if (name === undefined || value?.literal === undefined || value === NULL_TEXT) return undefined;
      const cutTo = (sql: string): string => (prefix === undefined ? sql : `LEFT(${sql},${prefix})`);
      conditions.push(`${cutTo(quoteName(name))}=${cutTo(value.literal)}`);
      texts.push(`${name}=${shown(value)}`);
    }
    return {
      key: key.name,
      where: conditions.join(" AND "),
      text: texts.join(", "),
    };
  }

  #addressByAll(row: SingleRow): RowAddress | undefined {
    const conditions: string[] = [];
    for (const { column, index } of this.#logged(row.map)) {
      const value = this.#value(row, row.before, index);
      if (value?.literal !== undefined) conditions.push(`${quoteName(column.name)}<=>${value.literal}`);
    }
    if (conditions.length === 0) return undefined;
    return { key: undefined, where: conditions.join(" AND "), text: this.describe(row, row.before) };
  }

  #logged(map: TableMapEvent): { column: Column; index: number }[] {
    return this.table.columns
      .slice(this.#offset, this.#offset + map.columnCount)
      .map((column, index) => ({ column, index }));
  }

  /** Its place in the table map. */
  #columnOf(name: string | undefined): number | undefined {
    const index = this.table.columns.findIndex((column) => column.name === name) - this.#offset;
    return index < 0 ? undefined : index;
  }

  /** Undefined: the image does not have it. */
  #value(row: SingleRow, image: RowImage | undefined, index: number): Value | undefined {
    if (isNull(image, index)) return NULL_TEXT;
    const column = this.table.columns[index + this.#offset];
    const from = image?.starts[index] ?? -1;
    if (from < 0 || column === undefined) return undefined;
    const { types, metadata } = row.map;
    return decodeValue(
      types[index] ?? 0,
      metadata[index] ?? 0,
      row.source,
      from,
      image?.ends[index] ?? 0,
      valueFacts(column),
    );
  }
}

const BYTES = /binary|blob|geometry|point|linestring|polygon|collection|vector/;
const VALUE_CHARACTERS_MAX = 80;
const ROW_CHARACTERS_MAX = 400;

function cut(text: string, charactersMax: number): string {
  return text.length <= charactersMax ? text : `${text.slice(0, charactersMax)}…`;
}

/** Text in quotes, so that its ends show; everything else bare. */
function shown({ text, literal }: Value): string {
  const isText = literal !== undefined && literal.startsWith("_") && literal !== text;
  return isText ? `'${cut(text, VALUE_CHARACTERS_MAX)}'` : cut(text, VALUE_CHARACTERS_MAX);
}

const DONE = { write: "insert", update: "update", delete: "delete" } as const;

export const operationOf = ({ rows }: SingleRow): "insert" | "update" | "delete" => DONE[rows.operation];

/** `insert into shop.orders: another row has id=5 (key PRIMARY)` */
export function sentence(table: string, row: SingleRow, kind: ConflictKind, address: RowAddress | undefined): string {
  const operation = operationOf(row);
  const where = operation === "insert" ? "into" : operation === "delete" ? "from" : "of";
  const at = address === undefined ? "" : ` ${address.text}${address.key === undefined ? "" : ` (key ${address.key})`}`;
  return kind === "missing"
    ? `${operation} ${where} ${table}: no row with${at === "" ? " the source's values" : at}`
    : `${operation} ${where} ${table}: a row is there already${at === "" ? "" : ` with${at}`}`;
}
