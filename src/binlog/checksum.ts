import type { BinlogFormat } from "./format.ts";
import { assert } from "../base/assert.ts";
const todo = (): never => {
  assert(false, "not written yet");
};
export const CHECKSUM_LENGTH = 4;

/** Where the event's own bytes end: its length without the checksum. */
export function contentEnd(event: Buffer, format: BinlogFormat): number {
  return format.checksum === "crc32" ? event.length - CHECKSUM_LENGTH : event.length;
}
/** Whether the CRC32 at the end is the one of the bytes before it. */
export function checksumMatches(_event: Buffer): boolean {
  return todo();
}
/** Throws CORRUPT_EVENT when the format has checksums and this one is wrong. */
export function verifyChecksum(_event: Buffer, _format: BinlogFormat): void {
  todo();
}
/** A copy without the CRC and with the length field corrected. The caller knows that there is one. */
export function stripChecksum(_event: Buffer): Buffer {
  return todo();
}
/** A copy with a CRC at its end and the length field corrected. */
export function appendChecksum(_event: Buffer): Buffer {
  return todo();
}
