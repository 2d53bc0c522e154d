import { ReplicationError } from "../../base/error.ts";
import type { BinlogInput } from "../input/input.ts";
import type { PartScan } from "./part-scan.ts";

/**
 * Scans a file that comes as a stream: compressed, from a pipe, or from a server.
 *
 * Invariant: what is held is the chunk at hand and the beginning of one event, and the pieces of an event of many chunks are joined once.
 */
export async function scanStream(input: BinlogInput, scan: PartScan, onBytes: (bytes: number) => void): Promise<void> {
  let pieces: Buffer[] = [];
  let held = 0;
  try {
    for await (const chunk of input.chunks()) {
      pieces.push(chunk);
      held += chunk.length;
      if (held < scan.wanted) continue;
      const bytes = pieces.length === 1 ? chunk : Buffer.concat(pieces, held);
      const used = scan.take(bytes, held);
      onBytes(used);
      // A copy: a small rest must not hold on to a large chunk.
      pieces = used === held ? [] : [Buffer.from(bytes.subarray(used))];
      held -= used;
      if (scan.isOver) break;
    }
  } catch (error) {
    if (!(error instanceof ReplicationError)) throw error;
    scan.fail(error);
  }
  scan.finish(Buffer.concat(pieces));
}
