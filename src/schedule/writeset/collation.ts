import { Alphabet, type AskWeights } from "./alphabet.ts";
import type { CharacterWidth } from "./charset.ts";

/** What the target says of a collation. */
export interface CollationFacts {
  name: string;
  charset: string;
  /** undefined: its characters cannot be counted here. */
  width: CharacterWidth | undefined;
  /** Trailing spaces mean nothing. */
  padSpace: boolean;
  /** Texts are equal when their bytes are (`_bin`, and trailing spaces aside). */
  bytewise: boolean;
  levels: WeightLevels;
}

/** Which of a collation's levels (letters, accents, case) its weights have. With the first alone texts count as equal that are not: safe, and slower. */
export type WeightLevels = "all" | "first";

/** What the target is to be asked, by collation: weights of texts, as latin1 strings of their bytes, and pages of the alphabet. */
export type WantedWeights = Map<Collation, { texts: Set<string>; pages: Set<number> }>;

/** How many values, and bytes of them, one generation of a collation's cache holds. */
const GENERATION_VALUES_MAX = 20_000;
const GENERATION_BYTES_MAX = 4 << 20;

/**
 * The target's own idea of which texts are equal: its weights (WEIGHT_STRING), put together from those of characters where that is right, asked for and remembered
 * where it is not.
 *
 * Invariant: two texts that the target calls equal have the same canonical form here, whichever way it came about. Without it two transactions that change the same
 * key would run together. A text whose weights cannot be had has no canonical form, and its key is unknown.
 */
export class Collation {
  readonly facts: CollationFacts;
  readonly #alphabet: Alphabet;
  #young = new Map<string, Buffer | null>();
  #old = new Map<string, Buffer | null>();
  #youngBytes = 0;

  constructor(facts: CollationFacts) {
    this.facts = facts;
    this.#alphabet = new Alphabet(facts.width);
  }

  /** Page 0, ASCII, before all else. */
  async learn(page: number, ask: AskWeights): Promise<void> {
    await this.#alphabet.learn(page, ask);
  }

  /** The target pads, and how is not understood: no text of this collation has a canonical form. */
  get isUnknown(): boolean {
    return this.facts.padSpace && this.#alphabet.space === undefined;
  }

  /** So much room `write` may need for a text of `length` bytes. */
  room(length: number): number {
    return this.#alphabet.room(length);
  }

  /** Writes a text's canonical form to `out` at `to`; answers where it ends, or -1 when its characters alone do not tell. */
  write(bytes: Buffer, start: number, end: number, out: Buffer, to: number): number {
    const at = this.#alphabet.write(bytes, start, end, out, to);
    return at < 0 ? at : this.#canonicalEnd(out, to, at);
  }

  /** A page to be learned, after which `write` may know the text; -1: that would not help. */
  missingPage(bytes: Buffer, start: number, end: number): number {
    return this.#alphabet.missingPage(bytes, start, end);
  }

  /** The canonical form of any text: null, the target has none; undefined, it is to be asked for. */
  weightOf(text: string): Buffer | null | undefined {
    const known = this.#young.get(text);
    if (known !== undefined) return known;
    const older = this.#old.get(text);
    if (older !== undefined) this.#put(text, older);
    return older;
  }

  /** What the target said. Nothing is forgotten before `forgetOldest`. */
  remember(text: string, weight: Buffer | null): void {
    if (weight === null || this.isUnknown) return this.#put(text, null);
    const end = this.#canonicalEnd(weight, 0, weight.length);
    // A copy: an answer is a view of what came over the network.
    this.#put(text, Buffer.from(weight.subarray(0, end)));
  }

  /** Keeps the memory bounded: what was not looked at for a generation goes. */
  forgetOldest(): void {
    if (this.#young.size <= GENERATION_VALUES_MAX && this.#youngBytes <= GENERATION_BYTES_MAX) return;
    this.#old = this.#young;
    this.#young = new Map();
    this.#youngBytes = 0;
  }

  #put(text: string, form: Buffer | null): void {
    this.#young.set(text, form);
    this.#youngBytes += text.length + (form?.length ?? 0);
  }

  /** Where weights end as far as they tell texts apart. */
  #canonicalEnd(weights: Buffer, start: number, end: number): number {
    if (this.facts.padSpace) return this.#withoutSpaceWeights(weights, start, end);
    // Of characters without weights only the zeros between levels are left, and an empty text, which is equal, has not even those.
    if (this.#alphabet.hasOneLevel) return end;
    for (let at = start; at < end; at++) if (weights[at] !== 0) return end;
    return start;
  }

  /** May cut more than spaces where weights have different lengths; what is equal stays equal. */
  #withoutSpaceWeights(weights: Buffer, start: number, end: number): number {
    const { space } = this.#alphabet;
    if (space === undefined) return end;
    let to = end;
    while (to - start >= space.length && weights.compare(space, 0, space.length, to - space.length, to) === 0) {
      to -= space.length;
    }
    return to;
  }
}
