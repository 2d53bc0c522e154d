import { COLUMN_TYPE, realType, stringLengthMax } from "../../binlog/columns/types.ts";
import type { ValueFacts } from "../../binlog/columns/value.ts";
import { decodeOptionalMetadata, type OptionalMetadata } from "../../binlog/events/optional-metadata.ts";
import type { ColumnSlots } from "../../binlog/events/row-walker.ts";
import type { TableMapEvent } from "../../binlog/events/table-map.ts";
import { type Column, type Table, walkingKey } from "../../schema/catalog.ts";
import { characterSetOf, collationName } from "../../schema/collation-names.ts";
import { quoteName, quoteTable } from "../../schema/names.ts";
import { valueFacts } from "../../schema/value-facts.ts";
import { type Obstacles, obstaclesOf } from "./obstacle.ts";
import { quoteUtf8 } from "./sql-text.ts";

/** How a column's values are written. `other`: seldom, by way of a string. */
export type WrittenAs =
  | "signed"
  | "unsigned"
  | "utf8"
  | "latin1"
  | "characters"
  | "bytes"
  | "padded-bytes"
  | "guessed-text"
  | "members"
  | "real"
  | "json"
  | "other";

export interface ColumnPlan {
  /** Quoted; `@1` where nobody knows its name. */
  name: string;
  nameBytes: Buffer;
  as: WrittenAs;
  type: number;
  metadata: number;
  /** Bytes before a value that hold its length. */
  lengthBytes: number;
  /** Of `padded-bytes`: how long a value is with the zeros that the log has cut. */
  lengthMax: number;
  facts: ValueFacts;
  /** Literals of an ENUM by its number. */
  enumLiterals: readonly (string | undefined)[] | undefined;
  /** A SET is told by its members' names. */
  namesSet: boolean;
  /** The server computes it: it is in no statement. */
  generated: boolean;
  /** TIMESTAMP and DATETIME: the server may set one by itself that a statement leaves out. */
  setsItself: boolean;
  /** Text, of which other bytes may be called equal. */
  collated: boolean;
}

export interface TablePlan {
  name: string;
  columns: readonly ColumnPlan[];
  /** Columns whose values name one row. Undefined: all of them together are the best there is. */
  key: readonly number[] | undefined;
  /** Every column's place in an image. */
  slots: ColumnSlots;
  /** Why its statements cannot be executed: then they are comments. */
  obstacles: Obstacles;
  /** Before every statement: what makes a comment of it, or nothing. */
  commented: string;
  /** `INSERT INTO … (…) VALUES (` of whole rows. */
  insertHead: Buffer;
  updateHead: Buffer;
  deleteHead: Buffer;
}

/**
 * What statements need to know of a table: names from the log (binlog_row_metadata=FULL) or from `table`, the definition that a schema dump or a server has, if its columns are
 * as many as the log's and called the same. Signs, character sets, members and the primary key likewise. `isAsked`: somebody gave definitions, if not this table's.
 */
export function planTable(
  map: TableMapEvent,
  flavour: "mysql" | "mariadb",
  table: Table | undefined,
  isAsked = false,
): TablePlan {
  const logged = decodeOptionalMetadata(map);
  const defined = table !== undefined && fits(table, map, logged) ? table : undefined;
  const columns = Array.from(map.types, (_, i) => planColumn(map, i, flavour, logged, defined?.columns[i]));
  const names = defined?.columns.map((column) => column.name) ?? logged.names;
  const obstacles = obstaclesOf(map, flavour, names, table, isAsked);
  const commented = obstacles.repeat === undefined ? "" : "-- ";
  const name = quoteTable({ schema: map.schema, name: map.table });
  const written = columns.filter((column) => !column.generated).map((column) => column.name);
  return {
    name,
    columns,
    key: keyOf(logged, defined),
    slots: { slotOf: Int32Array.from(map.types, (_, i) => i), count: map.columnCount },
    obstacles,
    commented,
    insertHead: Buffer.from(`${commented}INSERT INTO ${name} (${written.join(",")}) VALUES (`),
    updateHead: Buffer.from(`${commented}UPDATE ${name} SET `),
    deleteHead: Buffer.from(`${commented}DELETE FROM ${name} WHERE `),
  };
}

/** A definition of another time has other columns. */
function fits(table: Table, map: TableMapEvent, { names }: OptionalMetadata): boolean {
  if (table.columns.length !== map.columnCount) return false;
  return names === undefined || table.columns.every((column, i) => column.name === names[i]);
}

function keyOf(logged: OptionalMetadata, defined: Table | undefined): number[] | undefined {
  if (defined !== undefined) {
    const key = walkingKey(defined);
    return key?.columns.map(({ name }) => defined.columns.findIndex((column) => column.name === name));
  }
  const { primaryKey } = logged;
  if (primaryKey === undefined || primaryKey.some(({ prefix }) => prefix > 0)) return undefined;
  return primaryKey.map(({ column }) => column);
}

function planColumn(
  map: TableMapEvent,
  i: number,
  flavour: "mysql" | "mariadb",
  logged: OptionalMetadata,
  defined: Column | undefined,
): ColumnPlan {
  const type = map.types[i] as number;
  const metadata = map.metadata[i] as number;
  const known: ValueFacts = defined === undefined ? {} : valueFacts(defined);
  const collation = logged.collations?.[i];
  const collationText = collation === undefined ? undefined : collationName(collation, flavour);
  const charset = collationText === undefined ? known.charset : characterSetOf(collationText);
  const facts: ValueFacts = {
    unsigned: logged.unsigned?.[i] ?? known.unsigned,
    charset,
    members: known.members ?? memberTexts(logged.members?.[i], charset),
    dataType: known.dataType,
  };
  const name = defined?.name ?? logged.names?.[i];
  const quoted = name === undefined ? `@${i + 1}` : quoteName(name);
  const real = realType(type, metadata);
  const as = writtenAs(real, facts);
  return {
    name: quoted,
    nameBytes: Buffer.from(quoted),
    as,
    type,
    metadata,
    lengthBytes: Math.max(0, -(map.lengthCodes[i] as number)),
    lengthMax: as === "padded-bytes" ? stringLengthMax(metadata) : 0,
    facts,
    enumLiterals: real === COLUMN_TYPE.ENUM ? enumLiterals(facts.members) : undefined,
    namesSet: real === COLUMN_TYPE.SET && facts.members !== undefined && !facts.members.includes(""),
    generated: defined !== undefined && defined.generated !== "no",
    setsItself: TIMES.has(real),
    collated: as === "utf8" || as === "latin1" || as === "characters" || as === "guessed-text",
  };
}

const TIMES = new Set<number>([
  COLUMN_TYPE.TIMESTAMP,
  COLUMN_TYPE.TIMESTAMP2,
  COLUMN_TYPE.DATETIME,
  COLUMN_TYPE.DATETIME2,
]);

function writtenAs(real: number, { unsigned, charset, dataType }: ValueFacts): WrittenAs {
  switch (real) {
    case COLUMN_TYPE.TINY:
    case COLUMN_TYPE.SHORT:
    case COLUMN_TYPE.INT24:
    case COLUMN_TYPE.LONG:
    case COLUMN_TYPE.LONGLONG:
      return unsigned === true ? "unsigned" : "signed";
    case COLUMN_TYPE.FLOAT:
    case COLUMN_TYPE.DOUBLE:
      return "real";
    case COLUMN_TYPE.ENUM:
    case COLUMN_TYPE.SET:
      return "members";
    case COLUMN_TYPE.JSON:
      return "json";
    case COLUMN_TYPE.STRING:
      if (dataType !== undefined) return "other";
      return charset === "binary" ? "padded-bytes" : textAs(charset);
    case COLUMN_TYPE.VARCHAR:
    case COLUMN_TYPE.VAR_STRING:
    case COLUMN_TYPE.TINY_BLOB:
    case COLUMN_TYPE.BLOB:
    case COLUMN_TYPE.MEDIUM_BLOB:
    case COLUMN_TYPE.LONG_BLOB:
      return charset === "binary" ? "bytes" : textAs(charset);
    default:
      return "other";
  }
}

function textAs(charset: string | undefined): WrittenAs {
  switch (charset) {
    case undefined:
      return "guessed-text";
    case "utf8mb4":
    case "utf8mb3":
    case "utf8":
    case "ascii":
      return "utf8";
    case "latin1":
      return "latin1";
    default:
      return "characters";
  }
}

/** Members in the log are in their column's character set; undefined where that cannot be read here: then they are told by number. */
function memberTexts(members: readonly Buffer[] | undefined, charset: string | undefined): string[] | undefined {
  const as = textAs(charset);
  if (members === undefined || as === "characters" || as === "guessed-text") return undefined;
  const texts = members.map((member) => member.toString(as === "latin1" ? "latin1" : "utf8"));
  return as === "latin1" && texts.some((text) => /[\u0080-\u009f]/.test(text)) ? undefined : texts;
}

/** By name, unless two members could be taken for one another. */
function enumLiterals(members: readonly string[] | undefined): (string | undefined)[] | undefined {
  if (members === undefined) return undefined;
  const seen = new Set(members.map((member) => member.trimEnd().toLowerCase()));
  if (seen.size !== members.length) return undefined;
  return [undefined, ...members.map(quoteUtf8)];
}
