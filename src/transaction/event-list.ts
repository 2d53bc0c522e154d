import { CHECKSUM_LENGTH } from "../binlog/checksum.ts";

/** Lists are put into shared memory of this size, one behind the other. */
const SLAB_BYTES = 256 << 10;
/** A longer list gets memory of its own, so that the end of a slab that stays empty is no large part of it. */
const SHARED_BYTES_MAX = SLAB_BYTES / 8;
/** A list of megabytes is not doubled for one event more. */
const GROWTH_BYTES_MAX = 2 << 20;
const LENGTH_OFFSET = 9;
const NOTHING = Buffer.alloc(0);

/**
 * Events without checksum, in order, in one run of bytes. Each is a view that is made when it is asked for: thousands of transactions wait in the engine's queue, and
 * a Buffer for each of their events would be most of what the garbage collector has to look at.
 */
export class EventList implements Iterable<Buffer> {
  static readonly EMPTY = new EventList(NOTHING, 0, 0, 0);
  readonly #bytes: Buffer;
  readonly #start: number;
  readonly #end: number;
  /** How many events. */
  readonly length: number;

  /** From `start` up to, not including, `end` of `bytes`, which must not change any more. */
  constructor(bytes: Buffer, start: number, end: number, length: number) {
    this.#bytes = bytes;
    this.#start = start;
    this.#end = end;
    this.length = length;
  }

  static of(events: Iterable<Buffer>): EventList {
    const builder = new EventListBuilder();
    for (const event of events) builder.append(event, 0);
    return builder.take();
  }

  get byteLength(): number {
    return this.#end - this.#start;
  }

  [Symbol.iterator](): Iterator<Buffer> {
    return new EventIterator(this.#bytes, this.#start, this.#end);
  }

  /** The list without the events that have these numbers, from 0. */
  without(numbers: ReadonlySet<number>): EventList {
    return EventList.of([...this].filter((_, number) => !numbers.has(number)));
  }
}

/** Of transactions with nothing to apply. */
export const EMPTY_BODY = { events: EventList.EMPTY };

/** A generator would do the same, at several times the cost. */
class EventIterator implements Iterator<Buffer> {
  readonly #bytes: Buffer;
  readonly #end: number;
  #at: number;

  constructor(bytes: Buffer, start: number, end: number) {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
  }

  next(): IteratorResult<Buffer, undefined> {
    const at = this.#at;
    if (at >= this.#end) return { done: true, value: undefined };
    this.#at = at + this.#bytes.readUInt32LE(at + LENGTH_OFFSET);
    return { done: false, value: this.#bytes.subarray(at, this.#at) };
  }
}

/**
 * Makes lists, one after another, of copies of events.
 *
 * Invariant: the bytes of a list that was taken are never written again, and it keeps no more memory than about its own size, or a slab that it shares with its
 * neighbours. What the events came in (chunks of the relay log) is not kept.
 */
export class EventListBuilder {
  #bytes: Buffer = NOTHING;
  #start = 0;
  #end = 0;
  #lastAt = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  get byteLength(): number {
    return this.#end - this.#start;
  }

  /** The event that was appended last, to be changed in place. */
  get last(): Buffer | undefined {
    return this.#length === 0 ? undefined : this.#bytes.subarray(this.#lastAt, this.#end);
  }

  /** `checksumBytes`: at its end, left out; the length in its header says so. */
  append(event: Buffer, checksumBytes: 0 | typeof CHECKSUM_LENGTH): void {
    if (this.#end + event.length > this.#bytes.length) this.#grow(event.length);
    const at = this.#end;
    // The checksum too, where the next one will be: a copy of a part would need another view.
    this.#bytes.set(event, at);
    const length = event.length - checksumBytes;
    if (checksumBytes > 0) this.#bytes.writeUInt32LE(length, at + LENGTH_OFFSET);
    this.#lastAt = at;
    this.#end = at + length;
    this.#length++;
  }

  /** What was appended; the builder begins anew. */
  take(): EventList {
    const bytes = this.byteLength;
    if (bytes === 0) return EventList.EMPTY;
    let list: EventList;
    if (bytes <= SHARED_BYTES_MAX && this.#bytes.length <= SLAB_BYTES) {
      list = new EventList(this.#bytes, this.#start, this.#end, this.#length);
      this.#start = this.#end;
    } else if (this.#start === 0 && bytes > this.#bytes.length * (3 / 4)) {
      list = new EventList(this.#bytes, 0, bytes, this.#length);
      this.#forgetBytes();
    } else {
      const own = Buffer.allocUnsafeSlow(bytes);
      this.#bytes.copy(own, 0, this.#start, this.#end);
      list = new EventList(own, 0, bytes, this.#length);
    }
    this.clear();
    return list;
  }

  /** As `take`, but the event that was appended last stays: it may yet be changed. */
  takeAllButLast(): EventList {
    const { last } = this;
    if (last === undefined) return EventList.EMPTY;
    const kept = Buffer.from(last);
    this.#end = this.#lastAt;
    this.#length--;
    const list = this.take();
    this.append(kept, 0);
    return list;
  }

  clear(): void {
    if (this.#bytes.length > SLAB_BYTES) this.#forgetBytes();
    this.#end = this.#start;
    this.#length = 0;
  }

  #forgetBytes(): void {
    this.#bytes = NOTHING;
    this.#start = this.#end = 0;
  }

  #grow(bytes: number): void {
    const { byteLength } = this;
    const wanted = byteLength + bytes;
    const larger = Buffer.allocUnsafeSlow(
      wanted <= SHARED_BYTES_MAX
        ? SLAB_BYTES
        : Math.max(wanted, Math.min(2 * byteLength, byteLength + GROWTH_BYTES_MAX)),
    );
    this.#bytes.copy(larger, 0, this.#start, this.#end);
    this.#bytes = larger;
    this.#lastAt -= this.#start;
    this.#start = 0;
    this.#end = byteLength;
  }
}
