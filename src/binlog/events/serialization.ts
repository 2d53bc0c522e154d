import type { ByteReader } from "../../base/reader.ts";

/**
 * Numbers of mysql::serialization (libs/mysql/serialization/readme.md, 8.3): the trailing ones of the first byte tell how many bytes follow it; the number is
 * what stands above them and their zero. Nine bytes have eight ones and no zero, and hold 64 bits.
 */
export function varlen(reader: ByteReader): bigint {
  const first = reader.u8();
  const more = trailingOnes(first);
  if (more === 8) return reader.u64();
  let value = BigInt(first >> (more + 1));
  let shift = BigInt(7 - more);
  for (let i = 0; i < more; i++) {
    value |= BigInt(reader.u8()) << shift;
    shift += 8n;
  }
  return value;
}

/** The same as a double: exact to 2^53, which lengths, versions and microseconds stay below. */
export function varlenNumber(reader: ByteReader): number {
  const first = reader.u8();
  const more = trailingOnes(first);
  if (more === 8) return Number(reader.u64());
  let value = first >> (more + 1);
  let factor = 2 ** (7 - more);
  for (let i = 0; i < more; i++) {
    value += reader.u8() * factor;
    factor *= 256;
  }
  return value;
}

/** The lowest bit is the sign: x is 2x, and -1 - x is 2x + 1. */
export function varlenSigned(reader: ByteReader): bigint {
  const value = varlen(reader);
  return (value & 1n) === 0n ? value >> 1n : -1n - (value >> 1n);
}

/** Ones at the low end of a byte: those below its lowest zero. */
function trailingOnes(byte: number): number {
  return 31 - Math.clz32(~byte & -~byte & 0x1ff);
}
