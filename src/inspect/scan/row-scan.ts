import { valueEnd } from "../../binlog/columns/length.ts";
import { ReplicationError } from "../../base/error.ts";
import { hasBit } from "../../binlog/events/rows.ts";
import { NULL_VALUE, ABSENT_VALUE } from "../../binlog/events/row-walker.ts";

/** Where the values of an image lie, by column; `starts` can be NULL_VALUE or ABSENT_VALUE instead. */
export interface Image {
  starts: Int32Array;
  ends: Int32Array;
}

export const newImage = (columns: number): Image => ({
  starts: new Int32Array(columns),
  ends: new Int32Array(columns),
});

/**
 * Finds the values of the row image at `at` of a row event whose rows end at `end`. `present`: how many columns the bitmap at `bitmap` names, of `columns`.
 * @returns where the image ends
 * @throws ReplicationError CORRUPT_EVENT, UNSUPPORTED
 */
export function scanImage(
  bytes: Buffer,
  at: number,
  end: number,
  lengthCodes: Int32Array,
  columns: number,
  bitmap: number,
  present: number,
  image: Image,
): number {
  const { starts, ends } = image;
  let value = at + ((present + 7) >> 3);
  if (value > end) throw new ReplicationError("CORRUPT_EVENT", "a row is cut at its first byte");
  const isWhole = present === columns;
  let index = 0;
  let nulls = 0;
  for (let column = 0; column < columns; column++) {
    if (!isWhole && !hasBit(bytes, bitmap, column)) {
      starts[column] = ABSENT_VALUE;
      continue;
    }
    if ((index & 7) === 0) nulls = bytes[at + (index >> 3)] as number;
    if (((nulls >> (index & 7)) & 1) === 1) {
      starts[column] = NULL_VALUE;
    } else {
      const code = lengthCodes[column] as number;
      let next: number;
      if (code >= 0) next = value + code;
      else if (code === -1) next = value + 1 + (bytes[value] as number);
      else if (code === -2) next = value + 2 + (bytes[value] as number) + ((bytes[value + 1] as number) << 8);
      else next = valueEnd(bytes, value, end, code);
      // Lengths that lie behind the end of everything read as NaN.
      if (!(next <= end)) next = valueEnd(bytes, value, end, code);
      starts[column] = value;
      ends[column] = next;
      value = next;
    }
    index++;
  }
  return value;
}

/** Whether `length` bytes at `a` and at `b` are the same. */
export function sameBytes(view: DataView, bytes: Uint8Array, a: number, b: number, length: number): boolean {
  let i = 0;
  for (; i + 4 <= length; i += 4) if (view.getInt32(a + i, true) !== view.getInt32(b + i, true)) return false;
  for (; i < length; i++) if (bytes[a + i] !== bytes[b + i]) return false;
  return true;
}

/** 53 bits, never 0, of the values of `key`'s columns; 0 when one of them is NULL or not in the image. */
export function keyHash(
  view: DataView,
  bytes: Uint8Array,
  { starts, ends }: Image,
  key: readonly number[],
  seed: number,
): number {
  let high = seed | 0;
  let low = 0x9e37_79b9 ^ seed;
  for (let i = 0; i < key.length; i++) {
    const column = key[i] as number;
    let at = starts[column] as number;
    if (at < 0) return 0;
    const end = ends[column] as number;
    for (; at + 4 <= end; at += 4) {
      const word = view.getInt32(at, true);
      high = Math.imul(high ^ word, 0x85eb_ca6b);
      high ^= high >>> 13;
      low = Math.imul(low + word, 0xc2b2_ae35);
      low ^= low >>> 16;
    }
    for (; at < end; at++) {
      const byte = bytes[at] as number;
      high = Math.imul(high ^ byte, 0x85eb_ca6b);
      high ^= high >>> 13;
      low = Math.imul(low + byte, 0xc2b2_ae35);
      low ^= low >>> 16;
    }
    // Where one value ends matters: ('a', 'bc') is not ('ab', 'c').
    high = Math.imul(high + i + 1, 0x27d4_eb2f);
    low = Math.imul(low ^ high, 0x1656_67b1);
  }
  high ^= high >>> 15;
  low ^= low >>> 13;
  return (high >>> 0) * 0x20_0000 + (low >>> 11) + 1;
}
