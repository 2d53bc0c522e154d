import { ReplicationError } from "../../base/error.ts";
import type { PartSummary } from "../summary/part.ts";
import { u32 } from "./bytes.ts";
import type { Scanner } from "./scanner.ts";
import { readFully, type Unit } from "./units.ts";

const BLOCK_BYTES = 1 << 20;
const LENGTH_END = 13;

/**
 * Scans units of files, block by block, in one buffer that is used again and again.
 *
 * Invariant: it holds a block, or one event that is larger; never a unit. A transaction of gigabytes takes no more memory than a small one.
 */
export class UnitScan {
  readonly #scanner: Scanner;
  #buffer = Buffer.allocUnsafeSlow(BLOCK_BYTES);

  constructor(scanner: Scanner) {
    this.#scanner = scanner;
  }

  scan(descriptor: number, file: { number: number; name: string }, unit: Unit): PartSummary {
    const scanner = this.#scanner;
    scanner.begin(file, unit.format);
    let position = unit.from;
    let held = 0;
    try {
      while (position < unit.to) {
        const wanted = Math.min(this.#buffer.length - held, unit.to - position);
        const read = readFully(descriptor, this.#buffer, held, wanted, position);
        if (read === 0) throw new ReplicationError("CORRUPT_EVENT", "the file has become shorter while it was read");
        position += read;
        const end = held + read;
        const used = scanner.scan(this.#buffer, 0, end, position - end);
        held = end - used;
        if (used > 0) this.#buffer.copyWithin(0, used, end);
        else if (held === this.#buffer.length) this.#grow(held);
      }
    } catch (error) {
      if (!(error instanceof ReplicationError)) throw error;
      scanner.fault(position, error.message);
    }
    if (unit.fault !== undefined) scanner.fault(unit.fault.offset, unit.fault.reason);
    return scanner.end(unit.endsFile && unit.fault === undefined);
  }

  /** One event fills the buffer and goes on. */
  #grow(held: number): void {
    const length = held < LENGTH_END ? 0 : u32(this.#buffer, LENGTH_END - 4);
    const larger = Buffer.allocUnsafeSlow(Math.max(length, BLOCK_BYTES));
    this.#buffer.copy(larger, 0, 0, held);
    this.#buffer = larger;
  }
}
