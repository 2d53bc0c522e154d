import { ReplicationError } from "./error.ts";

/**
 * Reads little-endian fields one after another. `offset` counts from the buffer's first byte. Running out of bytes is a fault of the input, never a
 * RangeError: it throws ReplicationError CORRUPT_EVENT that says where and what was wanted.
 */
export class ByteReader {
  readonly bytes: Buffer;
  offset: number;
  /** First offset that no longer belongs to the reader: a payload that ends before the buffer does. */
  readonly end: number;

  constructor(bytes: Buffer, offset = 0, end = bytes.length) {
    this.bytes = bytes;
    this.offset = offset;
    this.end = Math.min(end, bytes.length);
    if (offset > this.end) this.#short(0);
  }

  get remaining(): number {
    return this.end - this.offset;
  }

  u8(): number {
    return this.bytes[this.#take(1)] as number;
  }

  u16(): number {
    return this.bytes.readUInt16LE(this.#take(2));
  }

  u24(): number {
    return this.bytes.readUIntLE(this.#take(3), 3);
  }

  u32(): number {
    return this.bytes.readUInt32LE(this.#take(4));
  }

  u48(): number {
    return this.bytes.readUIntLE(this.#take(6), 6);
  }

  /** 8 bytes as a double, exact to 2^53: clocks and lengths that never come near. */
  double64(): number {
    const at = this.#take(8);
    return this.bytes.readUInt32LE(at) + this.bytes.readUInt32LE(at + 4) * 0x1_0000_0000;
  }

  /** 7 bytes: past 2^53 in theory only; the servers keep microseconds in it. */
  u56(): number {
    const at = this.#take(7);
    return this.bytes.readUInt32LE(at) + this.bytes.readUIntLE(at + 4, 3) * 0x1_0000_0000;
  }

  u64(): bigint {
    return this.bytes.readBigUInt64LE(this.#take(8));
  }

  i64(): bigint {
    return this.bytes.readBigInt64LE(this.#take(8));
  }

  /** A length-encoded integer (protocol's `lenenc`), as a double: lengths and small counts. */
  lenenc(): number {
    const first = this.u8();
    if (first < 0xfb) return first;
    if (first === 0xfc) return this.u16();
    if (first === 0xfd) return this.u24();
    if (first !== 0xfe) return this.fail(`no length-encoded number starts with ${first}`);
    const value = this.u64();
    return value > BigInt(Number.MAX_SAFE_INTEGER) ? this.fail(`a length of ${value}`) : Number(value);
  }

  /** A view, not a copy. */
  take(length: number): Buffer {
    const at = this.#take(length);
    return this.bytes.subarray(at, at + length);
  }

  rest(): Buffer {
    return this.take(this.remaining);
  }

  skip(length: number): void {
    this.#take(length);
  }

  text(length: number, encoding: "utf8" | "latin1" = "utf8"): string {
    const at = this.#take(length);
    return this.bytes.toString(encoding, at, at + length);
  }

  /** Up to the next zero byte, which is consumed and left out. */
  nulTerminated(): string {
    const zero = this.bytes.indexOf(0, this.offset);
    if (zero < 0 || zero >= this.end) return this.fail("a string has no end");
    const text = this.bytes.toString("utf8", this.offset, zero);
    this.offset = zero + 1;
    return text;
  }

  /** Throws CORRUPT_EVENT at the present offset. */
  fail(what: string): never {
    throw new ReplicationError("CORRUPT_EVENT", `${what}, at byte ${this.offset} of ${this.end}`);
  }

  #take(length: number): number {
    const at = this.offset;
    if (!(length >= 0 && length <= this.end - at)) this.#short(length);
    this.offset = at + length;
    return at;
  }

  #short(length: number): never {
    const what = length < 0 ? "a part ends before it begins" : `${length} more bytes are needed`;
    throw new ReplicationError("CORRUPT_EVENT", `${what} at byte ${this.offset}; the data ends at byte ${this.end}`);
  }
}
