import { type Table } from "./catalog.ts";
import { defaultCollationOf } from "./charsets.ts";
import { columnOf, fullCollation } from "./dump-column.ts";
import { addConstraint, addKey, isConstraint } from "./dump-keys.ts";
import { type DumpToken, DumpTokens, nameAt, skipGroup, splitAtCommas, wordAt } from "./dump-tokens.ts";
import type { ForeignKey } from "./key-catalog.ts";

/** What a schema has of tables and of keys between them. */
export interface Schema {
  tables: readonly Table[];
  foreignKeys: readonly ForeignKey[];
}

/**
 * The tables that a dump makes: text of mysqldump, mariadb-dump, or of SHOW CREATE TABLE, of MySQL 5.6 to 9.7 and MariaDB, with or without rows. What `readTables` and
 * `readForeignKeys` say of the same tables on the server, except that sizes are 0, and that a referential action of RESTRICT is told as NO ACTION where the
 * text tells none. What it does not understand (views, routines, triggers, rows) is passed over. Where the text does not name a schema it is "".
 */
export function parseSchemaDump(sql: string): Schema {
  return new DumpParser(sql).parse();
}

class DumpParser {
  readonly #tokens: DumpTokens;
  readonly #tables = new Map<string, Table>();
  readonly #collations = new Map<string, string>();
  readonly #serverCollation: string;
  #foreignKeys: ForeignKey[] = [];
  #schema: string;
  #ahead: DumpToken | undefined;

  constructor(sql: string) {
    this.#tokens = new DumpTokens(sql);
    const head = sql.slice(0, 4096);
    this.#schema = /^-- Host: .*?\bDatabase: (\S+)/m.exec(head)?.[1] ?? "";
    this.#serverCollation = serverCollation(/^-- Server version\s+(\S+)/m.exec(head)?.[1]);
  }

  parse(): Schema {
    for (let token = this.#next(); token !== undefined; token = this.#next()) {
      const word = token.kind === "word" ? token.text.toUpperCase() : "";
      if (word === "CREATE" || word === "ALTER" || word === "DROP" || word === "USE") this.#run(this.#statement(token));
      else if (token.kind !== "delimiter") this.#tokens.skipStatement();
    }
    return { tables: [...this.#tables.values()], foreignKeys: this.#foreignKeys };
  }

  #next(): DumpToken | undefined {
    const token = this.#ahead ?? this.#tokens.next();
    this.#ahead = undefined;
    return token;
  }

  /** Up to its delimiter. Texts of SHOW CREATE TABLE may follow each other without one: then up to the next CREATE, or what a client puts between them. */
  #statement(first: DumpToken): DumpToken[] {
    const tokens = [first];
    let depth = 0;
    for (let token = this.#next(); token !== undefined && token.kind !== "delimiter"; token = this.#next()) {
      const { kind, text } = token;
      if (kind === "symbol" && text === "(") depth++;
      if (kind === "symbol" && text === ")") depth--;
      if (depth === 0 && tokens.length > 3 && ((kind === "word" && /^create$/i.test(text)) || text === "*")) {
        this.#ahead = token;
        break;
      }
      tokens.push(token);
      // `Create Table:` stands before it where a client shows columns as lines.
      if (tokens.length === 3 && kind === "symbol" && text === ":") tokens.length = 0;
      if (tokens.length === 2 && isOfNoTable(tokens)) {
        this.#tokens.skipStatement();
        return [];
      }
    }
    return tokens;
  }

  #run(tokens: readonly DumpToken[]): void {
    const words = [0, 1, 2, 3].map((at) => wordAt(tokens, at));
    if (words[0] === "USE") this.#schema = nameAt(tokens, 1);
    else if (words[1] === "DATABASE" || words[1] === "SCHEMA") this.#schemaDefaults(tokens);
    else if (words[0] === "CREATE") {
      if (words[1] === "TABLE") this.#createTable(tokens, 2);
      else if (words[1] === "OR" && words[3] === "TABLE") this.#createTable(tokens, 4);
      else if (words[1] === "UNIQUE") this.#createUniqueIndex(tokens);
    } else if (words[1] === "TABLE" || words[1] === "VIEW") {
      if (words[0] === "DROP") this.#drop(tokens);
      else this.#alterTable(tokens);
    }
  }

  #schemaDefaults(tokens: readonly DumpToken[]): void {
    const at = behindIfs(tokens, 2);
    const name = nameAt(tokens, at);
    const collation = collationAt(tokens, at + 1);
    if (collation !== undefined) this.#collations.set(name, collation);
    else if (wordAt(tokens, 0) === "DROP") this.#collations.delete(name);
  }

  #createTable(tokens: readonly DumpToken[], from: number): void {
    const { schema, name, end: open } = this.#tableName(tokens, behindIfs(tokens, from));
    if (tokens[open]?.text !== "(") return;
    const end = skipGroup(tokens, open);
    if (tokens[end - 1]?.text !== ")") return;
    const options = withoutGroups(tokens.slice(end));
    const collation = collationAt(options, 0) ?? this.#collations.get(schema) ?? this.#serverCollation;
    const table: Table = {
      schema,
      name,
      kind: hasWords(options, "SYSTEM", "VERSIONING") ? "system-versioned" : "table",
      engine: valueOf(options, "ENGINE") ?? "InnoDB",
      collation,
      rowsEstimate: 0,
      bytesEstimate: 0,
      partitioned: hasWords(options, "PARTITION", "BY"),
      columns: [],
      keys: [],
    };
    const definitions = splitAtCommas(tokens.slice(open + 1, end - 1));
    if (definitions.length === 0 || wordAt(definitions[0] ?? [], 0) === "SELECT") return;
    this.#forget(table);
    const keysOfColumns: { name: string; token: DumpToken }[] = [];
    for (const definition of definitions) {
      if (isConstraint(definition)) continue;
      const { column, isPrimary, isUnique } = columnOf(definition, collation);
      table.columns.push(column);
      const token = definition[0] as DumpToken;
      if (isPrimary) keysOfColumns.push({ name: "PRIMARY", token });
      else if (isUnique) keysOfColumns.push({ name: column.name, token });
    }
    for (const { name: key, token } of keysOfColumns) {
      addKey(table, { name: key, unique: true, parts: [token], options: [] });
    }
    for (const definition of definitions)
      if (isConstraint(definition)) addConstraint(definition, table, this.#foreignKeys);
    this.#tables.set(keyOf(table), table);
  }

  /** Some tools write keys behind the tables. */
  #alterTable(tokens: readonly DumpToken[]): void {
    const { end, ...named } = this.#tableName(tokens, behindIfs(tokens, 2));
    const table = this.#tables.get(keyOf(named));
    if (table === undefined) return;
    for (const change of splitAtCommas(tokens.slice(end))) {
      if (wordAt(change, 0) === "ADD" && isConstraint(change.slice(1))) {
        addConstraint(change.slice(1), table, this.#foreignKeys);
      }
    }
  }

  /** CREATE UNIQUE INDEX name ON table (columns) */
  #createUniqueIndex(tokens: readonly DumpToken[]): void {
    const on = tokens.findIndex((_, at) => wordAt(tokens, at) === "ON");
    const { end, ...named } = this.#tableName(tokens, on + 1);
    const table = this.#tables.get(keyOf(named));
    if (on === -1 || table === undefined) return;
    const close = skipGroup(tokens, end);
    const parts = tokens.slice(end + 1, close - 1);
    addKey(table, { name: nameAt(tokens, behindIfs(tokens, 3)), unique: true, parts, options: tokens.slice(close) });
  }

  /** Old dumps make a table in the place of each view, and drop it. */
  #drop(tokens: readonly DumpToken[]): void {
    for (const part of splitAtCommas(tokens.slice(behindIfs(tokens, 2)))) this.#forget(this.#tableName(part, 0));
  }

  #forget(table: { schema: string; name: string }): void {
    if (!this.#tables.delete(keyOf(table))) return;
    this.#foreignKeys = this.#foreignKeys.filter((key) => key.schema !== table.schema || key.table !== table.name);
  }

  #tableName(tokens: readonly DumpToken[], at: number): { schema: string; name: string; end: number } {
    const name = nameAt(tokens, at);
    if (tokens[at + 1]?.text !== ".") return { schema: this.#schema, name, end: at + 1 };
    return { schema: name, name: nameAt(tokens, at + 2), end: at + 3 };
  }
}

const keyOf = ({ schema, name }: { schema: string; name: string }): string => `${schema}\0${name}`;

/** What a dump has of these can be long: a routine's body. */
function isOfNoTable(tokens: readonly DumpToken[]): boolean {
  const [first, second] = [wordAt(tokens, 0), wordAt(tokens, 1)];
  if (first === "USE") return false;
  return (
    !["TABLE", "DATABASE", "SCHEMA", "VIEW", "OR", "UNIQUE"].includes(second ?? "") ||
    (first === "CREATE" && second === "VIEW")
  );
}

/** Behind IF EXISTS and IF NOT EXISTS. */
function behindIfs(tokens: readonly DumpToken[], from: number): number {
  let at = from;
  while (["IF", "NOT", "EXISTS"].includes(wordAt(tokens, at) ?? "")) at++;
  return at;
}

/** The collation of options: of a table, or a schema. */
function collationAt(tokens: readonly DumpToken[], from: number): string | undefined {
  const options = tokens.slice(from);
  const charset = (valueOf(options, "CHARSET") ?? valueOf(options, "SET"))?.toLowerCase();
  const collation = valueOf(options, "COLLATE")?.toLowerCase();
  if (collation !== undefined) return fullCollation(collation, charset);
  return charset === undefined ? undefined : defaultCollationOf(charset);
}

/** Of `NAME = value` or `NAME value`. */
function valueOf(options: readonly DumpToken[], name: string): string | undefined {
  const at = options.findIndex((_, index) => wordAt(options, index) === name);
  if (at === -1) return undefined;
  return nameAt(options, options[at + 1]?.text === "=" ? at + 2 : at + 1);
}

const hasWords = (tokens: readonly DumpToken[], first: string, second: string): boolean =>
  tokens.some((_, at) => wordAt(tokens, at) === first && wordAt(tokens, at + 1) === second);

function withoutGroups(tokens: readonly DumpToken[]): DumpToken[] {
  const left: DumpToken[] = [];
  for (let at = 0; at < tokens.length;) {
    const token = tokens[at] as DumpToken;
    if (token.kind === "symbol" && token.text === "(") at = skipGroup(tokens, at);
    else {
      left.push(token);
      at++;
    }
  }
  return left;
}

/** Of a server that nobody told otherwise; the newest's, where the dump does not say which server it is of. */
function serverCollation(version = "9"): string {
  const [major = 0, minor = 0] = version.split(".").map((part) => Number.parseInt(part, 10) || 0);
  if (/mariadb/i.test(version)) {
    return major > 11 || (major === 11 && minor >= 6) ? "utf8mb4_uca1400_ai_ci" : "latin1_swedish_ci";
  }
  return major >= 8 ? "utf8mb4_0900_ai_ci" : "latin1_swedish_ci";
}
