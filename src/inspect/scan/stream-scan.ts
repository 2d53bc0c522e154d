import { ReplicationError } from "../../base/error.ts";
import type { BinlogInput } from "../input/input.ts";
import type { PartSummary } from "../summary/part.ts";
import { checkMagic, cutEvent, EventWalk, MAGIC_BYTES } from "./event-walk.ts";
import type { Scanner } from "./scanner.ts";
import { UNIT_BYTES } from "./units.ts";

/**
 * Scans a file that comes as a stream: compressed, from a pipe, or from a server. It is cut into the same parts as a plain file would be.
 *
 * Invariant: what is held is the chunk at hand and the beginning of one event.
 */
export async function* scanStream(
  scanner: Scanner,
  input: BinlogInput,
  number: number,
  onBytes: (bytes: number) => void,
): AsyncGenerator<PartSummary> {
  const file = { number, name: input.name };
  const walk = new EventWalk();
  let held: Buffer = Buffer.alloc(0);
  /** Offset in the file of the first byte held. */
  let base = 0;
  let from = 0;
  let isWhole = false;
  scanner.begin(file, undefined);
  try {
    for await (const chunk of input.chunks()) {
      const bytes = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
      let at = 0;
      let scanned = 0;
      if (base === 0 && bytes.length >= MAGIC_BYTES) {
        checkMagic(bytes);
        at = scanned = from = MAGIC_BYTES;
      }
      try {
        while (base + at > 0) {
          const before = walk.format;
          const length = walk.look(bytes, at, bytes.length);
          if (length < 0 || at + length > bytes.length) break;
          if (walk.atBorder && base + at - from >= UNIT_BYTES) {
            scanner.scan(bytes, scanned, at, base);
            yield scanner.end(false);
            scanner.begin(file, before);
            scanned = at;
            from = base + at;
          }
          at += length;
        }
      } finally {
        // What is before a fault counts.
        scanner.scan(bytes, scanned, at, base);
        onBytes(at);
        base += at;
        // A copy: a small rest must not hold on to a large chunk.
        held = Buffer.from(bytes.subarray(at));
      }
      if (scanner.isHopeless || scanner.isOver) break;
    }
    if (base === 0) checkMagic(held);
    if (held.length > 0 && !scanner.isHopeless && !scanner.isOver) throw cutEvent(held.length);
    isWhole = !scanner.isOver;
  } catch (error) {
    if (!(error instanceof ReplicationError)) throw error;
    scanner.fault(base, error.message);
  }
  yield scanner.end(isWhole);
}
