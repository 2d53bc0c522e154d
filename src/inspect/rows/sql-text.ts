const START_BYTES = 256 << 10;
const COPIED_HERE_MAX = 128;
const QUOTE = 0x27;
const HEX = Buffer.from("0123456789ABCDEF", "latin1");

/** By byte: 0, stands for itself in a literal; 1, is no ASCII; else the letter that stands behind a backslash. */
const ESCAPES = new Uint8Array(256).fill(1, 0x80);
for (const [byte, letter] of Object.entries({ 0x00: "0", 0x0a: "n", 0x0d: "r", 0x1a: "Z", 0x27: "'", 0x5c: "\\" })) {
  ESCAPES[Number(byte)] = letter.charCodeAt(0);
}

/** What cp1252 has at 0x80 to 0x9f; 0 where it has nothing, and where the servers have characters that no other program knows. */
const LATIN1_HIGH = [
  0x20ac, 0, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0, 0x017d, 0, 0,
  0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0, 0x017e, 0x0178,
];

/**
 * SQL text that grows at its end, in one buffer. A literal goes from a row image into it without becoming a string in between: most of the time that rows take is theirs.
 */
export class SqlText {
  #bytes = Buffer.allocUnsafeSlow(START_BYTES);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Cuts it back to what it was at that length. */
  truncate(length: number): void {
    this.#length = length;
  }

  /** All of it, valid until more is written. */
  view(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  byte(byte: number): void {
    if (this.#length === this.#bytes.length) this.#grow(1);
    this.#bytes[this.#length++] = byte;
  }

  bytes(source: Buffer): void {
    const { length } = source;
    this.#reserve(length);
    const bytes = this.#bytes;
    const at = this.#length;
    // A call into the runtime costs more than a few bytes do.
    if (length <= COPIED_HERE_MAX) for (let i = 0; i < length; i++) bytes[at + i] = source[i] as number;
    else bytes.set(source, at);
    this.#length = at + length;
  }

  text(text: string): void {
    // A UTF-16 unit becomes three bytes at most.
    this.#reserve(text.length * 3);
    this.#length += this.#bytes.write(text, this.#length, "utf8");
  }

  ascii(text: string): void {
    this.#reserve(text.length);
    this.#length += this.#bytes.write(text, this.#length, "latin1");
  }

  /** An integer of up to 53 bits. */
  integer(value: number): void {
    this.#reserve(24);
    let rest = value;
    if (rest < 0) {
      this.#bytes[this.#length++] = 0x2d;
      rest = -rest;
    }
    let digits = 1;
    for (let limit = 10; rest >= limit; limit *= 10) digits++;
    let at = this.#length + digits;
    this.#length = at;
    const bytes = this.#bytes;
    while (rest > 0x7fff_ffff) {
      const quotient = Math.floor(rest / 10);
      bytes[--at] = 0x30 + (rest - quotient * 10);
      rest = quotient;
    }
    let small = rest | 0;
    do {
      const quotient = (small / 10) | 0;
      bytes[--at] = 0x30 + (small - quotient * 10);
      small = quotient;
    } while (small > 0);
  }

  /** `X'00FF'` */
  hex(source: Buffer, from: number, to: number, zeros = 0): void {
    this.#reserve(3 + 2 * (to - from + zeros));
    const bytes = this.#bytes;
    let at = this.#length;
    bytes[at++] = 0x58;
    bytes[at++] = QUOTE;
    for (let i = from; i < to; i++) {
      const byte = source[i] as number;
      bytes[at++] = HEX[byte >> 4] as number;
      bytes[at++] = HEX[byte & 15] as number;
    }
    if (zeros > 0) bytes.fill(0x30, at, at + 2 * zeros);
    at += 2 * zeros;
    bytes[at++] = QUOTE;
    this.#length = at;
  }

  /** `'it\'s'`, of UTF-8 bytes. False, and nothing written, when they are none. */
  quotedUtf8(source: Buffer, from: number, to: number): boolean {
    const start = this.#length;
    this.#reserve(2 + 2 * (to - from));
    const bytes = this.#bytes;
    let at = start;
    bytes[at++] = QUOTE;
    let i = from;
    while (i < to) {
      const byte = source[i] as number;
      const escape = ESCAPES[byte] as number;
      if (escape === 0) {
        bytes[at++] = byte;
        i++;
      } else if (escape === 1) {
        const next = characterEnd(source, i, to);
        if (next === 0) return false;
        while (i < next) bytes[at++] = source[i++] as number;
      } else {
        bytes[at++] = 0x5c;
        bytes[at++] = escape;
        i++;
      }
    }
    bytes[at++] = QUOTE;
    this.#length = at;
    return true;
  }

  /** The same of the servers' latin1. False when a byte is no character of it that other programs know. */
  quotedLatin1(source: Buffer, from: number, to: number): boolean {
    const start = this.#length;
    this.#reserve(2 + 3 * (to - from));
    const bytes = this.#bytes;
    let at = start;
    bytes[at++] = QUOTE;
    for (let i = from; i < to; i++) {
      const byte = source[i] as number;
      const escape = ESCAPES[byte] as number;
      if (escape === 0) {
        bytes[at++] = byte;
      } else if (escape === 1) {
        const character = byte < 0xa0 ? (LATIN1_HIGH[byte - 0x80] as number) : byte;
        if (character === 0) return false;
        if (character < 0x800) {
          bytes[at++] = 0xc0 | (character >> 6);
        } else {
          bytes[at++] = 0xe0 | (character >> 12);
          bytes[at++] = 0x80 | ((character >> 6) & 63);
        }
        bytes[at++] = 0x80 | (character & 63);
      } else {
        bytes[at++] = 0x5c;
        bytes[at++] = escape;
      }
    }
    bytes[at++] = QUOTE;
    this.#length = at;
    return true;
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes > this.#bytes.length) this.#grow(bytes);
  }

  #grow(bytes: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.#bytes.length, this.#length + bytes));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}

/** Where the UTF-8 character ends that begins at `at`, its first byte being no ASCII; 0 when there is none: cut, overlong, a surrogate, or past U+10FFFF. */
function characterEnd(source: Buffer, at: number, to: number): number {
  const first = source[at] as number;
  const second = at + 1 < to ? (source[at + 1] as number) : 0;
  if ((second & 0xc0) !== 0x80 || first < 0xc2 || first > 0xf4) return 0;
  if (first < 0xe0) return at + 2;
  const third = at + 2 < to ? (source[at + 2] as number) : 0;
  if ((third & 0xc0) !== 0x80) return 0;
  if (first < 0xf0) {
    if ((first === 0xe0 && second < 0xa0) || (first === 0xed && second > 0x9f)) return 0;
    return at + 3;
  }
  const fourth = at + 3 < to ? (source[at + 3] as number) : 0;
  if ((fourth & 0xc0) !== 0x80) return 0;
  if ((first === 0xf0 && second < 0x90) || (first === 0xf4 && second > 0x8f)) return 0;
  return at + 4;
}

const ESCAPED: Readonly<Record<string, string>> = {
  "\0": "\\0",
  "\n": "\\n",
  "\r": "\\r",
  "\u001a": "\\Z",
  "'": "\\'",
  "\\": "\\\\",
};

/** A literal as `quotedUtf8` writes it. */
export function quoteUtf8(text: string): string {
  // oxlint-disable-next-line no-control-regex -- these are the bytes that a client's own parser would take for something else
  return `'${text.replace(/[\0\n\r\u001a'\\]/g, (character) => ESCAPED[character] ?? character)}'`;
}

/** A comment of its own line or lines, whatever is in the text: a name in a log may hold anything. */
export function sqlComment(text: string): string {
  return `-- ${text.replaceAll(/\r\n?|\n/g, "\n-- ")}\n`;
}
