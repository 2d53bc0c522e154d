import type { CharacterWidth } from "./charset.ts";

/** Asks the target for the weights of texts, given as bytes of the collation's character set; null where it has none. */
export type AskWeights = (texts: readonly Buffer[]) => Promise<readonly (Buffer | null)[]>;

/** A page is 128 consecutive code points (bytes, of single-byte character sets); page 0 is ASCII. Of UTF-8 those of one and two bytes are learned: Latin, Greek, Cyrillic, Arabic … */
const PAGE = 128;
const PAGES_OF = { one: 2, utf8: 16 } as const;
/** When so many of a page's 128 characters do not keep their weights beside others, the collation works in another way than is tried. */
const ODD_CHARACTERS_MAX = 32;
/** Letters, accents, case, and what is left. */
const LEVELS_MAX = 4;
const SEPARATOR = Buffer.of(0, 0);
const SPACE = 0x20;

/** One level of the weights of a page: those of its character n are `weights[starts[n]…starts[n + 1]]`. */
interface Level {
  starts: Uint16Array;
  weights: Buffer;
}

interface Page {
  levels: readonly Level[];
  /** Bytes of weights that one character has at most, over all levels. */
  widest: number;
}

/**
 * The weights of single characters, so that most texts need no question to the target.
 *
 * Invariant: a text is written only when each two neighbours in it were tried together on the target, in both orders, and each kept its own weights. Otherwise contractions
 * (Czech `ch`, Danish `aa`) would give a text weights that the target does not give it.
 */
export class Alphabet {
  /** Weights of a space, behind every ASCII character the same; undefined: the collation does something else at the end of a text. */
  space: Buffer | undefined;
  readonly #width: CharacterWidth | undefined;
  #levelCount = 0;
  /** null: not to be learned. */
  readonly #pages: (Page | null | undefined)[];
  /** Neighbours that do not keep their weights: first × 2048 + second. */
  readonly #odd = new Set<number>();

  constructor(width: CharacterWidth | undefined) {
    this.#width = width;
    this.#pages = Array.from({ length: width === "one" || width === "utf8" ? PAGES_OF[width] : 1 });
  }

  /** Whether weights are known to be of one level. */
  get hasOneLevel(): boolean {
    return this.#levelCount === 1;
  }

  /** ASCII first: without it no other page is learned. */
  async learn(page: number, ask: AskWeights): Promise<void> {
    if (page === 0) this.space = await this.#learnSpace(ask);
    this.#pages[page] ??= null;
    // Elsewhere characters are not found byte by byte.
    if (page === 0 && !isByByte(this.#width)) return;
    if (page > 0 && (this.#pages[0] ?? null) === null) return;
    const codes = codesOf(page);
    const singles = await ask(codes.map((code) => this.#encode([code])));
    if (!hasAll(singles)) return;
    const known = this.#pages.flatMap((one, number) => (one ? [codesOf(number)] : []));
    const partners = [...known, codes];
    const rows = codes.flatMap((code) => partners.map((others) => ({ code, others })));
    const weights = await ask(rows.map(({ code, others }) => this.#encode(rowOf(code, others))));
    for (const levelCount of page === 0 ? [1, levelsIn(singles[0] as Buffer)] : [this.#levelCount]) {
      const learned = pageOf(singles, levelCount);
      if (learned === undefined) continue;
      this.#pages[page] = learned;
      this.#levelCount = levelCount;
      const odd = rows.filter(({ code, others }, index) => !this.#isSum(rowOf(code, others), weights[index]));
      if (new Set(odd.map(({ code }) => code)).size <= ODD_CHARACTERS_MAX) {
        await this.#learnOdd(odd, ask);
        return;
      }
    }
    this.#pages[page] = null;
  }

  /** Which page must be learned before this text can be written; -1: that of its characters is not the difficulty. */
  missingPage(bytes: Buffer, start: number, end: number): number {
    if (this.#width !== "one" && this.#width !== "utf8") return -1;
    let missing = -1;
    for (let at = start; at < end;) {
      const code = this.#codeAt(bytes, at, end);
      if (code === -1) return -1;
      const page = this.#pages[code >> 7];
      if (page === null) return -1;
      if (page === undefined) missing = code >> 7;
      at += code >= 0x80 && this.#width === "utf8" ? 2 : 1;
    }
    return missing;
  }

  /** So much room `write` may need for a text of `length` bytes. */
  room(length: number): number {
    let widest = 0;
    for (const page of this.#pages) if (page && page.widest > widest) widest = page.widest;
    return widest * length + LEVELS_MAX * SEPARATOR.length;
  }

  /** Writes a text's weights to `out` at `to` and answers where they end; -1: they are not known from its characters. */
  write(bytes: Buffer, start: number, end: number, out: Buffer, to: number): number {
    const pages = this.#pages;
    if (!pages[0] || !this.#isKnown(bytes, start, end)) return -1;
    const isUtf8 = this.#width === "utf8";
    let at = to;
    for (let level = 0; level < this.#levelCount; level++) {
      if (level > 0) {
        out[at++] = 0;
        out[at++] = 0;
      }
      for (let i = start; i < end; i++) {
        let code = bytes[i] as number;
        if (code >= 0x80 && isUtf8) code = ((code & 0x1f) << 6) | ((bytes[++i] as number) & 0x3f);
        const { starts, weights } = (pages[code >> 7] as Page).levels[level] as Level;
        const index = code & 0x7f;
        const stop = starts[index + 1] as number;
        for (let k = starts[index] as number; k < stop; k++) out[at++] = weights[k] as number;
      }
    }
    return at;
  }

  /** Whether all its characters are on learned pages, and no two neighbours odd. */
  #isKnown(bytes: Buffer, start: number, end: number): boolean {
    const hasOdd = this.#odd.size > 0;
    let before = -1;
    for (let at = start; at < end; at++) {
      let code = bytes[at] as number;
      if (code >= 0x80) {
        code = this.#codeAt(bytes, at, end);
        if (code === -1 || !this.#pages[code >> 7]) return false;
        if (this.#width === "utf8") at++;
      }
      if (hasOdd && before >= 0 && this.#odd.has(before * 2048 + code)) return false;
      before = code;
    }
    return true;
  }

  /** The character that begins at `at`; -1: it has more than two bytes, or is none. */
  #codeAt(bytes: Buffer, at: number, end: number): number {
    const first = bytes[at] as number;
    if (first < 0x80 || this.#width === "one") return first;
    const second = at + 1 < end ? (bytes[at + 1] as number) : 0;
    if (this.#width !== "utf8" || first < 0xc2 || first > 0xdf || (second & 0xc0) !== 0x80) return -1;
    return ((first & 0x1f) << 6) | (second & 0x3f);
  }

  async #learnSpace(ask: AskWeights): Promise<Buffer | undefined> {
    const codes = codesOf(0);
    const singles = await ask(codes.map((code) => this.#encode([code])));
    const spaced = await ask(codes.map((code) => this.#encode([code, SPACE])));
    const space = singles[SPACE];
    if (!space || space.length === 0 || !hasAll(singles)) return undefined;
    const isAdditive = spaced.every(
      (weight, code) => weight?.equals(Buffer.concat([singles[code] as Buffer, space])) === true,
    );
    return isAdditive ? space : undefined;
  }

  /** Which neighbours it is that made rows odd. */
  async #learnOdd(rows: readonly { code: number; others: readonly number[] }[], ask: AskWeights): Promise<void> {
    const pairs = rows.flatMap(({ code, others }) =>
      others.flatMap(
        (other) =>
          [
            [code, other],
            [other, code],
          ] as const,
      ),
    );
    if (pairs.length === 0) return;
    const weights = await ask(pairs.map((pair) => this.#encode(pair)));
    for (const [index, pair] of pairs.entries()) {
      if (!this.#isSum(pair, weights[index])) this.#odd.add(pair[0] * 2048 + pair[1]);
    }
  }

  #isSum(codes: readonly number[], weight: Buffer | null | undefined): boolean {
    if (!weight) return false;
    const parts: Buffer[] = [];
    for (let level = 0; level < this.#levelCount; level++) {
      if (level > 0) parts.push(SEPARATOR);
      for (const code of codes) {
        const page = this.#pages[code >> 7];
        if (!page) return false;
        const { starts, weights } = page.levels[level] as Level;
        parts.push(weights.subarray(starts[code % PAGE], starts[(code % PAGE) + 1]));
      }
    }
    return weight.equals(Buffer.concat(parts));
  }

  #encode(codes: readonly number[]): Buffer {
    const text = String.fromCharCode(...codes);
    switch (this.#width) {
      case "utf8":
        return Buffer.from(text);
      case "utf16le":
        return Buffer.from(text, "utf16le");
      case "two":
      case "utf16":
        return Buffer.from(text, "utf16le").swap16();
      case "four":
        return Buffer.concat(codes.map((code) => Buffer.of(0, 0, code >> 8, code & 0xff)));
      default:
        return Buffer.from(text, "latin1");
    }
  }
}

const isByByte = (width: CharacterWidth | undefined): boolean =>
  width === undefined || width === "one" || width === "utf8";

const codesOf = (page: number): number[] => Array.from({ length: PAGE }, (_, index) => page * PAGE + index);

/** `code` beside each of the others, before and behind it. */
const rowOf = (code: number, others: readonly number[]): number[] => [
  ...others.flatMap((other) => [code, other]),
  code,
];

/** Two zero bytes stand between levels. */
function splitLevels(weight: Buffer): Buffer[] {
  const levels: Buffer[] = [];
  let start = 0;
  for (let at = 0; at + 1 < weight.length; at += 2) {
    if (weight[at] !== 0 || weight[at + 1] !== 0) continue;
    levels.push(weight.subarray(start, at));
    start = at + 2;
  }
  return [...levels, weight.subarray(start)];
}

const levelsIn = (weight: Buffer): number => splitLevels(weight).length;

function pageOf(singles: readonly Buffer[], levelCount: number): Page | undefined {
  const split = singles.map((weight) => (levelCount === 1 ? [weight] : splitLevels(weight)));
  if (levelCount > LEVELS_MAX || split.some((levels) => levels.length !== levelCount)) return undefined;
  const levels = Array.from({ length: levelCount }, (_, level) =>
    levelOf(split.map((parts) => parts[level] as Buffer)),
  );
  return { levels, widest: Math.max(...singles.map((weight) => weight.length)) };
}

function levelOf(weights: readonly Buffer[]): Level {
  const starts = new Uint16Array(weights.length + 1);
  for (const [index, weight] of weights.entries()) starts[index + 1] = (starts[index] as number) + weight.length;
  return { starts, weights: Buffer.concat(weights) };
}

function hasAll(weights: readonly (Buffer | null)[]): weights is readonly Buffer[] {
  return weights.length === PAGE && weights.every((weight) => weight !== null);
}
