import { ReplicationError } from "../base/error.ts";
import type { Log } from "../base/log.ts";
import { type CatalogCollation, readCollations } from "../schema/collation-catalog.ts";
import { characterWidth } from "../schedule/writeset/charset.ts";
import { Collation, type WeightLevels } from "../schedule/writeset/collation.ts";
import type { ServerVersion } from "../wire/server-version.ts";
import type { TargetQuestions } from "./target-questions.ts";

/** A weight is a column of the answer, of which a server allows 4096. */
const TEXTS_PER_QUERY = 512;
/** Twice as much in hexadecimal, and at most some sixteen times as weights: below the smallest usual max_allowed_packet, 4 MiB in MySQL 5.6. */
const BYTES_PER_QUERY = 128 * 1024;

/** The target's collations, as far as they are used in keys, and its answers to how it weighs texts. */
export class TargetCollations {
  readonly #questions: TargetQuestions;
  readonly #log: Log;
  readonly #loaded = new Map<string, Collation>();
  readonly #warned = new Set<string>();
  #flavour: ServerVersion["flavour"] = "mysql";
  #known: ReadonlyMap<string, CatalogCollation> = new Map();
  #charsets: ReadonlyMap<number, string> = new Map();

  constructor(questions: TargetQuestions, log: Log) {
    this.#questions = questions;
    this.#log = log;
  }

  /** Makes `get` answer for these. @throws ReplicationError as `TargetQuestions.ask` */
  async load(names: readonly string[]): Promise<void> {
    if (names.length === 0) return;
    if (this.#known.size === 0) {
      const all = await this.#questions.ask((session) => {
        this.#flavour = session.serverVersion.flavour;
        return readCollations(session);
      });
      this.#known = new Map(all.map((collation) => [collation.name, collation]));
      this.#charsets = new Map(all.flatMap(({ id, charset }) => (id === undefined ? [] : [[id, charset]])));
    }
    for (const name of new Set(names)) {
      const known = this.#known.get(name);
      if (known === undefined || this.#loaded.has(name)) continue;
      const collation = await this.#learn(known);
      if (!this.#loaded.has(name)) this.#loaded.set(name, collation);
    }
  }

  /** undefined: the target has no such collation, or `load` was not called. */
  get(name: string): Collation | undefined {
    return this.#loaded.get(name);
  }

  /** The character set of a collation's number, as table maps tell it. */
  charsetOf(id: number): string | undefined {
    return this.#charsets.get(id);
  }

  /** Learns the pages of its alphabet, and remembers the weights of the texts, bytes as latin1. @throws ReplicationError STOPPED */
  async ask(collation: Collation, texts: readonly string[], pages: Iterable<number>): Promise<void> {
    const { name, levels } = collation.facts;
    const known = this.#known.get(name);
    if (known === undefined) return;
    for (const page of pages) await collation.learn(page, (asked) => this.#weightsOf(known, levels, asked));
    const bytes = texts.map((text) => Buffer.from(text, "latin1"));
    const weights = await this.#weightsOf(known, levels, bytes);
    for (const [index, text] of texts.entries()) collation.remember(text, weights[index] ?? null);
  }

  forgetOldest(): void {
    for (const collation of this.#loaded.values()) collation.forgetOldest();
  }

  async #learn(known: CatalogCollation): Promise<Collation> {
    const { name, charset, padSpace, bytesPerCharacterMax } = known;
    const width = characterWidth(charset, bytesPerCharacterMax);
    const bytewise = name === "binary" || name.endsWith("_bin");
    const facts = { name, charset, width, padSpace, bytewise };
    const levels = bytewise ? "all" : await this.#levelsOf(known);
    const collation = new Collation({ ...facts, levels });
    if (!bytewise) await collation.learn(0, (texts) => this.#weightsOf(known, levels, texts));
    return collation;
  }

  /**
   * MariaDB puts nothing between levels, pads each, and gives some characters weights on a later level that its comparison passes over (seen in 10.11, `uca1400_nopad_ai_cs`): where there
   * are several, only the first is used. It tells fewer texts apart, which is safe. MySQL's levels are all right.
   */
  async #levelsOf(known: CatalogCollation): Promise<WeightLevels> {
    if (this.#flavour === "mysql") return "all";
    // One character, two or four, by character set.
    const text = Buffer.of(0, 0, 0, 0x61);
    const [all] = await this.#weightsOf(known, "all", [text]);
    const [first] = await this.#weightsOf(known, "first", [text]);
    return all && first?.equals(all) === true ? "all" : "first";
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
    const sql = `SELECT ${columns.join(",")}`;
    try {
      const results = await this.#questions.ask((session) => session.execute(sql, { binary: true }));
      return results.at(-1)?.rows[0] ?? [];
    } catch (error) {
      if (!(error instanceof ReplicationError) || error.code === "STOPPED") throw error;
      // One bad text must not make the others unknown.
      if (texts.length > 1 && texts.length < TEXTS_PER_QUERY / 4) {
        const weights: (Buffer | null)[] = [];
        for (const text of texts) weights.push(...(await this.#weightsOfBatch(known, levels, [text])));
        return weights;
      }
      if (texts.length > 1) {
        const half = texts.length >> 1;
        const first = await this.#weightsOfBatch(known, levels, texts.slice(0, half));
        return [...first, ...(await this.#weightsOfBatch(known, levels, texts.slice(half)))];
      }
      if (!this.#warned.has(known.name)) {
        this.#warned.add(known.name);
        this.#log.warn("the target cannot tell how it compares some texts: their transactions are applied alone", {
          collation: known.name,
          error: error.message,
        });
      }
      return [null];
    }
  }
}
