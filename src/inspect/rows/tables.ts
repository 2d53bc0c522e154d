import { ReplicationError } from "../../base/error.ts";
import { rowsTableId } from "../../binlog/events/rows.ts";
import { type TableMapEvent, TableMaps } from "../../binlog/events/table-map.ts";
import type { BinlogFormat } from "../../binlog/format.ts";
import type { Table } from "../../schema/catalog.ts";
import { describeTable } from "../../schema/names.ts";
import { planTable, type TablePlan } from "./table-plan.ts";

/** `shop.orders`, `shop.*`; upper and lower case are told apart, as in the log. */
export function parseTablePattern(text: string): string {
  if (/^[^.]+\.[^.]+$/.test(text)) return text;
  throw new ReplicationError("CONFIG", `"${text}" names no table`, {
    hint: "write schema.table, or schema.* for all of a schema",
  });
}

export interface OpenTable {
  map: TableMapEvent;
  plan: TablePlan;
  isWanted: boolean;
}

/** A source counts table ids up with every definition that changes. */
const OPEN_MAX = 4096;

/** The tables that the log's table ids stand for, and how their rows are written. Plans are made once for each form of a table. */
export class OpenTables {
  readonly #maps = new TableMaps();
  /** By table id, in the form that it had last. */
  readonly #open = new Map<number, OpenTable>();
  readonly #defined: ReadonlyMap<string, Table>;
  readonly #wanted: readonly string[] | undefined;
  /** Tables, told once, whose columns have no names. */
  readonly nameless = new Set<string>();

  constructor(tables: readonly Table[], wanted: readonly string[] | undefined) {
    this.#defined = new Map(tables.map((table) => [describeTable(table), table]));
    this.#wanted = wanted;
  }

  restart(): void {
    this.#maps.clear();
    this.#open.clear();
  }

  add(event: Buffer, format: BinlogFormat): void {
    this.#maps.add(event, format);
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
      const plan = planTable(map, format.flavour, this.#defined.get(`${map.schema}.${map.table}`));
      open = { map, plan, isWanted: this.#isWanted(map) };
      this.#open.set(id, open);
    }
    return open.isWanted ? open : undefined;
  }

  /** A statement cannot be assigned to tables: one that mentions the name of a wanted table is wanted. */
  wantsStatement(text: string): boolean {
    return this.#wanted === undefined || this.#wanted.some((pattern) => mentions(text, pattern));
  }

  #isWanted({ schema, table }: TableMapEvent): boolean {
    const wanted = this.#wanted;
    return wanted === undefined || wanted.includes(`${schema}.${table}`) || wanted.includes(`${schema}.*`);
  }
}

const DUMMY_TABLE_ID = 0xff_ff_ff;

function mentions(text: string, pattern: string): boolean {
  const [schema = "", table = ""] = pattern.split(".");
  return text.toLowerCase().includes((table === "*" ? schema : table).toLowerCase());
}
