import { ReplicationError } from "../../base/error.ts";
import { valueEnd } from "../columns/length.ts";
import type { BinlogFormat } from "../format.ts";
import { countBits, decodeRows, hasBit, partialOptionsEnd } from "./rows.ts";
import type { RowsEvent } from "./rows.ts";
import type { TableMapEvent } from "./table-map.ts";

/** In `starts`, instead of an offset: the value is NULL; the image does not have the column. */
export const NULL_VALUE = -1;
export const ABSENT_VALUE = -2;

/** Which columns of a table are looked at: each has a slot, counted from 0. */
export interface ColumnSlots {
  /** By column of the table map: its slot, or -1. */
  slotOf: Int32Array;
  count: number;
}

/** Where the values of one row image lie in the event, length bytes included, by slot. */
export interface RowImage {
  starts: Int32Array;
  ends: Int32Array;
}

/**
 * Goes through the rows of one event and tells where the wanted columns' values are; nothing is decoded or copied, and nothing is made per row: `before` and
 * `after` are overwritten by each `next`. An insert has only `after`, a delete only `before`; the other one is stale.
 *
 * Columns of the log that `slots` leaves out are walked over. Slots are of columns that the table map has.
 */
export class RowWalker {
  readonly before: RowImage = { starts: new Int32Array(8), ends: new Int32Array(8) };
  readonly after: RowImage = { starts: new Int32Array(8), ends: new Int32Array(8) };
  /** Of the row at hand, in the event: where it begins, where its after-image does (with a partial update's options), where it ends. */
  readonly bounds = { start: 0, after: 0, end: 0 };
  #event: Buffer = Buffer.alloc(0);
  #rows: RowsEvent | undefined;
  #map: TableMapEvent | undefined;
  #slots: ColumnSlots = { slotOf: new Int32Array(0), count: 0 };
  #presentBefore = 0;
  #presentAfter = 0;
  #offset = 0;
  #withoutBytes = false;

  /** @throws ReplicationError CORRUPT_EVENT when event and table map contradict each other. */
  open(event: Buffer, map: TableMapEvent, format: BinlogFormat, slots: ColumnSlots): RowsEvent {
    const rows = decodeRows(event, format);
    if (rows.columnCount !== map.columnCount || rows.tableId !== map.tableId) {
      throw new ReplicationError("CORRUPT_EVENT", "a row event and its table map describe different tables");
    }
    this.#event = event;
    this.#rows = rows;
    this.#map = map;
    this.#slots = slots;
    this.#presentBefore = rows.beforeBitmap === 0 ? 0 : countBits(event, rows.beforeBitmap, rows.columnCount);
    this.#presentAfter = rows.afterBitmap === 0 ? 0 : countBits(event, rows.afterBitmap, rows.columnCount);
    this.#offset = rows.rowsOffset;
    // A minimal image of defaults alone has no columns and no bytes; the server then writes one row to an event.
    this.#withoutBytes = rows.rowsOffset === rows.rowsEnd && this.#presentBefore + this.#presentAfter === 0;
    if (this.before.starts.length < slots.count) {
      for (const image of [this.before, this.after]) {
        image.starts = new Int32Array(slots.count);
        image.ends = new Int32Array(slots.count);
      }
    }
    return rows;
  }

  /** Whether there was another row. @throws ReplicationError CORRUPT_EVENT, UNSUPPORTED */
  next(): boolean {
    const rows = this.#rows;
    const map = this.#map;
    if (rows === undefined || map === undefined) return false;
    const start = this.#offset;
    if (start >= rows.rowsEnd) {
      if (!this.#withoutBytes) return false;
      this.#withoutBytes = false;
      this.bounds.start = this.bounds.after = this.bounds.end = start;
      this.before.starts.fill(ABSENT_VALUE);
      this.after.starts.fill(ABSENT_VALUE);
      return true;
    }
    let offset = start;
    if (rows.beforeBitmap !== 0) {
      offset = this.#image(rows, map, offset, rows.beforeBitmap, this.#presentBefore, this.before);
    }
    this.bounds.start = start;
    this.bounds.after = offset;
    if (rows.partial) offset = partialOptionsEnd(this.#event, offset, rows.rowsEnd, map);
    if (rows.afterBitmap !== 0) {
      offset = this.#image(rows, map, offset, rows.afterBitmap, this.#presentAfter, this.after);
    }
    if (offset === start) throw new ReplicationError("CORRUPT_EVENT", `a row without columns has bytes at ${start}`);
    this.bounds.end = this.#offset = offset;
    return true;
  }

  #image(
    rows: RowsEvent,
    map: TableMapEvent,
    offset: number,
    bitmap: number,
    present: number,
    { starts, ends }: RowImage,
  ): number {
    const event = this.#event;
    const { rowsEnd, columnCount } = rows;
    const { lengthCodes } = map;
    const { slotOf } = this.#slots;
    let at = offset + ((present + 7) >> 3);
    if (at > rowsEnd) throw new ReplicationError("CORRUPT_EVENT", `a row is cut at byte ${offset} of ${rowsEnd}`);
    let index = 0;
    for (let column = 0; column < columnCount; column++) {
      const slot = slotOf[column] as number;
      if (present !== columnCount && !hasBit(event, bitmap, column)) {
        if (slot >= 0) starts[slot] = ABSENT_VALUE;
        continue;
      }
      if (hasBit(event, offset, index)) {
        if (slot >= 0) starts[slot] = NULL_VALUE;
      } else {
        const code = lengthCodes[column] as number;
        const next = at + code;
        const end = code >= 0 && next <= rowsEnd ? next : valueEnd(event, at, rowsEnd, code);
        if (slot >= 0) {
          starts[slot] = at;
          ends[slot] = end;
        }
        at = end;
      }
      index++;
    }
    return at;
  }
}
