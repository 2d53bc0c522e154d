import type { Table } from "../../schema/catalog.ts";
import { parseSchemaDump } from "../../schema/dump.ts";
import { describeTable } from "../../schema/names.ts";
import { mentions } from "./table-pattern.ts";

const DEFINES = /^\s*(?:\/\*[\s\S]*?\*\/\s*)*(?:CREATE|ALTER|DROP|RENAME)\b/i;
const CREATES_TABLE = /^\s*(?:\/\*[\s\S]*?\*\/\s*)*CREATE\s+(?:OR\s+REPLACE\s+)?TABLE\b/i;

/**
 * Definitions that were given, and those that CREATE TABLE has in the log itself.
 *
 * Invariant: of the log's own a table is here as it is at this place of the log; a later statement that names it and defines something takes it away. What the log leaves to a server's
 * defaults, the character sets, is believed only where the row events tell it.
 */
export class DefinedTables {
  readonly #given: Map<string, Table>;
  readonly #logged = new Map<string, Table>();
  readonly #definedAt = new Map<string, number>();
  /** Statements that define something, so far. */
  #statements = 0;
  /** Somebody gave definitions. */
  readonly isAsked: boolean;

  constructor(given: readonly Table[]) {
    this.#given = new Map(given.map((table) => [describeTable(table), table]));
    this.isAsked = given.length > 0;
  }

  /** The definition with that many columns; else one that has others, or none. `knowsCharsets`: from elsewhere. */
  find(schema: string, name: string, columns: number, knowsCharsets: boolean): Table | undefined {
    const key = describeTable({ schema, name });
    // A dump of one schema may not name it.
    const given = this.#given.get(key) ?? this.#given.get(describeTable({ schema: "", name }));
    if (given?.columns.length === columns) return given;
    const logged = this.#logged.get(key);
    const isUsable = knowsCharsets || logged?.columns.every(({ charset }) => charset === undefined) === true;
    return isUsable ? (logged ?? given) : given;
  }

  statement(text: string, schema: string): void {
    if (!DEFINES.test(text)) return;
    this.#statements++;
    for (const [key] of this.#logged) if (mentions(text, key)) this.#logged.delete(key);
    // Names in another character set than UTF-8 would be wrong ones.
    if (!CREATES_TABLE.test(text) || text.includes("\uFFFD")) return;
    const use = schema === "" ? "" : `USE \`${schema.replaceAll("`", "``")}\`;\n`;
    for (const table of parseSchemaDump(use + text).tables) this.#logged.set(describeTable(table), table);
  }

  /** What is known of it was asked for before the last statement that defines something. */
  isOld(schema: string, name: string): boolean {
    return (this.#definedAt.get(describeTable({ schema, name })) ?? 0) < this.#statements;
  }

  /** As a server says that it is now. */
  set(schema: string, name: string, table: Table | undefined): void {
    const key = describeTable({ schema, name });
    if (table === undefined) this.#given.delete(key);
    else this.#given.set(key, table);
    this.#definedAt.set(key, this.#statements);
  }
}
