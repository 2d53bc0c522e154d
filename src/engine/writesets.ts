import type { Log } from "../base/log.ts";
import { ReplicationError } from "../base/error.ts";
import type { TableMapEvent } from "../binlog/events/table-map.ts";
import type { BinlogFormat } from "../binlog/format.ts";
import type { Table } from "../schema/catalog.ts";
import { type ForeignKey, readForeignKeys, readTable } from "../schema/key-catalog.ts";
import { type Extraction, WritesetExtractor } from "../schedule/writeset/extract.ts";
import { type KeyHash, type KeyHashName, loadKeyHash } from "../schedule/writeset/key-hash.ts";
import { OPAQUE_PLAN, planTable, type TablePlan } from "../schedule/writeset/plan.ts";
import { EMPTY_WRITESET, OPAQUE_WRITESET, type Writeset } from "../schedule/writeset.ts";
import type { EventList } from "../transaction/event-list.ts";
import type { Transaction } from "../transaction/transaction.ts";
import type { Session } from "../wire/session.ts";
import { TargetCollations } from "./target-collations.ts";
import { TargetQuestions } from "./target-questions.ts";

export interface WritesetsOptions {
  /** The target's session of the moment: another one after it was lost. */
  session: () => Session;
  hash: KeyHashName;
  log: Log;
  /** The engine stops: whatever waits rejects with STOPPED. */
  signal: AbortSignal;
}

/** One round for plans, one for alphabets, one for weights; more only when what was learned is forgotten meanwhile. */
const ROUNDS_MAX = 8;

/** What was read of the target's schema since its last change. */
interface SchemaRead {
  plans: WeakMap<TableMapEvent, TablePlan>;
  tables: Map<string, Promise<Table | undefined>>;
  foreignKeys: Promise<readonly ForeignKey[]> | undefined;
}

/**
 * Writesets of transactions, by the keys, foreign keys and collations of the target: read when first needed, and remembered.
 *
 * Invariant: a writeset rests on the schema that the target has when the transaction is applied. So `forget` must be called after every DDL, and a transaction behind a
 * DDL be asked about only after that; otherwise keys are missed, and transactions that conflict run together.
 */
export class Writesets {
  readonly #options: WritesetsOptions;
  readonly #loading: Promise<void>;
  #hash: KeyHash | undefined;
  #extractor: WritesetExtractor | undefined;
  #schema: SchemaRead = nothingRead();
  readonly #questions: TargetQuestions;
  readonly #collations: TargetCollations;

  constructor(options: WritesetsOptions) {
    this.#options = options;
    this.#questions = new TargetQuestions(options);
    this.#collations = new TargetCollations(this.#questions, options.log);
    this.#loading = this.#load();
  }

  async #load(): Promise<void> {
    const hash = await loadKeyHash(this.#options.hash);
    this.#hash = hash;
    this.#extractor = new WritesetExtractor(hash, (map) => this.#schema.plans.get(map));
  }

  /** At once where all that it needs is known. @throws ReplicationError STOPPED, CORRUPT_EVENT */
  of(transaction: Transaction): Writeset | Promise<Writeset> {
    const { kind, body, format } = transaction;
    if (kind === "empty" || kind === "alter-start" || kind === "alter-rollback") return EMPTY_WRITESET;
    if (kind !== "rows" || !("events" in body)) return OPAQUE_WRITESET;
    const extraction = this.#extractor?.extract(body.events, format);
    if (extraction !== undefined && isComplete(extraction)) return extraction.writeset;
    return this.#ask(body.events, transaction);
  }

  /** The target's schema has changed: it is read again at next use. */
  forget(): void {
    this.#schema = nothingRead();
  }

  async #ask(events: EventList, { format }: Transaction): Promise<Writeset> {
    await this.#loading;
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const extraction = this.#extractor?.extract(events, format);
      if (extraction === undefined) break;
      if (isComplete(extraction)) {
        this.#collations.forgetOldest();
        return extraction.writeset;
      }
      for (const map of extraction.wantedPlans) await this.#plan(map, format.flavour);
      for (const [collation, { texts, pages }] of extraction.wantedWeights) {
        await this.#collations.ask(collation, [...texts], pages);
      }
    }
    return OPAQUE_WRITESET;
  }

  async #plan(map: TableMapEvent, flavour: BinlogFormat["flavour"]): Promise<void> {
    const schema = this.#schema;
    if (schema.plans.has(map)) return;
    let plan = OPAQUE_PLAN;
    try {
      plan = await this.#planOf(map, flavour, schema);
    } catch (error) {
      if (this.#options.signal.aborted || !(error instanceof ReplicationError)) throw error;
      this.#options.log.warn("a table's keys cannot be read: its transactions are applied one after the other", {
        table: `${map.schema}.${map.table}`,
        error: error.message,
      });
    }
    schema.plans.set(map, plan);
  }

  async #planOf(map: TableMapEvent, flavour: BinlogFormat["flavour"], schema: SchemaRead): Promise<TablePlan> {
    const table = await this.#table(schema, map.schema, map.table);
    if (table === undefined || this.#hash === undefined) return OPAQUE_PLAN;
    schema.foreignKeys ??= this.#questions.ask((session) => readForeignKeys(session));
    const all = await schema.foreignKeys;
    const own = all.filter((key) => key.schema === table.schema && key.table === table.name);
    const foreignKeys: { key: ForeignKey; parent: Table | undefined }[] = [];
    for (const key of own) {
      foreignKeys.push({ key, parent: await this.#table(schema, key.parentSchema, key.parentTable) });
    }
    const referencedBy = all.filter((key) => key.parentSchema === table.schema && key.parentTable === table.name);
    const unique = table.keys.filter((key) => key.unique).flatMap((key) => key.columns.map(({ name }) => name ?? ""));
    await this.#collations.load([
      ...collationsOf(table, [...unique, ...referencedBy.flatMap((key) => key.parentColumns)]),
      ...foreignKeys.flatMap(({ key, parent }) => collationsOf(parent, key.parentColumns)),
    ]);
    return planTable(map, {
      flavour,
      table,
      foreignKeys,
      referencedBy,
      collation: (name) => this.#collations.get(name),
      charsetOfCollation: (id) => this.#collations.charsetOf(id),
      hash: this.#hash,
    });
  }

  #table(schema: SchemaRead, name: string, table: string): Promise<Table | undefined> {
    const key = `${name}\0${table}`;
    let read = schema.tables.get(key);
    if (read === undefined) {
      read = this.#questions.ask((session) => this.#readTable(session, name, table));
      schema.tables.set(key, read);
    }
    return read;
  }

  async #readTable(session: Session, schema: string, table: string): Promise<Table | undefined> {
    const { flavour } = session.serverVersion;
    // Otherwise such a key may be hidden, and positions of columns with it.
    if (flavour === "mysql" && session.serverVersion.atLeast(8, 0, 30)) {
      await session.execute("SET SESSION show_gipk_in_create_table_and_information_schema=ON");
    }
    return readTable(session, schema, table, flavour);
  }
}

function collationsOf(table: Table | undefined, columns: readonly string[]): string[] {
  const names = new Set(columns.map((name) => name.toLowerCase()));
  return (table?.columns ?? []).flatMap(({ name, collation }) =>
    collation !== undefined && names.has(name.toLowerCase()) ? [collation] : [],
  );
}

function nothingRead(): SchemaRead {
  return { plans: new WeakMap(), tables: new Map(), foreignKeys: undefined };
}

function isComplete({ wantedPlans, wantedWeights }: Extraction): boolean {
  return wantedPlans.length === 0 && wantedWeights.size === 0;
}
