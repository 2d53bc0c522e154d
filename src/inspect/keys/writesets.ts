import { ReplicationError } from "../../base/error.ts";
import type { TableMapEvent } from "../../binlog/events/table-map.ts";
import type { BinlogFormat } from "../../binlog/format.ts";
import type { Table } from "../../schema/catalog.ts";
import { characterSetOf, collationName } from "../../schema/collation-names.ts";
import type { Schema } from "../../schema/dump.ts";
import { WritesetExtractor } from "../../schedule/writeset/extract.ts";
import { murmur32 } from "../../schedule/writeset/key-hash.ts";
import { planTable, type TablePlan } from "../../schedule/writeset/plan.ts";
import { EMPTY_WRITESET, OPAQUE_WRITESET, type Writeset } from "../../schedule/writeset.ts";
import type { Transaction } from "../../transaction/transaction.ts";
import { KnownSchema } from "./known-schema.ts";
import { type KeysFrom, tableOfLog } from "./log-table.ts";
import { OfflineCollation } from "./offline-collation.ts";
import type { WithKey } from "./with-key.ts";
import { WithoutTables } from "./without-tables.ts";

export interface OfflineWritesetsOptions {
  /** undefined: keys are what the log tells of them, or guessed. */
  schema: Schema | undefined;
  withKeys?: readonly WithKey[];
  /** `schema.table` each: their rows count for nothing. */
  withoutTables?: readonly string[];
}

/**
 * Writesets of the transactions of a log, without a server: by the keys of a schema, else those that the log tells, else a guess, and by an approximation of how texts
 * compare. For predictions: what it does not know (the other keys of a table whose primary key is in the log, foreign keys without a schema) makes transactions look
 * more independent than they are.
 */
export class OfflineWritesets {
  readonly #schema: KnownSchema;
  readonly #withKeys: readonly WithKey[];
  readonly #without: WithoutTables;
  readonly #extractor: WritesetExtractor;
  readonly #plans = new WeakMap<TableMapEvent, TablePlan>();
  readonly #collations = new Map<string, OfflineCollation>();
  readonly #keysFrom = new Map<string, KeysFrom>();
  #flavour: BinlogFormat["flavour"] = "mysql";

  constructor({ schema, withKeys = [], withoutTables = [] }: OfflineWritesetsOptions) {
    this.#schema = new KnownSchema(schema ?? { tables: [], foreignKeys: [] });
    this.#withKeys = withKeys;
    this.#without = new WithoutTables(withoutTables);
    this.#extractor = new WritesetExtractor(hash53, (map) => this.#planOf(map));
  }

  /** In the order of the log. @throws ReplicationError CORRUPT_EVENT; CONFIG when a table has no column that `withKeys` names */
  of(transaction: Transaction): Writeset {
    const { kind, body, format } = transaction;
    if (kind === "empty" || kind === "alter-start" || kind === "alter-rollback") return EMPTY_WRITESET;
    if (kind !== "rows") return OPAQUE_WRITESET;
    const isPart = this.#without.touches(transaction);
    if (isPart && this.#without.isAllOf(transaction)) return EMPTY_WRITESET;
    if (!("events" in body)) return OPAQUE_WRITESET;
    this.#flavour = format.flavour;
    const events = isPart ? this.#without.events(body.events, format) : body.events;
    return this.#extractor.extract(events, format).writeset;
  }

  /** Of every table whose rows were met, in the order of their names. */
  keysFrom(): { table: string; from: KeysFrom }[] {
    const tables = [...this.#keysFrom].map(([table, from]) => ({ table, from }));
    return tables.sort((a, b) => (a.table < b.table ? -1 : 1));
  }

  #planOf(map: TableMapEvent): TablePlan {
    let plan = this.#plans.get(map);
    if (plan === undefined) {
      plan = this.#makePlan(map);
      this.#plans.set(map, plan);
    }
    return plan;
  }

  #makePlan(map: TableMapEvent): TablePlan {
    const { table, from } = this.#tableOf(map);
    const plan = planTable(map, {
      flavour: this.#flavour,
      table,
      foreignKeys: this.#schema.foreignKeysOf(table),
      referencedBy: this.#schema.referencedBy(table),
      collation: (name) => this.#collation(name),
      charsetOfCollation: (id) => {
        const name = collationName(id, this.#flavour);
        return name === undefined ? undefined : characterSetOf(name);
      },
      hash: hash53,
    });
    const isUseless = plan.opaque || !plan.keys.some(({ role }) => role === "unique");
    this.#keysFrom.set(`${map.schema}.${map.table}`, isUseless ? "none" : from);
    return plan;
  }

  #tableOf(map: TableMapEvent): { table: Table; from: KeysFrom } {
    const known = this.#schema.table(map.schema, map.table);
    const { table, from } =
      known === undefined ? tableOfLog(map, this.#flavour) : { table: known, from: "schema" as const };
    const wanted = this.#withKeys.filter((key) => key.table === `${map.schema}.${map.table}`);
    if (wanted.length === 0) return { table, from };
    const kept = from === "guess" ? [] : table.keys;
    const keys = wanted.map((key, index) => ({
      name: `with-key ${index + 1}`,
      unique: true,
      hidden: false,
      columns: key.columns.map((name) => ({
        name: columnNamed(table, name, key),
        prefix: undefined,
        nullable: false,
        descending: false,
      })),
    }));
    return { table: { ...table, keys: [...kept, ...keys] }, from: "schema" };
  }

  #collation(name: string): OfflineCollation {
    let collation = this.#collations.get(name);
    if (collation === undefined) {
      collation = new OfflineCollation(name);
      this.#collations.set(name, collation);
    }
    return collation;
  }
}

function columnNamed({ columns }: Table, wanted: string, { table }: WithKey): string {
  const index = /^@\d+$/.test(wanted)
    ? Number(wanted.slice(1)) - 1
    : columns.findIndex(({ name }) => name.toLowerCase() === wanted.toLowerCase());
  const column = columns[index];
  if (column !== undefined) return column.name;
  const namesAreKnown = columns.some(({ name }) => !name.startsWith("@"));
  throw new ReplicationError("CONFIG", `the table ${table} has no column ${wanted}`, {
    where: { table },
    hint: namesAreKnown
      ? `use one of ${columns.map(({ name }) => name).join(", ")}`
      : "the log does not tell names: give a schema, or write @1 for the first column",
  });
}

/**
 * 53 bits: with 32, two keys in a million would meet by chance in a history of some ten thousand. Two hashes of 32 bits that have nothing in common, of which the second
 * (FNV-1a) gives its upper 21.
 */
function hash53(bytes: Uint8Array, length: number): number {
  let second = 0x811c9dc5;
  for (let i = 0; i < length; i++) second = Math.imul(second ^ (bytes[i] as number), 0x01000193);
  return murmur32(bytes, length) * 0x20_0000 + (second >>> 11);
}
