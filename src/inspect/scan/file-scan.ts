import { ReplicationError } from "../../base/error.ts";
import type { PartScan } from "./part-scan.ts";
import { readFully } from "./units.ts";

const BLOCK_BYTES = 1 << 20;

/**
 * Scans a plain file from its first byte to where it ended when it was opened, in this thread.
 *
 * Invariant: the buffer holds a block, or one event that is larger.
 */
export function scanFile(descriptor: number, size: number, scan: PartScan, onBytes: (bytes: number) => void): void {
  let buffer = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  let position = 0;
  let held = 0;
  try {
    while (position < size && !scan.isOver) {
      const wanted = Math.min(buffer.length - held, size - position);
      const read = readFully(descriptor, buffer, held, wanted, position);
      if (read === 0) throw new ReplicationError("CORRUPT_EVENT", "the file has become shorter while it was read");
      position += read;
      const end = held + read;
      const used = scan.take(buffer, end);
      onBytes(used);
      held = end - used;
      if (used > 0) buffer.copyWithin(0, used, end);
      // No more is set aside than the file can have, whatever a length says.
      const needed = Math.min(scan.wanted, held + size - position);
      if (needed > buffer.length) buffer = Buffer.concat([buffer.subarray(0, held)], needed);
    }
  } catch (error) {
    if (!(error instanceof ReplicationError)) throw error;
    scan.fail(error);
  }
  scan.finish(buffer.subarray(0, held));
}
