import { COLUMN_TYPE, realType } from "../../binlog/columns/types.ts";
import { decodeOptionalMetadata, type OptionalMetadata } from "../../binlog/events/optional-metadata.ts";
import type { TableMapEvent } from "../../binlog/events/table-map.ts";
import type { BinlogFormat } from "../../binlog/format.ts";
import type { Column, Key, Table } from "../../schema/catalog.ts";
import { characterSetOf, collationName } from "../../schema/collation-names.ts";

/**
 * Where a table's keys come from: a `schema` (a dump, or what was asked for), the primary key that the `log` itself tells (binlog_row_metadata=FULL), a `guess`:
 * the first column. `none`: it has no key, or the log does not show it.
 */
export type KeysFrom = "schema" | "log" | "guess" | "none";

/** A type that keeps values of this type of the log as they are, and has no character set. */
const DATA_TYPES: Readonly<Record<number, string>> = {
  [COLUMN_TYPE.TINY]: "tinyint",
  [COLUMN_TYPE.SHORT]: "smallint",
  [COLUMN_TYPE.INT24]: "mediumint",
  [COLUMN_TYPE.LONG]: "int",
  [COLUMN_TYPE.LONGLONG]: "bigint",
  [COLUMN_TYPE.YEAR]: "year",
  [COLUMN_TYPE.FLOAT]: "float",
  [COLUMN_TYPE.DOUBLE]: "double",
  [COLUMN_TYPE.NEWDECIMAL]: "decimal",
  [COLUMN_TYPE.DATE]: "date",
  [COLUMN_TYPE.NEWDATE]: "date",
  [COLUMN_TYPE.TIME]: "time",
  [COLUMN_TYPE.TIME2]: "time",
  [COLUMN_TYPE.DATETIME]: "datetime",
  [COLUMN_TYPE.DATETIME2]: "datetime",
  [COLUMN_TYPE.TIMESTAMP]: "timestamp",
  [COLUMN_TYPE.TIMESTAMP2]: "timestamp",
  [COLUMN_TYPE.BIT]: "bit",
  [COLUMN_TYPE.ENUM]: "enum",
  [COLUMN_TYPE.SET]: "set",
  [COLUMN_TYPE.STRING]: "binary",
  [COLUMN_TYPE.VARCHAR]: "varbinary",
  [COLUMN_TYPE.VAR_STRING]: "varbinary",
  [COLUMN_TYPE.TINY_BLOB]: "tinyblob",
  [COLUMN_TYPE.BLOB]: "blob",
  [COLUMN_TYPE.MEDIUM_BLOB]: "mediumblob",
  [COLUMN_TYPE.LONG_BLOB]: "longblob",
};
const TEXT_TYPES: Readonly<Record<string, string>> = {
  binary: "char",
  varbinary: "varchar",
  tinyblob: "tinytext",
  blob: "text",
  mediumblob: "mediumtext",
  longblob: "longtext",
};

/**
 * A table as far as the log alone tells it. Texts whose character set is not told (MariaDB, unless binlog_row_metadata says so) are compared by their bytes: the images of one
 * row have the same ones, and only a value that comes back in another case is missed.
 */
export function tableOfLog(map: TableMapEvent, flavour: BinlogFormat["flavour"]): { table: Table; from: KeysFrom } {
  const metadata = decodeOptionalMetadata(map);
  const columns = Array.from({ length: map.columnCount }, (_, i) => columnOf(map, metadata, i, flavour));
  const { keys, from } = keysOf(metadata, columns);
  return {
    table: {
      schema: map.schema,
      name: map.table,
      kind: "table",
      engine: "",
      collation: undefined,
      rowsEstimate: 0,
      bytesEstimate: 0,
      partitioned: false,
      columns,
      keys,
    },
    from,
  };
}

function columnOf(
  map: TableMapEvent,
  { names, collations, visible }: OptionalMetadata,
  index: number,
  flavour: BinlogFormat["flavour"],
): Column {
  const dataType = DATA_TYPES[realType(map.types[index] as number, map.metadata[index] as number)] ?? "";
  const id = collations?.[index];
  const collation = id === undefined ? undefined : collationName(id, flavour);
  const text = collation === undefined || collation === "binary" ? undefined : TEXT_TYPES[dataType];
  return {
    name: names?.[index] ?? `@${index + 1}`,
    dataType: text ?? dataType,
    columnType: text ?? dataType,
    nullable: (((map.nullBits[index >> 3] as number) >> (index & 7)) & 1) === 1,
    charset: text === undefined || collation === undefined ? undefined : characterSetOf(collation),
    collation: text === undefined ? undefined : collation,
    octetLength: undefined,
    generated: "no",
    invisible: visible?.[index] === false,
    autoIncrement: false,
  };
}

function keysOf(
  { names, primaryKey }: OptionalMetadata,
  columns: readonly Column[],
): { keys: Key[]; from: "log" | "guess" | "none" } {
  if (primaryKey !== undefined) {
    const parts = primaryKey.map(({ column, prefix }) => ({ name: columns[column]?.name, prefix }));
    return { keys: [primaryOf(parts)], from: "log" };
  }
  const [first] = columns;
  // Whoever tells the names tells the primary key, too.
  if (names !== undefined || first === undefined || first.dataType === "") return { keys: [], from: "none" };
  return { keys: [primaryOf([{ name: first.name, prefix: 0 }])], from: "guess" };
}

const primaryOf = (parts: readonly { name: string | undefined; prefix: number }[]): Key => ({
  name: "PRIMARY",
  unique: true,
  hidden: false,
  columns: parts.map(({ name, prefix }) => ({
    name,
    prefix: prefix === 0 ? undefined : prefix,
    nullable: false,
    descending: false,
  })),
});
