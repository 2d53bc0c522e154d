import type { BinlogFormat } from "../../binlog/format.ts";
import { hasBit, type RowsEvent } from "../../binlog/events/rows.ts";
import { ABSENT_VALUE, NULL_VALUE, type RowImage, RowWalker } from "../../binlog/events/row-walker.ts";
import type { TableMapEvent } from "../../binlog/events/table-map.ts";
import type { SqlText } from "./sql-text.ts";
import type { TablePlan } from "./table-plan.ts";
import { isJson, writeBytesComparison, writeDifferences, writeValue } from "./value-text.ts";

const END_OF_STATEMENT = Buffer.from(" LIMIT 1;\n");
const END_OF_INSERT = Buffer.from(");\n");
const WHERE = Buffer.from(" WHERE ");
const AND = Buffer.from(" AND ");
const NULL = Buffer.from("NULL");
const IS_NULL = Buffer.from(" IS NULL");
const COMMA = 0x2c;
const EQUALS = 0x3d;
/** A call into the runtime costs as much as comparing this many bytes. */
const BYTES_COMPARED_HERE_MAX = 160;

/**
 * Writes each row of a rows event as one statement, or as a comment where its table's plan says so. With `backward` it is the statement that takes the row's change back.
 *
 * A row is found by the columns of its table's key. Where none is known or the image lacks a part of it, by all columns of the image, compared exactly; rows that are equal in all of
 * them are one as good as the other.
 */
export class RowStatements {
  readonly #sql: SqlText;
  readonly #walker = new RowWalker();
  #event: Buffer = Buffer.alloc(0);
  #plan: TablePlan | undefined;
  #rows: RowsEvent | undefined;

  constructor(sql: SqlText) {
    this.#sql = sql;
  }

  /** Then `next` for each row. @throws ReplicationError CORRUPT_EVENT */
  open(event: Buffer, map: TableMapEvent, format: BinlogFormat, plan: TablePlan): void {
    this.#event = event;
    this.#plan = plan;
    this.#rows = this.#walker.open(event, map, format, plan.slots);
  }

  /** False when there was no row more. @throws ReplicationError CORRUPT_EVENT, UNSUPPORTED */
  next(): boolean {
    return this.#walker.next();
  }

  /** The row as the source changed it. */
  writeForward(): void {
    const [plan, rows] = this.#opened();
    const { before, after } = this.#walker;
    if (rows.operation === "write") this.#insert(plan, after);
    else if (rows.operation === "delete") this.#delete(plan, before);
    else this.#update(plan, before, after, rows.partial);
  }

  /** The statement that undoes it. False, and nothing written, when the image does not hold what was there before. */
  writeBackward(): boolean {
    const [plan, rows] = this.#opened();
    const { before, after } = this.#walker;
    if (rows.operation === "write") {
      if (!this.#isNamed(plan, after) && !this.#isWhole(plan, after)) return false;
      this.#delete(plan, after);
      return true;
    }
    if (rows.operation === "delete") {
      if (!this.#isWhole(plan, before)) return false;
      this.#insert(plan, before);
      return true;
    }
    if (!this.#hasAllOf(plan, before, after)) return false;
    if (!this.#isNamed(plan, after) && !this.#isWhole(plan, after)) return false;
    this.#updateBack(plan, before, after, rows.partial);
    return true;
  }

  #opened(): [TablePlan, RowsEvent] {
    return [this.#plan as TablePlan, this.#rows as RowsEvent];
  }

  #insert(plan: TablePlan, { starts, ends }: RowImage): void {
    const sql = this.#sql;
    const { columns } = plan;
    if (this.#isWhole(plan, { starts, ends })) sql.bytes(plan.insertHead);
    else this.#partialInsertHead(plan, starts);
    let first = true;
    for (let i = 0; i < columns.length; i++) {
      const column = columns[i] as TablePlan["columns"][number];
      const start = starts[i] as number;
      if (start === ABSENT_VALUE || column.generated) continue;
      if (first) first = false;
      else sql.byte(COMMA);
      if (start === NULL_VALUE) sql.bytes(NULL);
      else writeValue(sql, column, this.#event, start, ends[i] as number, false);
    }
    sql.bytes(END_OF_INSERT);
  }

  #partialInsertHead({ name, columns, commented }: TablePlan, starts: Int32Array): void {
    const names = columns.filter((column, i) => !column.generated && starts[i] !== ABSENT_VALUE);
    this.#sql.text(`${commented}INSERT INTO ${name} (${names.map((column) => column.name).join(",")}) VALUES (`);
  }

  #delete(plan: TablePlan, image: RowImage): void {
    this.#sql.bytes(plan.deleteHead);
    this.#where(plan, image, false);
  }

  #update(plan: TablePlan, before: RowImage, after: RowImage, partial: boolean): void {
    this.#sql.bytes(plan.updateHead);
    if (!this.#set(plan, before, after, partial, false)) this.#set(plan, before, after, partial, true);
    this.#sql.bytes(WHERE);
    this.#where(plan, before, false);
  }

  #updateBack(plan: TablePlan, before: RowImage, after: RowImage, partial: boolean): void {
    this.#sql.bytes(plan.updateHead);
    if (!this.#setBack(plan, before, after, false)) this.#setBack(plan, before, after, true);
    this.#sql.bytes(WHERE);
    this.#where(plan, after, partial);
  }

  /**
   * What `to` has other than `from`. Of times all: the server may set one that a statement leaves out. `all`: also what is the same, for an update that changes nothing. False when
   * there was nothing to write.
   */
  #set(plan: TablePlan, from: RowImage, to: RowImage, partial: boolean, all: boolean): boolean {
    const sql = this.#sql;
    const { columns } = plan;
    let wrote = false;
    for (let i = 0; i < columns.length; i++) {
      const column = columns[i] as TablePlan["columns"][number];
      const start = to.starts[i] as number;
      if (column.generated) continue;
      if (start === ABSENT_VALUE) {
        if (!column.setsItself && !all) continue;
        this.#assign(column, wrote);
        sql.bytes(column.nameBytes);
        wrote = true;
        continue;
      }
      const isPartial = partial && start !== NULL_VALUE && this.#isPartial(plan, i);
      if (!all && !column.setsItself && !isPartial && this.#isSame(from, to, i)) continue;
      this.#assign(column, wrote);
      wrote = true;
      if (start === NULL_VALUE) sql.bytes(NULL);
      else if (isPartial) writeDifferences(sql, column, this.#event, start, to.ends[i] as number);
      else writeValue(sql, column, this.#event, start, to.ends[i] as number, false);
    }
    return wrote;
  }

  /** The same from the after-image back to the before-image, of the columns that the former has. */
  #setBack(plan: TablePlan, before: RowImage, after: RowImage, all: boolean): boolean {
    const sql = this.#sql;
    const { columns } = plan;
    let wrote = false;
    for (let i = 0; i < columns.length; i++) {
      const column = columns[i] as TablePlan["columns"][number];
      const start = before.starts[i] as number;
      if (column.generated) continue;
      if (start === ABSENT_VALUE || (after.starts[i] === ABSENT_VALUE && !column.setsItself && !all)) continue;
      if (!all && !column.setsItself && this.#isSame(after, before, i)) continue;
      this.#assign(column, wrote);
      wrote = true;
      if (start === NULL_VALUE) sql.bytes(NULL);
      else writeValue(sql, column, this.#event, start, before.ends[i] as number, false);
    }
    return wrote;
  }

  #assign(column: TablePlan["columns"][number], isNext: boolean): void {
    if (isNext) this.#sql.byte(COMMA);
    this.#sql.bytes(column.nameBytes);
    this.#sql.byte(EQUALS);
  }

  /** `partial`: it is the after-image of a partial update, whose differences nothing can be compared with. */
  #where(plan: TablePlan, image: RowImage, partial: boolean): void {
    const sql = this.#sql;
    const { columns, key } = plan;
    let first = true;
    if (key !== undefined && this.#isNamed(plan, image)) {
      for (const i of key) {
        if (!first) sql.bytes(AND);
        first = false;
        const column = columns[i] as TablePlan["columns"][number];
        sql.bytes(column.nameBytes);
        sql.byte(EQUALS);
        writeValue(sql, column, this.#event, image.starts[i] as number, image.ends[i] as number, true);
      }
      sql.bytes(END_OF_STATEMENT);
      return;
    }
    for (let i = 0; i < columns.length; i++) {
      const column = columns[i] as TablePlan["columns"][number];
      const start = image.starts[i] as number;
      if (start === ABSENT_VALUE || column.generated) continue;
      if (partial && start !== NULL_VALUE && this.#isPartial(plan, i)) continue;
      if (!first) sql.bytes(AND);
      first = false;
      if (start === NULL_VALUE) {
        sql.bytes(column.nameBytes);
        sql.bytes(IS_NULL);
      } else if (column.collated && plan.obstacles.repeat === undefined) {
        writeBytesComparison(sql, column, this.#event, start, image.ends[i] as number);
      } else {
        sql.bytes(column.nameBytes);
        sql.byte(EQUALS);
        writeValue(sql, column, this.#event, start, image.ends[i] as number, true);
      }
    }
    if (first) sql.ascii("TRUE");
    sql.bytes(END_OF_STATEMENT);
  }

  /** The image has the whole key, and nothing in it is NULL. */
  #isNamed({ key }: TablePlan, { starts }: RowImage): boolean {
    return key !== undefined && key.every((i) => (starts[i] as number) >= 0);
  }

  #isWhole({ columns }: TablePlan, { starts }: RowImage): boolean {
    for (let i = 0; i < columns.length; i++) {
      if (starts[i] === ABSENT_VALUE && columns[i]?.generated === false) return false;
    }
    return true;
  }

  /** Whatever the after-image has, the before-image has too. */
  #hasAllOf({ columns }: TablePlan, before: RowImage, after: RowImage): boolean {
    return columns.every(
      ({ generated }, i) => generated || after.starts[i] === ABSENT_VALUE || before.starts[i] !== ABSENT_VALUE,
    );
  }

  #isSame(a: RowImage, b: RowImage, i: number): boolean {
    const event = this.#event;
    const [from, start] = [a.starts[i] as number, b.starts[i] as number];
    if (from < 0 || start < 0) return from === start;
    const length = (a.ends[i] as number) - from;
    if ((b.ends[i] as number) - start !== length) return false;
    if (length > BYTES_COMPARED_HERE_MAX) return event.compare(event, from, from + length, start, start + length) === 0;
    for (let at = 0; at < length; at++) if (event[from + at] !== event[start + at]) return false;
    return true;
  }

  /** Whether the after-image has differences for this column: a bit for each JSON column of the table says so, behind a byte of options. */
  #isPartial({ columns }: TablePlan, i: number): boolean {
    const at = this.#walker.bounds.after;
    const column = columns[i];
    if (column === undefined || !isJson(column) || ((this.#event[at] ?? 0) & 1) === 0) return false;
    let index = 0;
    for (let before = 0; before < i; before++) if (isJson(columns[before] as typeof column)) index++;
    return hasBit(this.#event, at + 1, index);
  }
}
