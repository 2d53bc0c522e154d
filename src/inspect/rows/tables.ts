import { ReplicationError } from "../../base/error.ts";
import { decodeOptionalMetadata } from "../../binlog/events/optional-metadata.ts";
import { rowsTableId } from "../../binlog/events/rows.ts";
import { type TableMapEvent, TableMaps } from "../../binlog/events/table-map.ts";
import type { BinlogFormat } from "../../binlog/format.ts";
import type { Table } from "../../schema/catalog.ts";
import { describeTable } from "../../schema/names.ts";
import { DefinedTables } from "./defined-tables.ts";
import type { Obstacle } from "./obstacle.ts";
import { mentions } from "./table-pattern.ts";
import { planTable, type TablePlan } from "./table-plan.ts";

export interface OpenTable {
  map: TableMapEvent;
  plan: TablePlan;
  isWanted: boolean;
}

export interface TablesOptions {
  /** Definitions of tables, for the names, keys and character sets that the log does not have. */
  tables?: readonly Table[];
  /** `schema.table`, `schema.*`, `*.table`: only rows of these. */
  only?: readonly string[] | undefined;
  /** Asks a server for a table as it is now: what a DDL in the log has made another. */
  lookUp?: ((schema: string, name: string) => Promise<Table | undefined>) | undefined;
}

/** A source counts table ids up with every definition that changes. */
const OPEN_MAX = 4096;

/** The tables that the log's table ids stand for, and how their rows are written. Plans are made once for each form of a table. */
export class OpenTables {
  /** By quoted name: why changes of a table are only comments. */
  readonly obstacles = new Map<string, Obstacle>();
  readonly #maps = new TableMaps();
  /** By table id, in the form that it had last. */
  readonly #open = new Map<number, OpenTable>();
  readonly #defined: DefinedTables;
  readonly #lookUp: TablesOptions["lookUp"];
  readonly #wanted: readonly string[] | undefined;
  /** Of `#wanted`, those of which nothing has come. */
  readonly #unseen: Set<string>;
  /** Their definitions are to be asked for before their rows come. */
  #old: { schema: string; name: string }[] = [];

  constructor({ tables = [], only, lookUp }: TablesOptions) {
    this.#defined = new DefinedTables(tables);
    this.#wanted = only;
    this.#unseen = new Set(only);
    this.#lookUp = lookUp;
  }

  /** Patterns of tables of which nothing came. */
  get unseen(): string[] {
    return [...this.#unseen];
  }

  restart(): void {
    this.#maps.clear();
    this.#open.clear();
  }

  /** Behind it, and before its rows, comes `refresh`. */
  add(event: Buffer, format: BinlogFormat): void {
    const { schema, table } = this.#maps.add(event, format);
    if (this.#lookUp !== undefined && this.#defined.isOld(schema, table)) this.#old.push({ schema, name: table });
  }

  /** Takes definitions that a DDL made old from the server again. */
  refresh(): Promise<void> | undefined {
    return this.#old.length === 0 ? undefined : this.#refresh();
  }

  async #refresh(): Promise<void> {
    for (const { schema, name } of this.#old.splice(0)) {
      this.#defined.set(schema, name, await this.#lookUp?.(schema, name));
    }
    this.#open.clear();
  }

  /** Undefined: rows of this table are not wanted. @throws ReplicationError GRAMMAR */
  of(event: Buffer, format: BinlogFormat): OpenTable | undefined {
    const id = rowsTableId(event, format);
    const map = this.#maps.get(id);
    if (map === undefined) {
      // What a filter of the source left of a statement: it ends it and changes nothing.
      if (id === DUMMY_TABLE_ID) return undefined;
      throw new ReplicationError("GRAMMAR", `row events of table id ${id} without a table map before them`);
    }
    let open = this.#open.get(id);
    if (open?.map !== map) {
      if (this.#open.size >= OPEN_MAX) this.#open.clear();
      open = { map, plan: this.#plan(map, format), isWanted: this.#isWanted(map) };
      this.#open.set(id, open);
    }
    return open.isWanted ? open : undefined;
  }

  /** A statement cannot be assigned to tables: one that mentions the name of a wanted table is wanted. */
  wantsStatement(text: string): boolean {
    const wanted = this.#wanted;
    if (wanted === undefined) return true;
    const mentioned = wanted.filter((pattern) => mentions(text, pattern));
    for (const pattern of mentioned) this.#unseen.delete(pattern);
    return mentioned.length > 0;
  }

  /** A statement of the log, wanted or not, that may define tables. `schema`: the default one. */
  defines(text: string, schema: string): void {
    this.#defined.statement(text, schema);
  }

  #plan(map: TableMapEvent, { flavour }: BinlogFormat): TablePlan {
    const logged = decodeOptionalMetadata(map);
    const table = this.#defined.find(map.schema, map.table, map.columnCount, logged.collations !== undefined);
    return planTable(map, flavour, table, this.#defined.isAsked);
  }

  #isWanted({ schema, table }: TableMapEvent): boolean {
    const wanted = this.#wanted;
    if (wanted === undefined) return true;
    const name = describeTable({ schema, name: table });
    const matching = wanted.filter((pattern) => [name, `${schema}.*`, `*.${table}`, "*.*"].includes(pattern));
    for (const pattern of matching) this.#unseen.delete(pattern);
    return matching.length > 0;
  }
}

const DUMMY_TABLE_ID = 0xff_ff_ff;
