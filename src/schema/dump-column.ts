import { characterBytesMax, defaultCollationOf } from "./charsets.ts";
import { type Column, charsetName, collationName } from "./catalog.ts";
import { characterSetOf } from "./collation-names.ts";
import { type DumpToken, nameAt, skipGroup, wordAt } from "./dump-tokens.ts";

/** A column, and what its definition says of keys. */
export interface ColumnDefinition {
  column: Column;
  isPrimary: boolean;
  isUnique: boolean;
}

/** Names that servers take for a type and do not tell again. */
const SYNONYMS: Readonly<Record<string, string>> = {
  bool: "tinyint",
  boolean: "tinyint",
  character: "char",
  dec: "decimal",
  fixed: "decimal",
  int1: "tinyint",
  int2: "smallint",
  int3: "mediumint",
  int4: "int",
  int8: "bigint",
  integer: "int",
  middleint: "mediumint",
  nchar: "char",
  number: "decimal",
  numeric: "decimal",
  nvarchar: "varchar",
  real: "double",
  serial: "bigint",
  varcharacter: "varchar",
};

const TEXT_BYTES: Readonly<Record<string, number>> = {
  tinytext: 255,
  text: 65_535,
  mediumtext: 16_777_215,
  longtext: 4_294_967_295,
  tinyblob: 255,
  blob: 65_535,
  mediumblob: 16_777_215,
  longblob: 4_294_967_295,
};
const CHARACTER_TYPES = new Set(["char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set"]);

/** `tokens`: one definition of a column, as SHOW CREATE TABLE writes it. `collation`: the table's. */
export function columnOf(tokens: readonly DumpToken[], collation: string | undefined): ColumnDefinition {
  const type = typeAt(tokens, 1);
  const attributes = attributesAt(tokens, type.end);
  const dataType = type.dataType;
  const isCharacter = CHARACTER_TYPES.has(dataType);
  const own = isCharacter ? collationOfColumn(attributes, collation) : undefined;
  const charset = own === undefined ? undefined : charsetName(characterSetOf(own));
  return {
    column: {
      name: nameAt(tokens, 0),
      dataType,
      columnType: type.columnType,
      nullable: attributes.nullable && type.name !== "serial" && !attributes.isPrimary,
      charset,
      collation: own === undefined ? undefined : collationName(own),
      octetLength: octetLengthOf(dataType, type.arguments, charset),
      generated: attributes.generated,
      invisible: attributes.invisible,
      autoIncrement: attributes.autoIncrement || type.name === "serial",
    },
    isPrimary: attributes.isPrimary,
    isUnique: attributes.isUnique || type.name === "serial",
  };
}

interface ColumnTypeText {
  name: string;
  dataType: string;
  columnType: string;
  /** As written. */
  arguments: readonly string[];
  end: number;
}

function typeAt(tokens: readonly DumpToken[], start: number): ColumnTypeText {
  let at = start;
  let name = wordAt(tokens, at++)?.toLowerCase() ?? "";
  if (name === "national") name = wordAt(tokens, at++)?.toLowerCase() ?? "";
  const next = wordAt(tokens, at);
  if (name === "double" && next === "PRECISION") at++;
  if (name === "long") {
    name = next === "VARBINARY" ? "mediumblob" : "mediumtext";
    if (next === "VARBINARY" || next === "VARCHAR") at++;
  }
  if ((name === "char" || name === "character") && next === "VARYING") {
    name = "varchar";
    at++;
  }
  let columnType = name;
  const args: string[] = [];
  if (tokens[at]?.text === "(") {
    const end = skipGroup(tokens, at);
    const inner = tokens.slice(at + 1, end - 1);
    for (const { text } of inner) if (text !== ",") args.push(text);
    columnType += `(${inner.map(({ text }) => text).join("")})`;
    at = end;
  }
  for (let word = wordAt(tokens, at); word === "UNSIGNED" || word === "ZEROFILL"; word = wordAt(tokens, at)) {
    columnType += ` ${word.toLowerCase()}`;
    at++;
  }
  // In such a comment both of MariaDB's texts have it.
  if (wordAt(tokens, at) === "COMPRESSED") columnType += " /*M!100301 COMPRESSED*/";
  return { name, dataType: SYNONYMS[name] ?? name, columnType, arguments: args, end: at };
}

interface Attributes {
  nullable: boolean;
  charset: string | undefined;
  collation: string | undefined;
  generated: Column["generated"];
  invisible: boolean;
  autoIncrement: boolean;
  isPrimary: boolean;
  isUnique: boolean;
}

function attributesAt(tokens: readonly DumpToken[], start: number): Attributes {
  const found: Attributes = {
    nullable: true,
    charset: undefined,
    collation: undefined,
    generated: "no",
    invisible: false,
    autoIncrement: false,
    isPrimary: false,
    isUnique: false,
  };
  for (let at = start; at < tokens.length; at++) {
    const token = tokens[at] as DumpToken;
    if (token.text === "(" && token.kind === "symbol") {
      at = skipGroup(tokens, at) - 1;
      continue;
    }
    switch (wordAt(tokens, at)) {
      case "NOT":
        if (wordAt(tokens, at + 1) === "NULL") found.nullable = false;
        break;
      // Whatever word is behind these is none of the attributes.
      case "DEFAULT":
      case "COMMENT":
        at++;
        break;
      case "CHARSET":
        found.charset = nameAt(tokens, at + 1).toLowerCase();
        break;
      case "SET":
        if (wordAt(tokens, at - 1) === "CHARACTER") found.charset = nameAt(tokens, at + 1).toLowerCase();
        break;
      case "COLLATE":
        found.collation = nameAt(tokens, at + 1).toLowerCase();
        break;
      case "AS":
        if (found.generated === "no") found.generated = "virtual";
        // When a version of the row begins and ends.
        if (wordAt(tokens, at + 1) === "ROW") {
          found.generated = "stored";
          found.nullable = false;
        }
        break;
      case "STORED":
      case "PERSISTENT":
        found.generated = "stored";
        break;
      case "INVISIBLE":
        found.invisible = true;
        break;
      case "AUTO_INCREMENT":
        found.autoIncrement = true;
        break;
      case "PRIMARY":
        found.isPrimary = true;
        break;
      case "UNIQUE":
        found.isUnique = true;
        break;
      default:
        break;
    }
  }
  return found;
}

function collationOfColumn({ charset, collation }: Attributes, table: string | undefined): string | undefined {
  if (collation !== undefined) return fullCollation(collation, charset ?? table);
  return charset === undefined ? table : defaultCollationOf(charset);
}

/** MariaDB may leave the character set out of a collation's name (`uca1400_ai_ci`), which then is that of `beside`: a character set, or a collation of it. */
export function fullCollation(collation: string, beside: string | undefined): string {
  if (!collation.startsWith("uca1400_") || beside === undefined) return collation;
  return `${beside.includes("_") ? characterSetOf(beside) : beside}_${collation}`;
}

function octetLengthOf(dataType: string, args: readonly string[], charset: string | undefined): number | undefined {
  const bytes = charset === undefined ? 1 : characterBytesMax(charset);
  switch (dataType) {
    case "char":
    case "varchar":
      return Number(args[0] ?? 1) * bytes;
    case "binary":
    case "varbinary":
      return Number(args[0] ?? 1);
    case "vector":
      return Number(args[0] ?? 1) * 4;
    case "enum":
      return Math.max(...args.map(lengthOf)) * bytes;
    case "set":
      return (args.map(lengthOf).reduce((sum, length) => sum + length, 0) + Math.max(0, args.length - 1)) * bytes;
    default:
      return TEXT_BYTES[dataType];
  }
}

/** Characters of a member. */
const lengthOf = (literal: string): number => Array.from(literal.slice(1, -1).replaceAll(/''|\\./gsu, "'")).length;
