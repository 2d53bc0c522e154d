import { decodeOptionalMetadata, type OptionalMetadata } from "../../binlog/events/optional-metadata.ts";
import { COLUMN_TYPE } from "../../binlog/columns/types.ts";
import type { TableMapEvent } from "../../binlog/events/table-map.ts";
import type { BinlogFormat } from "../../binlog/format.ts";
import type { TableReport } from "../report.ts";
import { newTableCounts, type TableCounts } from "../summary/table-counts.ts";

/** Keys of a table as a schema names them: the one that tells rows apart first, then other unique ones. Names of columns, by position in the table. */
export interface SchemaKeys {
  columns: readonly string[];
  keys: readonly (readonly number[])[];
}

/** A table as one table map of the log has it, with what the scanner counts for it. */
export interface ScanTable {
  readonly map: TableMapEvent;
  /** `schema.table`. */
  readonly name: string;
  /** Of `name`: where the hash of a key begins. */
  readonly seed: number;
  /** The length of values is not told: rows of more than one cannot be told apart. */
  readonly hidesLengths: boolean;
  /** Columns of the key that tells rows apart; empty: none is known. */
  key: readonly number[];
  keyFrom: TableReport["keyFrom"];
  /** `@1` where the name is not known. */
  keyNames: string[] | null;
  /** Other unique keys. */
  readonly otherKeys: readonly (readonly number[])[];
  readonly optional: OptionalMetadata;
  counts: TableCounts;
  /** The part of the log in which it was mapped last, and counts of that part. */
  part: number;
}

export function makeScanTable(map: TableMapEvent, format: BinlogFormat, schema: SchemaKeys | undefined): ScanTable {
  const name = `${map.schema}.${map.table}`;
  const optional = optionalOf(map);
  const fits = schema !== undefined && schema.keys.every((key) => key.every((column) => column < map.columnCount));
  const [key, ...otherKeys] = fits ? schema.keys : [];
  const table: ScanTable = {
    map,
    name,
    seed: seedOf(name),
    hidesLengths: format.flavour === "mariadb" && OLD_TEMPORAL.some((type) => map.types.includes(type)),
    key: [],
    keyFrom: "none",
    keyNames: null,
    otherKeys,
    optional,
    counts: newTableCounts(map.schema, map.table),
    part: -1,
  };
  const logged = optional.primaryKey?.map(({ column }) => column).filter((column) => column < map.columnCount);
  if (fits) setKey(table, key ?? [], key === undefined ? "none" : "schema", schema.columns);
  else if (logged !== undefined && logged.length > 0) setKey(table, logged, "log");
  // With all metadata in the log, what has no primary key there has none.
  else if (optional.names !== undefined || map.columnCount === 0) setKey(table, [], "none");
  else setKey(table, [0], "guess");
  return table;
}

function setKey(table: ScanTable, key: readonly number[], from: ScanTable["keyFrom"], names?: readonly string[]): void {
  const columns = names ?? table.optional.names;
  table.key = key;
  table.keyFrom = from;
  table.keyNames = key.length === 0 ? null : key.map((column) => columns?.[column] ?? `@${column + 1}`);
  tellKey(table);
}

/** Writes into the counts what is known of the key. */
export function tellKey({ counts, keyFrom, keyNames }: ScanTable): void {
  counts.keyFrom = keyFrom;
  counts.key = keyNames;
}

/**
 * Takes the key from an image that has only some columns: a minimal before-image is the key (binlog_row_image=MINIMAL). NOBLOB leaves out large columns only and says
 * nothing. `isPresent` answers for each column.
 */
export function learnKey(table: ScanTable, isPresent: (column: number) => boolean): void {
  const { types, columnCount } = table.map;
  const key: number[] = [];
  let leavesOutMore = false;
  for (let column = 0; column < columnCount; column++) {
    if (isPresent(column)) key.push(column);
    else if (!isLarge(types[column] as number)) leavesOutMore = true;
  }
  if (leavesOutMore && key.length > 0) setKey(table, key, "log");
}

const isLarge = (type: number): boolean =>
  (type >= COLUMN_TYPE.TINY_BLOB && type <= COLUMN_TYPE.BLOB) ||
  type === COLUMN_TYPE.JSON ||
  type === COLUMN_TYPE.GEOMETRY ||
  type === COLUMN_TYPE.BLOB_COMPRESSED;

/** MariaDB's times with a fraction in their old form (mysql56_temporal_format=OFF) have the type of those without, and no metadata. */
const OLD_TEMPORAL = [COLUMN_TYPE.TIMESTAMP, COLUMN_TYPE.TIME, COLUMN_TYPE.DATETIME];

function optionalOf(map: TableMapEvent): OptionalMetadata {
  try {
    return decodeOptionalMetadata(map);
  } catch {
    // Broken metadata hides names and keys, but no rows.
    return decodeOptionalMetadata({ ...map, optional: Buffer.alloc(0) });
  }
}

function seedOf(name: string): number {
  let hash = 0x811c_9dc5;
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x0100_0193);
  return hash;
}
