import type { Log } from "../base/log.ts";
import { ReplicationError } from "../base/error.ts";
import type { TableMapEvent } from "../binlog/events/table-map.ts";
import type { Table } from "../schema/catalog.ts";
import { type CatalogCollation, readCollations } from "../schema/collation-catalog.ts";
import { type ForeignKey, readForeignKeys, readTable } from "../schema/key-catalog.ts";
import { characterWidth } from "../schedule/writeset/charset.ts";
import { Collation, type WeightLevels } from "../schedule/writeset/collation.ts";
import { type Extraction, WritesetExtractor } from "../schedule/writeset/extract.ts";
import { type KeyHash, type KeyHashName, loadKeyHash } from "../schedule/writeset/key-hash.ts";
import { OPAQUE_PLAN, planTable, type TablePlan } from "../schedule/writeset/plan.ts";
import { EMPTY_WRITESET, OPAQUE_WRITESET, type Writeset } from "../schedule/writeset.ts";
import type { Transaction } from "../transaction/transaction.ts";
import type { Session } from "../wire/session.ts";

export interface WritesetsOptions {
  /** The target's session of the moment: another one after it was lost. */
  session: () => Session;
  hash: KeyHashName;
  log: Log;
  /** The engine stops: whatever waits rejects with STOPPED. */
  signal: AbortSignal;
}

const RETRY_MS = { first: 200, max: 5_000 };
/** A weight is a column of the answer, of which a server allows 4096. */
const TEXTS_PER_QUERY = 512;
/** Twice as much in hexadecimal, and at most some sixteen times as weights: below the smallest usual max_allowed_packet, 4 MiB in MySQL 5.6. */
const BYTES_PER_QUERY = 128 * 1024;
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
  #collations: Promise<ReadonlyMap<string, CatalogCollation>> | undefined;
  readonly #weights = new Map<string, Collation>();

  constructor(options: WritesetsOptions) {
    this.#options = options;
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

  async #ask(events: readonly Buffer[], { format }: Transaction): Promise<Writeset> {
    await this.#loading;
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const extraction = this.#extractor?.extract(events, format);
      if (extraction === undefined) break;
      if (isComplete(extraction)) {
        for (const collation of this.#weights.values()) collation.forgetOldest();
        return extraction.writeset;
      }
      for (const map of extraction.wantedPlans) await this.#plan(map);
      for (const [collation, { texts, pages }] of extraction.wantedWeights) {
        await this.#weigh(collation, [...texts], pages);
      }
    }
    return OPAQUE_WRITESET;
  }

  async #plan(map: TableMapEvent): Promise<void> {
    const schema = this.#schema;
    if (schema.plans.has(map)) return;
    let plan = OPAQUE_PLAN;
    try {
      plan = await this.#planOf(map, schema);
    } catch (error) {
      if (this.#options.signal.aborted || !(error instanceof ReplicationError)) throw error;
      this.#options.log.warn("a table's keys cannot be read: its transactions are applied one after the other", {
        table: `${map.schema}.${map.table}`,
        error: error.message,
      });
    }
    schema.plans.set(map, plan);
  }

  async #planOf(map: TableMapEvent, schema: SchemaRead): Promise<TablePlan> {
    const table = await this.#table(schema, map.schema, map.table);
    if (table === undefined || this.#hash === undefined) return OPAQUE_PLAN;
    schema.foreignKeys ??= this.#query((session) => readForeignKeys(session));
    const all = await schema.foreignKeys;
    const own = all.filter((key) => key.schema === table.schema && key.table === table.name);
    const foreignKeys: { key: ForeignKey; parent: Table | undefined }[] = [];
    for (const key of own) {
      foreignKeys.push({ key, parent: await this.#table(schema, key.parentSchema, key.parentTable) });
    }
    const known = await this.#knownCollations();
    for (const { columns } of [table, ...foreignKeys.flatMap(({ parent }) => parent ?? [])]) {
      for (const { collation } of columns) if (collation !== undefined) await this.#prepare(known.get(collation));
    }
    const charsets = new Map([...known.values()].map(({ id, charset }) => [id, charset]));
    return planTable(map, {
      table,
      foreignKeys,
      referencedBy: all.filter((key) => key.parentSchema === table.schema && key.parentTable === table.name),
      collation: (name) => this.#weights.get(name),
      charsetOfCollation: (id) => charsets.get(id),
      hash: this.#hash,
    });
  }

  #table(schema: SchemaRead, name: string, table: string): Promise<Table | undefined> {
    const key = `${name}\0${table}`;
    let read = schema.tables.get(key);
    if (read === undefined) {
      read = this.#query((session) => this.#readTable(session, name, table));
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

  #knownCollations(): Promise<ReadonlyMap<string, CatalogCollation>> {
    if (this.#collations === undefined) {
      this.#collations = this.#query(async (session) => {
        const collations = await readCollations(session);
        return new Map(collations.map((collation) => [collation.name, collation]));
      });
      this.#collations.catch(() => (this.#collations = undefined));
    }
    return this.#collations;
  }

  /** Makes the collation known, with the weights of ASCII. */
  async #prepare(known: CatalogCollation | undefined): Promise<void> {
    if (known === undefined || this.#weights.has(known.name)) return;
    const { name, charset, padSpace, bytesPerCharacterMax } = known;
    const width = characterWidth(charset, bytesPerCharacterMax);
    const bytewise = name === "binary" || name.endsWith("_bin");
    const facts = { name, charset, width, padSpace, bytewise };
    let collation = new Collation({ ...facts, levels: "all" });
    if (!bytewise) {
      await collation.learn(0, (texts) => this.#weightsOf(known, "all", texts));
      // MariaDB pads each level, and puts nothing between them: the first alone can be understood. It tells fewer texts apart, which is safe.
      if (collation.isUnknown && this.#options.session().serverVersion.flavour === "mariadb") {
        collation = new Collation({ ...facts, levels: "first" });
        await collation.learn(0, (texts) => this.#weightsOf(known, "first", texts));
      }
    }
    if (!this.#weights.has(name)) this.#weights.set(name, collation);
  }

  async #weigh(collation: Collation, texts: readonly string[], pages: Iterable<number>): Promise<void> {
    const { name, levels } = collation.facts;
    const known = (await this.#knownCollations()).get(name);
    if (known === undefined) return;
    const ask = (asked: readonly Buffer[]): Promise<(Buffer | null)[]> => this.#weightsOf(known, levels, asked);
    for (const page of pages) await collation.learn(page, ask);
    const weights = await ask(texts.map((text) => Buffer.from(text, "latin1")));
    for (const [index, text] of texts.entries()) collation.remember(text, weights[index] ?? null);
  }

  /** The weights of each text, given as bytes of the collation's character set; null where the target has none. */
  async #weightsOf(
    known: CatalogCollation,
    levels: WeightLevels,
    texts: readonly Buffer[],
  ): Promise<(Buffer | null)[]> {
    const weights: (Buffer | null)[] = [];
    for (let at = 0; at < texts.length;) {
      const batch: Buffer[] = [];
      for (let bytes = 0; at < texts.length && batch.length < TEXTS_PER_QUERY && bytes < BYTES_PER_QUERY; at++) {
        const text = texts[at] as Buffer;
        bytes += text.length;
        batch.push(text);
      }
      weights.push(...(await this.#weightsOfBatch(known, levels, batch)));
    }
    return weights;
  }

  async #weightsOfBatch(
    known: CatalogCollation,
    levels: WeightLevels,
    texts: readonly Buffer[],
  ): Promise<(Buffer | null)[]> {
    const as = `USING ${known.sqlCharset}) COLLATE ${known.sqlName}${levels === "first" ? " LEVEL 1" : ""}`;
    const columns = texts.map((text) => `WEIGHT_STRING(CONVERT(X'${text.toString("hex")}' ${as})`);
    try {
      const results = await this.#query((session) => session.execute(`SELECT ${columns.join(",")}`, { binary: true }));
      return results.at(-1)?.rows[0] ?? [];
    } catch (error) {
      if (this.#options.signal.aborted || !(error instanceof ReplicationError)) throw error;
      // One bad value must not make the others unknown.
      if (texts.length > 1) {
        const weights: (Buffer | null)[] = [];
        for (const text of texts) weights.push(...(await this.#weightsOfBatch(known, levels, [text])));
        return weights;
      }
      this.#options.log.warn("the target cannot tell how it compares a text: its transaction is applied by itself", {
        collation: known.name,
        error: error.message,
      });
      return [null];
    }
  }

  /** Asks, again after every loss of the session, until the engine stops. @throws ReplicationError STOPPED, or what the server answers */
  async #query<T>(ask: (session: Session) => Promise<T>): Promise<T> {
    const { signal, log } = this.#options;
    for (let waitMs = RETRY_MS.first; ; waitMs = Math.min(2 * waitMs, RETRY_MS.max)) {
      try {
        return await unlessAborted(ask(this.#options.session()), signal);
      } catch (error) {
        if (signal.aborted || !(error instanceof ReplicationError)) throw error;
        // STOPPED: that session was given up for another.
        if (error.retry === "never" && error.code !== "STOPPED") throw error;
        log.warn("the target's schema cannot be read now", { error: error.message });
        await unlessAborted(new Promise((resolve) => setTimeout(resolve, waitMs)), signal);
      }
    }
  }
}

function nothingRead(): SchemaRead {
  return { plans: new WeakMap(), tables: new Map(), foreignKeys: undefined };
}

function isComplete({ wantedPlans, wantedWeights }: Extraction): boolean {
  return wantedPlans.length === 0 && wantedWeights.size === 0;
}

/** @throws ReplicationError STOPPED */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(new ReplicationError("STOPPED", "the engine was stopped"));
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
