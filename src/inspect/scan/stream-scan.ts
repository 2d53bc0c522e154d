import { ReplicationError } from "../../base/error.ts";
import type { BinlogInput } from "../input/input.ts";
import type { PartSummary } from "../summary/part.ts";
import { checkMagic, cutEvent, EventWalk, MAGIC_BYTES } from "./event-walk.ts";
import type { Scanner } from "./scanner.ts";
import { UNIT_BYTES } from "./units.ts";

/**
 * Scans a file that comes as a stream: compressed, from a pipe, or from a server. It is cut into the same parts as a plain file would be.
 *
 * Invariant: what is held is the chunk at hand and the beginning of one event, in pieces until it is whole: joined with each chunk, a damaged length would cost the square of what
 * follows it.
 */
export async function* scanStream(
  scanner: Scanner,
  input: BinlogInput,
  number: number,
  onBytes: (bytes: number) => void,
): AsyncGenerator<PartSummary> {
  const file = { number, name: input.name };
  const walk = new EventWalk();
  let pieces: Buffer[] = [];
  let held = 0;
  /** So many bytes must be held before there is something to scan. */
  let wanted = MAGIC_BYTES;
  /** Length of the event at hand, once it was looked at. */
  let known = 0;
  /** Offset in the file of the first byte held. */
  let base = 0;
  let from = 0;
  let isWhole = false;
  scanner.begin(file, undefined);
  try {
    for await (const chunk of input.chunks()) {
      pieces.push(chunk);
      held += chunk.length;
      if (held < wanted) continue;
      const bytes = pieces.length === 1 ? chunk : Buffer.concat(pieces, held);
      let at = 0;
      let scanned = 0;
      if (base === 0) {
        checkMagic(bytes);
        at = scanned = from = MAGIC_BYTES;
      }
      try {
        for (;;) {
          const before = walk.format;
          // An event is looked at once, or it would hide the border before it.
          const length = known > 0 ? known : walk.look(bytes, at, bytes.length);
          known = 0;
          if (length < 0 || at + length > bytes.length) {
            known = Math.max(length, 0);
            wanted = Math.abs(length);
            break;
          }
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
        pieces = at === bytes.length ? [] : [Buffer.from(bytes.subarray(at))];
        held = bytes.length - at;
      }
      if (scanner.isHopeless || scanner.isOver) break;
    }
    if (base === 0) checkMagic(Buffer.concat(pieces));
    if (held > 0 && !scanner.isHopeless && !scanner.isOver) throw cutEvent(held);
    isWhole = !scanner.isOver;
  } catch (error) {
    if (!(error instanceof ReplicationError)) throw error;
    scanner.fault(base, error.message);
  }
  yield scanner.end(isWhole);
}
