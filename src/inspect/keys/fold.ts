/**
 * - `short`: knows no expansions (ß is s, not ss).
 * - `plane`: all characters outside the basic plane are one.
 * - `language`: has letters of a language, which may be equal to two others (å and aa) or to another one (ü and y).
 */
interface FoldFacts {
  short: boolean;
  plane: boolean;
  language: boolean;
  exceptions: Readonly<Record<string, string>>;
}

/** Letters that decompose into nothing, and are equal to these in collations of Unicode. */
const LETTERS: Readonly<Record<string, string>> = {
  æ: "ae",
  œ: "oe",
  ø: "o",
  đ: "d",
  ð: "d",
  ħ: "h",
  ı: "i",
  ł: "l",
  ŧ: "t",
  ґ: "г",
  ך: "כ",
  ם: "מ",
  ן: "נ",
  ף: "פ",
  ץ: "צ",
  ٴ: "ء",
};
/** In languages that have them, they are equal to these. */
const LANGUAGE_LETTERS: Readonly<Record<string, string>> = { þ: "th" };
/** Some have them where a seven-bit character set had them (strings/ctype-latin1.cc, 8.0). */
const EXCEPTIONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  latin1_swedish_ci: { å: "[", ä: "\\", æ: "\\", ö: "]", ü: "y" },
  latin1_danish_ci: { ä: "[", æ: "[", ö: "\\", ø: "\\", å: "]", ü: "y" },
  latin1_german1_ci: { æ: "a" },
  latin1_german2_ci: { ä: "ae", ö: "oe", ü: "ue", ß: "ss", æ: "\\" },
};
/** Parts of a collation's name, behind its character set. */
const NO_LANGUAGE = new Set(
  "0900 520 1400 uca1400 general general1400 unicode mysql500 mysql561 tolower ai as ci cs ks w2".split(" "),
);
/** Hiragana, each small one before what it is a small form of; katakana are as many code points above. */
const SMALL_KANA = "ぁあぃいぅうぇえぉおっつゃやゅゆょよゎわゕかゖけ";
const KATAKANA = { first: 0x30a1, last: 0x30f6, above: 0x60 };
/** Told apart by their letters. Of all other scripts nothing is told: texts in them are equal. */
const TOLD = /[\p{sc=Grek}\p{sc=Cyrl}\p{sc=Han}\p{sc=Hang}\p{sc=Hira}\p{sc=Hebr}\p{sc=Arab}\p{sc=Thai}\p{Emoji}]/u;
const LEFT_OUT = /[\p{M}\p{Cf}\p{Cc}]/gu;
const OUTSIDE = "\ufffd";

/**
 * What is left of a text without all that the common collations do not look at: case, accents, width, ignorable characters.
 *
 * What it may get wrong, tried against MySQL 9.7 and MariaDB 11.8: it tells apart what some collation calls equal in characters that hardly any text has (letters that stand
 * above others, numbers in black circles, letters of medieval manuscripts; ę in Swedish). And it does not tell apart what case-sensitive collations do, and most scripts of Asia
 * and Africa: that costs parallelism in a prediction, where in a replica it would cost speed.
 */
export class Fold {
  readonly #facts: FoldFacts;
  readonly #folded = new Map<string, string>();

  constructor(collation: string) {
    this.#facts = factsOf(collation);
  }

  /** Whether what ASCII characters become is told by `foldAscii`, one by one. */
  get isSimple(): boolean {
    return !this.#facts.language;
  }

  of(text: string): string {
    let folded = "";
    for (const character of text) folded += this.#character(character);
    return this.#facts.language ? withoutLanguage(folded) : folded;
  }

  #character(character: string): string {
    let folded = this.#folded.get(character);
    if (folded === undefined) {
      folded = this.#fold(character);
      if (this.#folded.size < CACHED_MAX) this.#folded.set(character, folded);
    }
    return folded;
  }

  #fold(character: string): string {
    const { plane, short, exceptions } = this.#facts;
    if (plane && (character.length > 1 || character === OUTSIDE)) return OUTSIDE;
    const code = character.codePointAt(0) as number;
    if (code < 0x80) {
      const folded = foldAscii(code);
      return folded < 0 ? "" : String.fromCharCode(folded);
    }
    const exception = exceptions[character.toLowerCase()];
    if (exception !== undefined) return exception;
    if (character === "ß" || character === "ẞ") return short ? "s" : "ss";
    let folded = "";
    for (const part of plain(character)) for (const letter of plain(lower(part))) folded += letterOf(letter);
    return folded;
  }
}

/** So many characters of a collation are remembered: all that most logs have. */
const CACHED_MAX = 65_536;

/** Of an ASCII character: its lower case, -1 for those that Unicode ignores. */
export function foldAscii(byte: number): number {
  if (byte >= 0x41 && byte <= 0x5a) return byte + 0x20;
  return byte >= 0x20 ? (byte === 0x7f ? -1 : byte) : byte >= 0x09 && byte <= 0x0d ? byte : -1;
}

function factsOf(collation: string): FoldFacts {
  const name = collation.toLowerCase().replace("_nopad", "");
  const isUnicode = /^(?:utf|ucs|gb18030)/.test(name);
  const language = name
    .split("_")
    .slice(1)
    .some((part) => !NO_LANGUAGE.has(part));
  return {
    short: name.includes("_general") || !isUnicode,
    plane: isUnicode && !/_0900_|_520|uca1400|general1400/.test(name),
    language: language && !(name in EXCEPTIONS),
    exceptions: EXCEPTIONS[name] ?? (language ? LANGUAGE_LETTERS : {}),
  };
}

/** Letters that are one in some language are one: what is left is told apart in none of them. */
const withoutLanguage = (text: string): string =>
  text
    .replaceAll(/[ijuvwy]/g, "u")
    .replaceAll(/([aou])e/g, "$1")
    .replaceAll("ch", "c")
    .replaceAll(/([a-z])\1+/g, "$1");

const plain = (text: string): string => text.normalize("NFKD").replaceAll(LEFT_OUT, "");
const lower = (text: string): string => text.toUpperCase().toLowerCase();

function letterOf(letter: string): string {
  const code = letter.codePointAt(0) as number;
  if (code < 0x80) return letter;
  if (/\p{Nd}/u.test(letter)) return String(digitOf(code));
  const own = LETTERS[letter];
  if (own !== undefined) return own;
  const isKatakana = code >= KATAKANA.first && code <= KATAKANA.last;
  const kana = isKatakana ? String.fromCodePoint(code - KATAKANA.above) : letter;
  const small = SMALL_KANA.indexOf(kana);
  if (small !== -1) return SMALL_KANA[small | 1] as string;
  return TOLD.test(kana) ? kana : "";
}

/** Digits of a script are ten neighbours, and their blocks begin with the zero at a multiple of ten from the next other character. */
function digitOf(code: number): number {
  let zero = code;
  while (code - zero < 9 && /\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero--;
  return code - zero;
}
