import { characterBytesMax, padsSpace } from "../../schema/charsets.ts";
import { characterSetOf } from "../../schema/collation-names.ts";
import { characterWidth } from "../../schedule/writeset/charset.ts";
import { Collation } from "../../schedule/writeset/collation.ts";
import { Fold, foldAscii } from "./fold.ts";

/** What decoders call the character sets that are not called so; an empty name: not to be decoded, only ASCII counts. */
const LABELS: Readonly<Record<string, string>> = {
  ascii: "latin1",
  binary: "latin1",
  cp1250: "windows-1250",
  cp1251: "windows-1251",
  cp1256: "windows-1256",
  cp1257: "windows-1257",
  cp866: "ibm866",
  cp932: "shift_jis",
  eucjpms: "euc-jp",
  euckr: "euc-kr",
  greek: "iso-8859-7",
  hebrew: "iso-8859-8",
  koi8r: "koi8-r",
  koi8u: "koi8-u",
  latin1: "windows-1252",
  latin2: "iso-8859-2",
  latin5: "windows-1254",
  latin7: "iso-8859-13",
  macroman: "macintosh",
  sjis: "shift_jis",
  tis620: "windows-874",
  ucs2: "utf-16be",
  ujis: "euc-jp",
  utf16: "utf-16be",
  utf16le: "utf-16le",
  utf8mb3: "utf-8",
  utf8mb4: "utf-8",
};
const DECODED = new Set(["big5", "gb18030", "gb2312", "gbk", ...Object.keys(LABELS)]);

/**
 * A collation that no server can be asked about: instead of its weights, what is left of a text when all is taken away that such collations do not look at (Fold).
 * Collations that compare bytes are exact.
 *
 * Invariant: of the collations that are in common use, texts that a server calls equal have one form here; some that it tells apart have one too. It serves to predict; to
 * replicate by it would be wrong.
 */
export class OfflineCollation extends Collation {
  readonly #fold: Fold;
  readonly #decode: (bytes: Buffer) => string;
  readonly #isAsciiByBytes: boolean;
  readonly #stripSpaces: boolean;

  /** `name` as a catalog tells it: `utf8mb4_general_ci`. */
  constructor(name: string) {
    const charset = characterSetOf(name);
    super({
      name,
      charset,
      width: characterWidth(charset, characterBytesMax(charset)),
      padSpace: padsSpace(name),
      bytewise: name === "binary" || name.endsWith("_bin"),
      levels: "first",
    });
    this.#fold = new Fold(name);
    this.#decode = decoderOf(charset);
    this.#isAsciiByBytes = this.#fold.isSimple && !["two", "four", "utf16", "utf16le"].includes(this.facts.width ?? "");
    this.#stripSpaces = padsSpace(name);
  }

  override get isUnknown(): boolean {
    return false;
  }

  /** No character becomes more than 18 (U+FDFA), of at most three bytes each here, and has at least one byte itself. */
  override room(length: number): number {
    return 54 * length;
  }

  override write(bytes: Buffer, start: number, end: number, out: Buffer, to: number): number {
    const at = this.#isAsciiByBytes ? writeAscii(bytes, start, end, out, to) : -1;
    return this.#withoutSpaces(out, to, at >= 0 ? at : this.#writeText(bytes.subarray(start, end), out, to));
  }

  #writeText(bytes: Buffer, out: Buffer, to: number): number {
    return to + out.write(this.#fold.of(this.#decode(bytes)), to, "utf8");
  }

  /** Ignorable characters may have stood behind them. */
  #withoutSpaces(out: Buffer, start: number, end: number): number {
    let to = end;
    if (this.#stripSpaces) while (to > start && out[to - 1] === 0x20) to--;
    return to;
  }
}

/** -1: it has other characters too. */
function writeAscii(bytes: Buffer, start: number, end: number, out: Buffer, to: number): number {
  let at = to;
  for (let i = start; i < end; i++) {
    const byte = bytes[i] as number;
    if (byte >= 0x80) return -1;
    const folded = foldAscii(byte);
    if (folded >= 0) out[at++] = folded;
  }
  return at;
}

function decoderOf(charset: string): (bytes: Buffer) => string {
  if (charset === "utf8mb4" || charset === "utf8mb3") return (bytes) => bytes.toString("utf8");
  if (charset === "utf32") return decodeUtf32;
  if (!DECODED.has(charset)) return (bytes) => bytes.toString("latin1").replaceAll(/[^\0-\x7f]/g, "");
  const decoder = new TextDecoder(LABELS[charset] ?? charset);
  return (bytes) => decoder.decode(bytes);
}

function decodeUtf32(bytes: Buffer): string {
  let text = "";
  for (let at = 0; at + 4 <= bytes.length; at += 4) {
    const code = bytes.readUInt32BE(at);
    if (code <= 0x10_ffff) text += String.fromCodePoint(code);
  }
  return text;
}
