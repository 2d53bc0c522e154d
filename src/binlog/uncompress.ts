import { assert } from "../base/assert.ts";
import type { BinlogFormat } from "./format.ts";

/** Whether it is one of MariaDB's compressed events (165–171). */
export function isCompressed(type: number): boolean {
  return type >= 165 && type <= 171;
}
/** The plain event of a compressed one: header with the plain type and length, no checksum. `bytesMax` guards memory. */
export function uncompressEvent(_event: Buffer, _format: BinlogFormat, _bytesMax?: number): Buffer {
  assert(false, "not written yet");
}
