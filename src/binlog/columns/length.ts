import { ReplicationError } from "../../base/error.ts";
import { COLUMN_TYPE, stringLengthMax, stringType } from "./types.ts";

/**
 * How long a column's value is in a row image, as one number: n ≥ 0, always n bytes; -1 to -4, that many bytes hold the length of what follows them; UNKNOWN.
 * Only what a table map says is needed, so that a row can be walked without knowing any value (calc_field_size, libbinlogevents/src/binary_log_funcs.cpp, 8.0).
 */
export type LengthCode = number;

export const UNKNOWN_LENGTH: LengthCode = -128;

/** Bytes of the digits that do not fill a word of nine. */
const DIGIT_BYTES = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4] as const;

/** A NEWDECIMAL's bytes: nine digits to a word of four, before and behind the point (decimal_bin_size, strings/decimal.cc, 8.0). */
function decimalLength(precision: number, scale: number): number {
  const whole = precision - scale;
  if (whole < 0) return UNKNOWN_LENGTH;
  const words = Math.trunc(whole / 9) + Math.trunc(scale / 9);
  return words * 4 + (DIGIT_BYTES[whole % 9] ?? 0) + (DIGIT_BYTES[scale % 9] ?? 0);
}

export function lengthCode(type: number, metadata: number): LengthCode {
  switch (type) {
    case COLUMN_TYPE.NULL:
      return 0;
    case COLUMN_TYPE.TINY:
    case COLUMN_TYPE.YEAR:
      return 1;
    case COLUMN_TYPE.SHORT:
      return 2;
    case COLUMN_TYPE.INT24:
    case COLUMN_TYPE.DATE:
    case COLUMN_TYPE.TIME:
    case COLUMN_TYPE.NEWDATE:
      return 3;
    case COLUMN_TYPE.LONG:
    case COLUMN_TYPE.TIMESTAMP:
      return 4;
    case COLUMN_TYPE.LONGLONG:
    case COLUMN_TYPE.DATETIME:
      return 8;
    case COLUMN_TYPE.FLOAT:
    case COLUMN_TYPE.DOUBLE:
      return metadata;
    case COLUMN_TYPE.NEWDECIMAL:
      return decimalLength(metadata >> 8, metadata & 0xff);
    // Two decimals to a byte.
    case COLUMN_TYPE.TIME2:
      return 3 + ((metadata + 1) >> 1);
    case COLUMN_TYPE.TIMESTAMP2:
      return 4 + ((metadata + 1) >> 1);
    case COLUMN_TYPE.DATETIME2:
      return 5 + ((metadata + 1) >> 1);
    // Whole bytes above, bits beyond them below.
    case COLUMN_TYPE.BIT:
      return (metadata >> 8) + ((metadata & 0xff) > 0 ? 1 : 0);
    case COLUMN_TYPE.ENUM:
    case COLUMN_TYPE.SET:
      return metadata & 0xff;
    case COLUMN_TYPE.STRING:
      if (stringType(metadata) !== COLUMN_TYPE.STRING) return metadata & 0xff;
      return stringLengthMax(metadata) > 255 ? -2 : -1;
    case COLUMN_TYPE.VARCHAR:
    case COLUMN_TYPE.VAR_STRING:
    case COLUMN_TYPE.VARCHAR_COMPRESSED:
      return metadata > 255 ? -2 : -1;
    // Their metadata is the number of bytes that hold the length.
    case COLUMN_TYPE.TINY_BLOB:
    case COLUMN_TYPE.BLOB:
    case COLUMN_TYPE.MEDIUM_BLOB:
    case COLUMN_TYPE.LONG_BLOB:
    case COLUMN_TYPE.BLOB_COMPRESSED:
    case COLUMN_TYPE.GEOMETRY:
    case COLUMN_TYPE.JSON:
    case COLUMN_TYPE.VECTOR:
      return metadata >= 1 && metadata <= 4 ? -metadata : UNKNOWN_LENGTH;
    case COLUMN_TYPE.TYPED_ARRAY:
      return -4;
    default:
      return UNKNOWN_LENGTH;
  }
}

/** Bytes of a value whose length stands before it in `width` bytes at `offset`, those included. The caller knows that `offset + width` is inside. */
function prefixed(bytes: Buffer, offset: number, width: number): number {
  let length = bytes[offset] as number;
  if (width > 1) length += (bytes[offset + 1] as number) << 8;
  if (width > 2) length += (bytes[offset + 2] as number) << 16;
  if (width > 3) length += (bytes[offset + 3] as number) * 0x100_0000;
  return width + length;
}

/**
 * Where the value at `offset` ends.
 * @throws ReplicationError CORRUPT_EVENT when that is past `end`, UNSUPPORTED for a type of unknown length.
 */
export function valueEnd(bytes: Buffer, offset: number, end: number, code: LengthCode): number {
  let next = offset + code;
  if (code < 0) {
    if (code === UNKNOWN_LENGTH) {
      throw new ReplicationError("UNSUPPORTED", "a row holds a column of an unknown type", {
        hint: "the source is newer than this program: update it",
      });
    }
    next = offset - code <= end ? offset + prefixed(bytes, offset, -code) : end + 1;
  }
  if (next > end) {
    // Without offsets: `bytes` may be an event, or many of them.
    throw new ReplicationError("CORRUPT_EVENT", "a value runs past the end of its event's rows");
  }
  return next;
}
