/**
 * Dates and times of row images as text, the way a server prints them. The newer types have their integer part with the high byte first, raised by half its range so
 * that the bytes sort, then the fraction: two decimals to a byte (mysys/my_time.cc, MySQL 8.0: my_datetime_packed_from_binary and its neighbours).
 */
const two = (value: number): string => String(value).padStart(2, "0");
const clockText = (hour: number, minute: number, second: number): string =>
  `${two(hour)}:${two(minute)}:${two(second)}`;
const dayText = (year: number, month: number, day: number): string =>
  `${String(year).padStart(4, "0")}-${two(month)}-${two(day)}`;

const ZERO_DATE = "0000-00-00";
const ZERO_DATETIME = `${ZERO_DATE} 00:00:00`;

const fractionBytes = (decimals: number): number => (decimals + 1) >> 1;

/** `.250`; empty without decimals. An odd number of decimals has a digit more in the bytes. */
function fractionText(fraction: number, decimals: number): string {
  if (decimals === 0) return "";
  return `.${String(fraction)
    .padStart(2 * fractionBytes(decimals), "0")
    .slice(0, decimals)}`;
}

/** DATE: day in 5 bits, month in 4, year above. */
export function dateText(bytes: Buffer, at: number): string {
  const packed = bytes.readUIntLE(at, 3);
  return dayText(packed >> 9, (packed >> 5) & 15, packed & 31);
}

export function timeText(bytes: Buffer, at: number, decimals: number): string {
  const width = fractionBytes(decimals);
  const scale = 2 ** (8 * width);
  const packed = bytes.readUIntBE(at, 3 + width) - 0x80_0000 * scale;
  const whole = Math.floor(Math.abs(packed) / scale);
  const text = clockText((whole >> 12) & 0x3ff, (whole >> 6) & 0x3f, whole & 0x3f);
  return (packed < 0 ? "-" : "") + text + fractionText(Math.abs(packed) % scale, decimals);
}

export function datetimeText(bytes: Buffer, at: number, decimals: number): string {
  const packed = bytes.readUIntBE(at, 5) - 0x80_0000_0000;
  const clock = packed % 0x2_0000;
  const days = Math.floor(packed / 0x2_0000);
  const months = Math.floor(days / 32);
  const width = fractionBytes(decimals);
  return (
    `${dayText(Math.floor(months / 13), months % 13, days % 32)} ${clockText(clock >> 12, (clock >> 6) & 0x3f, clock & 0x3f)}` +
    fractionText(width === 0 ? 0 : bytes.readUIntBE(at + 5, width), decimals)
  );
}

/** In UTC; zero is no moment, but the zero date. */
export function timestampText(bytes: Buffer, at: number, decimals: number): string {
  const width = fractionBytes(decimals);
  const fraction = width === 0 ? 0 : bytes.readUIntBE(at + 4, width);
  return momentText(bytes.readUInt32BE(at), fraction) + fractionText(fraction, decimals);
}

function momentText(seconds: number, fraction = 0): string {
  if (seconds === 0 && fraction === 0) return ZERO_DATETIME;
  return new Date(seconds * 1000).toISOString().slice(0, 19).replace("T", " ");
}

/** Before MySQL 5.6.4, and MariaDB's without mysql56_temporal_format: decimal digits, low byte first. */
export function oldTimeText(bytes: Buffer, at: number): string {
  const digits = bytes.readIntLE(at, 3);
  return (digits < 0 ? "-" : "") + digitsClock(Math.abs(digits));
}

export function oldDatetimeText(bytes: Buffer, at: number): string {
  const digits = Number(bytes.readBigUInt64LE(at));
  const day = Math.floor(digits / 1_000_000);
  return `${dayText(Math.floor(day / 10_000), Math.floor(day / 100) % 100, day % 100)} ${digitsClock(digits % 1_000_000)}`;
}

export const oldTimestampText = (bytes: Buffer, at: number): string => momentText(bytes.readUInt32LE(at));

const digitsClock = (digits: number): string =>
  clockText(Math.floor(digits / 10_000), Math.floor(digits / 100) % 100, digits % 100);
