import { COLUMN_TYPE, realType, stringLengthMax } from "../../binlog/columns/types.ts";
import { decodeOptionalMetadata } from "../../binlog/events/optional-metadata.ts";
import type { ColumnSlots } from "../../binlog/events/row-walker.ts";
import type { TableMapEvent } from "../../binlog/events/table-map.ts";
import type { BinlogFormat } from "../../binlog/format.ts";
import type { Column, Key, Table } from "../../schema/catalog.ts";
import type { ForeignKey } from "../../schema/key-catalog.ts";
import type { Collation } from "./collation.ts";
import type { KeyHash } from "./key-hash.ts";

/** How a key part's value is brought into the form in which equal values have equal bytes. */
export type PartForm =
  /** Its bytes are right as they are: integers, decimals, times, ENUM, SET, BIT. */
  | { kind: "fixed" }
  /** -0 is 0. The exponent and sign are in the last byte. */
  | { kind: "real" }
  /** `padTo`: trailing zero bytes are cut in the log up to this length. `prefix`: bytes, 0 for all. */
  | { kind: "bytes"; padTo: number; prefix: number }
  /** `stripSpaces`: trailing spaces mean nothing. `prefix`: characters, 0 for all. */
  | { kind: "text"; collation: Collation; stripSpaces: boolean; prefix: number };

export interface KeyPart {
  /** Column of the table map. */
  column: number;
  slot: number;
  /** How many bytes of length stand before the value; 0 for values of fixed length. */
  lengthBytes: number;
  form: PartForm;
  /** The server computes it: that an image does not have it says nothing about whether it changes. */
  generated: boolean;
}

/**
 * What makes one hash of a row image.
 *
 * To foreign keys a value of the parent is two hashes. Its row: the primary key's own, written by every change of the row. Its existence: written only where the value comes
 * or goes (insert, delete, an update that changes it), and so never without the row. A child reads one of them:
 *
 * - It comes after its parent, and goes before it. Every image of a child reads the parent's existence, or the row instead, so whoever makes the value come or go is in
 *   order with it. (What a cascade does to children is in no image: opaque.)
 * - A child that comes to a parent (insert, or the after-image of an update that changes the reference) reads the row. The server looks the parent up in the index
 *   referred to and locks what it finds (row_ins_check_foreign_constraint, storage/innobase/row/row0ins.cc, 8.0; MariaDB's is the same). In a primary key that is
 *   the row itself, which a change of the parent's other columns locks too: the source ran one after the other, and side by side they would wait for each other on the target.
 * - A child that stays or leaves reads existence, for it locks nothing of the parent; so does one that comes by another key, whose lock is not the row's. The source
 *   runs these beside changes of the parent's other columns, and its clock says so.
 */
export interface KeyPlan {
  /** `unique`: written, and names the row; `existence`: of a value that foreign keys refer to, written; `child`: refers to a parent's value, read. */
  role: "unique" | "existence" | "child";
  /** Stands before the values: which table, which key. Of a child: the existence of the parent's value. */
  identity: Buffer;
  /** The parent's row, for a child that comes to it. undefined: no child, or one that refers to no primary key. */
  rowIdentity: Buffer | undefined;
  parts: readonly KeyPart[];
}

/** Columns of a parent on which children depend with an action: when they change, the server changes children. */
export interface CascadePlan {
  onDelete: boolean;
  onUpdate: boolean;
  parts: readonly KeyPart[];
}

/** Which columns of a table's rows are looked at, and what is made of them. */
export interface TablePlan {
  slots: ColumnSlots;
  keys: readonly KeyPlan[];
  cascades: readonly CascadePlan[];
  /** A key of the table cannot be computed from the log: every change of it may change that key. */
  opaque: boolean;
}

/** What the target has. */
export interface PlanInput {
  /** Of the source. */
  flavour: BinlogFormat["flavour"];
  table: Table;
  /** Those of the table as a child, with the parents' tables; a parent that does not exist refers to nothing. */
  foreignKeys: readonly { key: ForeignKey; parent: Table | undefined }[];
  /** Those of other tables, and its own, that refer to it. */
  referencedBy: readonly ForeignKey[];
  /** By the target's name of it. */
  collation: (name: string) => Collation | undefined;
  /** The character set of a collation's number; undefined: the target does not know the number. */
  charsetOfCollation: (id: number) => string | undefined;
  hash: KeyHash;
}

export const OPAQUE_PLAN: TablePlan = {
  slots: { slotOf: new Int32Array(0), count: 0 },
  keys: [],
  cascades: [],
  opaque: true,
};

/** Columns are matched by position, as the server does it (Rows_log_event::do_apply_event, sql/log_event.cc, 8.0): either side may have more at the end. */
export function planTable(map: TableMapEvent, input: PlanInput): TablePlan {
  if (hidesLengths(map, input.flavour) || mayBeShifted(map, input)) return OPAQUE_PLAN;
  return new PlanBuilder(map, input).build();
}

class PlanBuilder {
  readonly #map: TableMapEvent;
  readonly #input: PlanInput;
  readonly #slotOf: Int32Array;
  readonly #collationIds: (number | undefined)[] | undefined;
  #slots = 0;
  #opaque = false;

  constructor(map: TableMapEvent, input: PlanInput) {
    this.#map = map;
    this.#input = input;
    this.#slotOf = new Int32Array(map.columnCount).fill(-1);
    this.#collationIds = decodeOptionalMetadata(map).collations;
  }

  build(): TablePlan {
    const { table, foreignKeys, referencedBy } = this.#input;
    const keys: KeyPlan[] = [];
    for (const key of table.keys) {
      if (!key.unique) continue;
      // What is no column that one can see (an expression, a period) is left out: fewer values are told apart then, and none is missed.
      const parts = key.columns.flatMap(({ name = "", prefix = 0 }) => {
        const column = columnIndex(table, name);
        return column === -1 ? [] : [this.#part(column, table.columns[column], prefix)];
      });
      this.#add(keys, "unique", identityOf(table, key.name), parts);
    }
    const referenced = new Set<string>();
    for (const { parentColumns } of referencedBy) {
      const target = referenceOf(table, parentColumns);
      if (referenced.has(target.name)) continue;
      referenced.add(target.name);
      const parts = target.columns.map((name) => this.#part(columnIndex(table, name), columnOf(table, name), 0));
      this.#add(keys, "existence", existenceOf(table, target.name), parts);
    }
    for (const { key, parent } of foreignKeys) {
      if (parent === undefined) continue;
      const target = referenceOf(parent, key.parentColumns);
      const parts = target.columns.map((name) => {
        const own = key.columns[key.parentColumns.findIndex((column) => isSameName(column, name))] ?? "";
        return this.#part(columnIndex(table, own), columnOf(parent, name), 0);
      });
      const row = target.name === PRIMARY ? identityOf(parent, target.name) : undefined;
      this.#add(keys, "child", existenceOf(parent, target.name), parts, row);
    }
    const cascades = referencedBy.filter((key) => cascadesOn(key.onDelete) || cascadesOn(key.onUpdate));
    const plans = cascades.map((key): CascadePlan => {
      const parts = key.parentColumns.map((name) => this.#part(columnIndex(table, name), columnOf(table, name), 0));
      return { onDelete: cascadesOn(key.onDelete), onUpdate: cascadesOn(key.onUpdate), parts: this.#known(parts) };
    });
    return {
      slots: { slotOf: this.#slotOf, count: this.#slots },
      keys,
      cascades: plans,
      opaque: this.#opaque,
    };
  }

  #add(keys: KeyPlan[], role: KeyPlan["role"], name: string, parts: (KeyPart | undefined)[], row?: string): void {
    const { hash } = this.#input;
    const rowIdentity = row === undefined ? undefined : hashedName(row, hash);
    keys.push({ role, identity: hashedName(name, hash), rowIdentity, parts: this.#known(parts) });
  }

  #known(parts: (KeyPart | undefined)[]): KeyPart[] {
    const known = parts.filter((part) => part !== undefined);
    if (known.length < parts.length) this.#opaque = true;
    return known;
  }

  /** `as`: whose type and collation count: the column's own, or the parent's. undefined: not to be had from the log. */
  #part(column: number, as: Column | undefined, prefix: number): KeyPart | undefined {
    const own = this.#input.table.columns[column];
    if (own === undefined || as === undefined || column < 0 || column >= this.#map.columnCount) return undefined;
    const form = this.#form(column, as, prefix);
    if (form === undefined) return undefined;
    if (this.#slotOf[column] === -1) this.#slotOf[column] = this.#slots++;
    return {
      column,
      slot: this.#slotOf[column] as number,
      lengthBytes: Math.max(0, -(this.#map.lengthCodes[column] as number)),
      form,
      generated: own.generated !== "no",
    };
  }

  #form(column: number, as: Column, prefix: number): PartForm | undefined {
    const metadata = this.#map.metadata[column] as number;
    const type = realType(this.#map.types[column] as number, metadata);
    const family = FAMILIES[type];
    if (family === undefined || !family.includes(as.dataType)) return undefined;
    if (type === COLUMN_TYPE.FLOAT || type === COLUMN_TYPE.DOUBLE) return { kind: "real" };
    if ((this.#map.lengthCodes[column] as number) >= 0) return { kind: "fixed" };
    const isFixedString = type === COLUMN_TYPE.STRING;
    if (as.collation === undefined || as.charset === undefined || as.charset === "binary") {
      const padsHere = isFixedString ? stringLengthMax(metadata) : 0;
      const padsThere = as.dataType === "binary" ? (as.octetLength ?? 0) : 0;
      return { kind: "bytes", padTo: Math.max(padsHere, padsThere), prefix };
    }
    const collation = this.#input.collation(as.collation);
    if (collation === undefined || (prefix > 0 && collation.facts.width === undefined)) return undefined;
    const id = this.#collationIds?.[column];
    const charset = id === undefined ? undefined : this.#input.charsetOfCollation(id);
    if (charset !== undefined && !isReadAs(charset, collation.facts.charset)) return undefined;
    const stripSpaces = collation.facts.padSpace || isFixedString || as.dataType === "char";
    return { kind: "text", collation, stripSpaces, prefix };
  }
}

/** Whether bytes of the one character set mean the same in the other. */
function isReadAs(charset: string, other: string): boolean {
  return charset === other || (other === "utf8mb4" && (charset === "utf8mb3" || charset === "ascii"));
}

const INTEGERS = ["tinyint", "smallint", "mediumint", "int", "bigint", "year"];
const REALS = ["float", "double"];
const TIMES = ["date", "time", "datetime", "timestamp"];
const STRINGS = [
  "char",
  "varchar",
  "tinytext",
  "text",
  "mediumtext",
  "longtext",
  "binary",
  "varbinary",
  "tinyblob",
  "blob",
  "mediumblob",
  "longblob",
  "uuid",
  "inet4",
  "inet6",
];

/** By type of the log: which types of the target keep its values as they are. */
const FAMILIES: Readonly<Record<number, readonly string[]>> = {
  [COLUMN_TYPE.TINY]: INTEGERS,
  [COLUMN_TYPE.SHORT]: INTEGERS,
  [COLUMN_TYPE.INT24]: INTEGERS,
  [COLUMN_TYPE.LONG]: INTEGERS,
  [COLUMN_TYPE.LONGLONG]: INTEGERS,
  [COLUMN_TYPE.YEAR]: ["year"],
  [COLUMN_TYPE.FLOAT]: REALS,
  [COLUMN_TYPE.DOUBLE]: REALS,
  [COLUMN_TYPE.NEWDECIMAL]: ["decimal"],
  [COLUMN_TYPE.DATE]: TIMES,
  [COLUMN_TYPE.NEWDATE]: TIMES,
  [COLUMN_TYPE.TIME]: TIMES,
  [COLUMN_TYPE.TIME2]: TIMES,
  [COLUMN_TYPE.DATETIME]: TIMES,
  [COLUMN_TYPE.DATETIME2]: TIMES,
  [COLUMN_TYPE.TIMESTAMP]: TIMES,
  [COLUMN_TYPE.TIMESTAMP2]: TIMES,
  [COLUMN_TYPE.BIT]: ["bit"],
  [COLUMN_TYPE.ENUM]: ["enum"],
  [COLUMN_TYPE.SET]: ["set"],
  [COLUMN_TYPE.STRING]: STRINGS,
  [COLUMN_TYPE.VARCHAR]: STRINGS,
  [COLUMN_TYPE.VAR_STRING]: STRINGS,
  [COLUMN_TYPE.TINY_BLOB]: STRINGS,
  [COLUMN_TYPE.BLOB]: STRINGS,
  [COLUMN_TYPE.MEDIUM_BLOB]: STRINGS,
  [COLUMN_TYPE.LONG_BLOB]: STRINGS,
};

/**
 * What a foreign key refers to: a unique key of the parent with these very columns, whole, the primary one first, else a key made up for them. Parent and child come to
 * the same answer.
 */
function referenceOf(parent: Table, columns: readonly string[]): { name: string; columns: readonly string[] } {
  const candidates = parent.keys.filter((candidate) => isUniqueOn(candidate, columns));
  const key = candidates.find(({ name }) => name === PRIMARY) ?? candidates[0];
  if (key === undefined) return { name: `\0${columns.join("\0").toLowerCase()}`, columns };
  return { name: key.name, columns: key.columns.map(({ name }) => name ?? "") };
}

function isUniqueOn(key: Key, columns: readonly string[]): boolean {
  return (
    key.unique &&
    key.columns.length === columns.length &&
    key.columns.every(
      ({ name, prefix }) =>
        name !== undefined && prefix === undefined && columns.some((column) => isSameName(column, name)),
    )
  );
}

const cascadesOn = (action: ForeignKey["onDelete"]): boolean => action !== "RESTRICT" && action !== "NO ACTION";
const isSameName = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();
const columnIndex = (table: Table, name: string): number =>
  table.columns.findIndex((column) => isSameName(column.name, name));
const columnOf = (table: Table, name: string): Column | undefined => table.columns[columnIndex(table, name)];
const identityOf = (table: Table, key: string): string => `${table.schema}\0${table.name}\0${key}`;
const existenceOf = (table: Table, key: string): string => `${identityOf(table, key)}\0existence`;
const PRIMARY = "PRIMARY";

function hashedName(name: string, hash: KeyHash): Buffer {
  const text = Buffer.from(name);
  const identity = Buffer.alloc(16);
  identity.writeDoubleLE(hash(text, text.length));
  // Twice, the second time of something else: the 32 bits of one murmur hash are few for all the keys of a server.
  const again = Buffer.from(`${name}\0`);
  identity.writeDoubleLE(hash(again, again.length), 8);
  return identity;
}

/** MariaDB's old TIME, DATETIME and TIMESTAMP may have a fraction of which the table map says nothing. */
function hidesLengths({ types }: TableMapEvent, flavour: BinlogFormat["flavour"]): boolean {
  return flavour === "mariadb" && OLD_TIMES.some((type) => types.includes(type));
}

const OLD_TIMES = [COLUMN_TYPE.TIMESTAMP, COLUMN_TYPE.TIME, COLUMN_TYPE.DATETIME];

/** A key that MySQL makes for a table without one (sql_generate_invisible_primary_key): a BIGINT, the first column. */
const GENERATED_KEY = "my_row_id";

/** One side may have such a key and the other not: then positions do not match. MariaDB makes none; its hidden columns (of system versioning, of long unique keys) stand last. */
function mayBeShifted({ columnCount, types }: TableMapEvent, { table, flavour }: PlanInput): boolean {
  const first = table.columns[0];
  if (columnCount < table.columns.length) return first?.name === GENERATED_KEY && first.invisible;
  return columnCount > table.columns.length && flavour === "mysql" && types[0] === COLUMN_TYPE.LONGLONG;
}
