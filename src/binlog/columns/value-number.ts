/** An integer of 1, 2, 3, 4 or 8 bytes, low byte first. */
export function integerText(bytes: Buffer, from: number, to: number, unsigned: boolean): string {
  const width = to - from;
  if (width === 8) return String(unsigned ? bytes.readBigUInt64LE(from) : bytes.readBigInt64LE(from));
  return String(unsigned ? bytes.readUIntLE(from, width) : bytes.readIntLE(from, width));
}

/** BIT has the high byte first, ENUM and SET the low one. */
export function bitsOf(bytes: Buffer, from: number, to: number, order: "high-first" | "low-first"): bigint {
  let value = 0n;
  for (let i = from; i < to; i++) {
    const at = order === "high-first" ? i : to - 1 - (i - from);
    value = (value << 8n) | BigInt(bytes[at] as number);
  }
  return value;
}

const DIGITS_PER_WORD = 9;
/** Bytes of the digits that do not fill a word of nine. */
const BYTES_OF_DIGITS = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4] as const;

/**
 * NEWDECIMAL: nine digits to a word of four bytes, the incomplete word of the whole part first and that of the fraction last; the sign is the highest bit, inverted, and a negative
 * number has all bytes inverted (bin2decimal, strings/decimal.cc, 8.0).
 */
export function decimalText(source: Buffer, from: number, to: number, precision: number, scale: number): string {
  const bytes = Buffer.from(source.subarray(from, to));
  const negative = ((bytes[0] as number) & 0x80) === 0;
  bytes[0] = (bytes[0] as number) ^ 0x80;
  if (negative) for (let i = 0; i < bytes.length; i++) bytes[i] = (bytes[i] as number) ^ 0xff;
  let at = 0;
  const take = (digits: number): string => {
    const width = BYTES_OF_DIGITS[digits] ?? 0;
    const text = width === 0 ? "" : String(bytes.readUIntBE(at, width)).padStart(digits, "0");
    at += width;
    return text;
  };
  const whole = precision - scale;
  let text = take(whole % DIGITS_PER_WORD);
  for (let words = Math.floor(whole / DIGITS_PER_WORD); words > 0; words--) text += take(DIGITS_PER_WORD);
  let fraction = "";
  for (let words = Math.floor(scale / DIGITS_PER_WORD); words > 0; words--) fraction += take(DIGITS_PER_WORD);
  fraction += take(scale % DIGITS_PER_WORD);
  return `${negative ? "-" : ""}${text.replace(/^0+(?=\d)/, "") || "0"}${scale === 0 ? "" : `.${fraction}`}`;
}

const FLOAT_DIGITS_MAX = 9;

/** The fewest digits that give this very value: a FLOAT of 3.14 is 3.14, though as a double it is 3.140000104904175. */
export function floatText(value: number): string {
  for (let digits = 1; digits < FLOAT_DIGITS_MAX; digits++) {
    const text = Number(value.toPrecision(digits));
    if (Math.fround(text) === value) return doubleText(text);
  }
  return doubleText(value);
}

export const doubleText = (value: number): string => (Object.is(value, -0) ? "-0" : String(value));

/** With an exponent, or the server would take it for a DECIMAL. */
export function doubleLiteral(value: number): string {
  const text = doubleText(value);
  return text.includes("e") ? text : `${text}e0`;
}
