/** How characters lie in the bytes of a character set; undefined in `CHARSETS`-like lookups: not known well enough to count them. */
export type CharacterWidth = "one" | "two" | "four" | "utf8" | "utf16" | "utf16le";

const WIDTHS: Readonly<Record<string, CharacterWidth>> = {
  utf8mb3: "utf8",
  utf8mb4: "utf8",
  ucs2: "two",
  utf16: "utf16",
  utf16le: "utf16le",
  utf32: "four",
};

/** `bytesPerCharacterMax` as information_schema.CHARACTER_SETS has it (MAXLEN). undefined: gbk, sjis and the like. */
export function characterWidth(charset: string, bytesPerCharacterMax: number): CharacterWidth | undefined {
  return bytesPerCharacterMax === 1 ? "one" : WIDTHS[charset];
}

/** Where the first `characters` of the text in `[start, end)` end. */
export function prefixEnd(
  width: CharacterWidth,
  bytes: Buffer,
  start: number,
  end: number,
  characters: number,
): number {
  switch (width) {
    case "one":
      return Math.min(end, start + characters);
    case "two":
      return Math.min(end, start + 2 * characters);
    case "four":
      return Math.min(end, start + 4 * characters);
    case "utf8":
    case "utf16":
    case "utf16le": {
      let at = start;
      for (let left = characters; left > 0 && at < end; left--) at += characterLength(width, bytes, at);
      return Math.min(end, at);
    }
  }
}

function characterLength(width: "utf8" | "utf16" | "utf16le", bytes: Buffer, at: number): number {
  if (width === "utf8") {
    const first = bytes[at] as number;
    return first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  }
  const high = bytes[width === "utf16" ? at : at + 1] as number;
  return (high & 0xfc) === 0xd8 ? 4 : 2;
}

const SPACES: Readonly<Record<"two" | "four" | "utf16" | "utf16le", Buffer>> = {
  two: Buffer.of(0, 0x20),
  utf16: Buffer.of(0, 0x20),
  utf16le: Buffer.of(0x20, 0),
  four: Buffer.of(0, 0, 0, 0x20),
};

/** Where the text ends without its trailing spaces. In every other character set (gbk, sjis, …) 0x20 is a space and never the second byte of a character. */
export function withoutSpaces(width: CharacterWidth | undefined, bytes: Buffer, start: number, end: number): number {
  let to = end;
  if (width === undefined || width === "one" || width === "utf8") {
    while (to > start && bytes[to - 1] === 0x20) to--;
    return to;
  }
  const space = SPACES[width];
  while (to - start >= space.length && bytes.compare(space, 0, space.length, to - space.length, to) === 0) {
    to -= space.length;
  }
  return to;
}
