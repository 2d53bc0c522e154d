import type { CharacterWidth } from "./charset.ts";

/** What the target says of a collation. */
export interface CollationFacts {
  name: string;
  charset: string;
  /** undefined: its characters cannot be counted here. */
  width: CharacterWidth | undefined;
  /** ASCII characters are the bytes below 0x80, one each. */
  asciiCompatible: boolean;
  /** Trailing spaces mean nothing. */
  padSpace: boolean;
  /** Texts are equal when their bytes are (`_bin`, and trailing spaces aside). */
  bytewise: boolean;
  levels: WeightLevels;
}

/** Which of a collation's levels (letters, accents, case) its weights have. With the first alone texts count as equal that are not: safe, and slower. */
export type WeightLevels = "all" | "first";

/** Texts whose weights the target is to be asked for, as latin1 strings of their bytes, by collation. */
export type WantedWeights = Map<Collation, Set<string>>;

/** How many values, and bytes of them, one generation of a collation's cache holds. */
const GENERATION_VALUES_MAX = 20_000;
const GENERATION_BYTES_MAX = 4 << 20;
/** Letters, accents, case, and what is left. */
const LEVELS_MAX = 4;
const LEVEL_SEPARATOR = Buffer.of(0, 0);

/**
 * The target's own idea of which texts are equal: its weights (WEIGHT_STRING), learned once for ASCII, asked for and remembered for everything else.
 *
 * Invariant: two texts that the target calls equal have the same canonical form here, whichever way it came about. Without it two transactions that change the same
 * key would run together. A text whose weights cannot be had has no canonical form, and its key is unknown.
 */
export class Collation {
  readonly facts: CollationFacts;
  #ascii: readonly AsciiLevel[] | undefined;
  #asciiBytesMax = 0;
  /** Weights of one space, to be cut from the ends of weights where the collation pads. */
  #space: Buffer | undefined;
  #young = new Map<string, Buffer | null>();
  #old = new Map<string, Buffer | null>();
  #youngBytes = 0;

  constructor(facts: CollationFacts) {
    this.facts = facts;
  }

  /** Texts whose weights `learn` wants, in order. They are ASCII: in other character sets they are to be converted. */
  static readonly LESSON: readonly string[] = [
    ...Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)),
    ...Array.from({ length: 128 }, (_, code) => pairsOf(String.fromCharCode(code))),
    ...Array.from({ length: 128 }, (_, code) => `${String.fromCharCode(code)} `),
  ];

  /**
   * `weights`: of each text of LESSON; null where the target has none. Weights of ASCII are used only where those of every pair of characters, in either
   * order, are the two characters' own: no contractions, no rule that looks around.
   */
  learn(weights: readonly (Buffer | null)[]): void {
    const singles = weights.slice(0, 128);
    const pairs = weights.slice(128, 256);
    const spaced = weights.slice(256, 384);
    if (singles.length < 128 || spaced.length < 128 || !hasAll(singles)) return;
    const space = singles[0x20] as Buffer;
    const isAdditive = spaced.every(
      (weight, code) => weight?.equals(Buffer.concat([singles[code] as Buffer, space])) === true,
    );
    if (isAdditive && space.length > 0) this.#space = space;
    if (!this.facts.asciiCompatible || (this.facts.padSpace && this.#space === undefined) || !hasAll(pairs)) return;
    const levels = asciiLevels(singles, pairs);
    if (levels === undefined || levels.length > LEVELS_MAX) return;
    this.#ascii = levels;
    this.#asciiBytesMax = levels.reduce((sum, { widest }) => sum + widest, 0);
  }

  /** The target pads, and how is not understood: no text of this collation has a canonical form. */
  get isUnknown(): boolean {
    return this.facts.padSpace && this.#space === undefined;
  }

  /** Whether texts of ASCII characters need no question. */
  get knowsAscii(): boolean {
    return this.#ascii !== undefined;
  }

  /** So much room `writeAscii` may need for a text of `length` bytes. */
  asciiRoom(length: number): number {
    return this.#asciiBytesMax * length + LEVELS_MAX * LEVEL_SEPARATOR.length;
  }

  /** Writes the canonical form of an ASCII text without trailing spaces to `out` at `to`; answers where it ends, or -1 for a text that is not ASCII. */
  writeAscii(bytes: Buffer, start: number, end: number, out: Buffer, to: number): number {
    const levels = this.#ascii;
    if (levels === undefined) return -1;
    for (let i = start; i < end; i++) if ((bytes[i] as number) > 0x7f) return -1;
    let at = to;
    for (let i = 0; i < levels.length; i++) {
      const { starts, weights } = levels[i] as AsciiLevel;
      if (i > 0) {
        out[at++] = 0;
        out[at++] = 0;
      }
      for (let j = start; j < end; j++) {
        const code = bytes[j] as number;
        const stop = starts[code + 1] as number;
        for (let k = starts[code] as number; k < stop; k++) out[at++] = weights[k] as number;
      }
    }
    return this.facts.padSpace ? this.#withoutSpaceWeights(out, to, at) : at;
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
    const form =
      weight === null || this.isUnknown
        ? null
        : this.facts.padSpace
          ? weight.subarray(0, this.#withoutSpaceWeights(weight, 0, weight.length))
          : weight;
    // A copy: an answer is a view of what came over the network.
    this.#put(text, form === null ? null : Buffer.from(form));
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

  /** May cut more than spaces where weights have different lengths; what is equal stays equal. */
  #withoutSpaceWeights(weights: Buffer, start: number, end: number): number {
    const space = this.#space;
    if (space === undefined) return end;
    let to = end;
    while (to - start >= space.length && weights.compare(space, 0, space.length, to - space.length, to) === 0) {
      to -= space.length;
    }
    return to;
  }
}

/** One level of the weights of all ASCII characters: those of `code` are `weights[starts[code]…starts[code + 1]]`. */
interface AsciiLevel {
  starts: Uint16Array;
  weights: Buffer;
  widest: number;
}

/** `a` beside every character, before and behind it. */
function pairsOf(a: string): string {
  let text = "";
  for (let code = 0; code < 128; code++) text += a + String.fromCharCode(code);
  return text + a;
}

function asciiLevels(singles: readonly Buffer[], pairs: readonly Buffer[]): AsciiLevel[] | undefined {
  const isSum = (levels: readonly (readonly Buffer[])[]): boolean =>
    pairs.every((weight, code) =>
      weight.equals(
        Buffer.concat(
          levels.flatMap((level, index) => [
            ...(index > 0 ? [LEVEL_SEPARATOR] : []),
            ...Array.from(pairsOf(String.fromCharCode(code)), (character) => level[character.charCodeAt(0)] as Buffer),
          ]),
        ),
      ),
    );
  if (isSum([singles])) return [levelOf(singles)];
  // Weights of several levels (accents, case) stand one level after the other, two zero bytes between.
  const split = singles.map(levelsOfWeight);
  const count = split[0]?.length ?? 0;
  if (split.some((levels) => levels.length !== count)) return undefined;
  const levels = Array.from({ length: count }, (_, index) => split.map((parts) => parts[index] as Buffer));
  return isSum(levels) ? levels.map(levelOf) : undefined;
}

function levelsOfWeight(weight: Buffer): Buffer[] {
  const levels: Buffer[] = [];
  let start = 0;
  for (let at = 0; at + 1 < weight.length; at += 2) {
    if (weight[at] !== 0 || weight[at + 1] !== 0) continue;
    levels.push(weight.subarray(start, at));
    start = at + 2;
  }
  return [...levels, weight.subarray(start)];
}

function levelOf(weights: readonly Buffer[]): AsciiLevel {
  const starts = new Uint16Array(weights.length + 1);
  for (const [code, weight] of weights.entries()) starts[code + 1] = (starts[code] as number) + weight.length;
  return { starts, weights: Buffer.concat(weights), widest: Math.max(...weights.map((weight) => weight.length)) };
}

function hasAll(weights: readonly (Buffer | null)[]): weights is readonly Buffer[] {
  return weights.every((weight) => weight !== null);
}
