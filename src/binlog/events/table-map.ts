import { assert } from "../../base/assert.ts";
import type { BinlogFormat } from "../format.ts";
import type { OptionalMetadata } from "./optional-metadata.ts";
export interface TableMapEvent {
  kind: "table-map";
  tableId: number;
  flags: number;
  schema: string;
  table: string;
  columnCount: number;
  /** One byte per column: MYSQL_TYPE_ as in the log (ENUM and SET hide behind STRING). */
  types: Buffer;
  /** Per column: the type's metadata as one number (little-endian of 1 or 2 bytes; STRING and NEWDECIMAL: first byte high). */
  metadata: Uint16Array;
  /** Bit i of the bytes: column i may be NULL. */
  nullBits: Buffer;
  /** Raw TLVs of binlog_row_metadata; empty when the server writes none. `decodeOptionalMetadata` reads them. */
  optional: Buffer;
}
export function decodeTableMap(_event: Buffer, _format: BinlogFormat): TableMapEvent {
  return todo();
}
export function tableMapId(_event: Buffer, _format: BinlogFormat): number {
  return todo();
}
/**
 * Table maps in force, by table id. A map whose body has the same bytes as before keeps its decoded form (sources repeat them in every statement).
 */
export class TableMaps {
  add(_event: Buffer, _format: BinlogFormat): TableMapEvent {
    return todo();
  }
  get(_tableId: number): TableMapEvent | undefined {
    return todo();
  }
  clear(): void {
    todo();
  }
}
export type { OptionalMetadata };

const todo = (): never => {
  assert(false, "not written yet");
};
