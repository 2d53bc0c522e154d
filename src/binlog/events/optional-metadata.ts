import { assert } from "../../base/assert.ts";
import type { TableMapEvent } from "./table-map.ts";

/** What binlog_row_metadata adds to a table map. A field that the event does not carry is undefined. Arrays have one place per column of the table. */
export interface OptionalMetadata {
  /** Numeric columns: true for unsigned; undefined for other types. */
  unsigned: (boolean | undefined)[] | undefined;
  /** Collation id of each character column (DEFAULT_CHARSET or COLUMN_CHARSET), ENUM and SET included. */
  collations: (number | undefined)[] | undefined;
  names: string[] | undefined;
  /** Members of ENUM and SET columns. */
  members: (Buffer[] | undefined)[] | undefined;
  geometryTypes: (number | undefined)[] | undefined;
  /** Column indices; prefix length in characters, 0 for the whole column. */
  primaryKey: { column: number; prefix: number }[] | undefined;
  /** False for invisible columns. */
  visible: boolean[] | undefined;
  /** Dimensions of VECTOR columns. */
  dimensions: (number | undefined)[] | undefined;
}

export function decodeOptionalMetadata(_tableMap: TableMapEvent): OptionalMetadata {
  assert(false, "not written yet");
}
