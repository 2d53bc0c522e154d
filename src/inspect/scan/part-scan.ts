import { ReplicationError } from "../../base/error.ts";
import type { PartSummary } from "../summary/part.ts";
import { checkMagic, cutEvent, EventWalk, MAGIC_BYTES } from "./event-walk.ts";
import type { Scanner } from "./scanner.ts";
import { UNIT_BYTES } from "./units.ts";

/**
 * Scans a file whose bytes come in order, in the same parts as several threads would: each goes to `onPart` when it ends.
 *
 * Invariant: an event is looked at once, or it would hide the border before it; and all that lies before a fault counts.
 */
export class PartScan {
  readonly #scanner: Scanner;
  readonly #file: { number: number; name: string };
  readonly #onPart: (part: PartSummary) => void;
  readonly #walk = new EventWalk();
  #fault: ReplicationError | undefined;
  /** So many bytes must be there before there is something to scan. */
  #wanted = MAGIC_BYTES;
  /** Length of the event at hand, once it was looked at. */
  #known = 0;
  /** Offset in the file of the first byte not scanned, and where the part begins. */
  #base = 0;
  #from = 0;

  constructor(scanner: Scanner, file: { number: number; name: string }, onPart: (part: PartSummary) => void) {
    this.#scanner = scanner;
    this.#file = file;
    this.#onPart = onPart;
    scanner.begin(file, undefined);
  }

  get wanted(): number {
    return this.#wanted;
  }

  /** Nothing that follows in this file counts. */
  get isOver(): boolean {
    return this.#fault !== undefined || this.#scanner.isOver;
  }

  /** Takes the next bytes, those before `to`. @returns how many were used: the others are to be given again, with more behind them */
  take(bytes: Buffer, to: number): number {
    if (to < this.#wanted) return 0;
    let at = 0;
    let scanned = 0;
    try {
      if (this.#base === 0) {
        checkMagic(bytes.subarray(0, to));
        at = scanned = this.#from = MAGIC_BYTES;
      }
      for (;;) {
        const before = this.#walk.format;
        const length = this.#known > 0 ? this.#known : this.#walk.look(bytes, at, to);
        this.#known = 0;
        if (length < 0 || at + length > to) {
          this.#known = Math.max(length, 0);
          this.#wanted = Math.abs(length);
          break;
        }
        if (this.#walk.atBorder && this.#base + at - this.#from >= UNIT_BYTES) {
          this.#scanner.scan(bytes, scanned, at, this.#base);
          this.#onPart(this.#scanner.end(false));
          this.#scanner.begin(this.#file, before);
          scanned = at;
          this.#from = this.#base + at;
        }
        at += length;
      }
    } catch (error) {
      if (!(error instanceof ReplicationError)) throw error;
      this.#fault = error;
    }
    this.#scanner.scan(bytes, scanned, at, this.#base);
    this.#base += at;
    return at;
  }

  /** The file has failed, in words of its own. */
  fail(error: ReplicationError): void {
    this.#fault ??= error;
  }

  /** The file has ended, with so many bytes that were not used. */
  finish(rest: Buffer): void {
    if (!this.isOver) {
      try {
        if (this.#base === 0) checkMagic(rest);
        if (rest.length > 0) throw cutEvent(rest.length);
      } catch (error) {
        if (!(error instanceof ReplicationError)) throw error;
        this.#fault = error;
      }
    }
    if (this.#fault !== undefined) this.#scanner.fault(this.#base, this.#fault.message);
    this.#onPart(this.#scanner.end(!this.isOver));
  }
}
