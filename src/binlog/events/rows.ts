import { assert } from "../../base/assert.ts";
import type { BinlogFormat } from "../format.ts";
import type { TableMapEvent } from "./table-map.ts";
export interface RowsEvent {
  kind: "rows";
  operation: "write" | "update" | "delete";
  /** 1: types 23–25, 2: 30–32 and 39. */
  version: 1 | 2;
  /** PARTIAL_UPDATE_ROWS: after-images hold JSON differences. */
  partial: boolean;
  tableId: number;
  flags: number;
  /** Version 2: after the two length bytes; empty in version 1. A view. */
  extraData: Buffer;
  columnCount: number;
  /** Offsets in the event of the bitmaps of columns present. Insert: only after; delete: only before; update: both. 0 when absent. */
  beforeBitmap: number;
  afterBitmap: number;
  /** The row images: `[rowsOffset, rowsEnd)` of the event. */
  rowsOffset: number;
  rowsEnd: number;
}
export const ROWS_FLAG = {
  STATEMENT_END: 1,
  NO_FOREIGN_KEY_CHECKS: 2,
  RELAXED_UNIQUE_CHECKS: 4,
  COMPLETE_ROWS: 8,
  /** MariaDB. */
  NO_CHECK_CONSTRAINT_CHECKS: 128,
} as const;
export function decodeRows(_event: Buffer, _format: BinlogFormat): RowsEvent {
  return todo();
}
/** Whether a bitmap that starts at `bitmap` has `column`'s bit. */
export function hasBit(event: Buffer, bitmap: number, column: number): boolean {
  return (((event[bitmap + (column >> 3)] ?? 0) >> (column & 7)) & 1) === 1;
}
export function rowsTableId(_event: Buffer, _format: BinlogFormat): number {
  return todo();
}
/** Rows changed: images, an update's two counted once. Walks the images by column type. */
export function countRows(_event: Buffer, _tableMap: TableMapEvent, _format: BinlogFormat): number {
  return todo();
}

const todo = (): never => {
  assert(false, "not written yet");
};
