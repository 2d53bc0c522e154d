import { assert } from "../../base/assert.ts";

/** Room for what memory does not hold: bytes at offsets, written once and read later. */
export interface SpillFile {
  write(bytes: Buffer, at: number): void;
  read(at: number, length: number): Buffer;
}

const TAIL_BYTES = 8 << 20;
const WINDOW_BYTES = 1 << 20;
/** Behind each piece: its length, u32, and its kind, u8. */
const TRAILER_BYTES = 5;
const KIND = { TEXT: 0, SKIP: 1, REPEAT: 2 } as const;

/**
 * Takes pieces of text and gives them back last first, however many there are: what is more than a few megabytes goes to a file, which is then read from its end.
 *
 * Invariant: behind every piece stands how long it is, so the place before it can be found without a list of places.
 */
export class ReverseSpool {
  readonly #openFile: () => SpillFile;
  #file: SpillFile | undefined;
  #fileLength = 0;
  readonly #tail = Buffer.allocUnsafeSlow(TAIL_BYTES);
  #tailLength = 0;
  #window: { from: number; bytes: Buffer } = { from: 0, bytes: Buffer.alloc(0) };

  constructor(openFile: () => SpillFile) {
    this.#openFile = openFile;
  }

  /** The place behind the last piece. */
  get length(): number {
    return this.#fileLength + this.#tailLength;
  }

  /** The bytes are copied. */
  append(bytes: Buffer): void {
    this.#append(bytes, KIND.TEXT);
  }

  /** Forgets what was appended behind that place. */
  truncate(place: number): void {
    assert(place <= this.length, "a spool is cut back, not forward");
    if (place >= this.#fileLength) {
      this.#tailLength = place - this.#fileLength;
    } else {
      this.#fileLength = place;
      this.#tailLength = 0;
    }
  }

  /** The pieces from `place` up to here are not given back, unless `repeat` names them. */
  skip(place: number): void {
    this.#append(numbers(place), KIND.SKIP);
  }

  /** Here come the pieces between these places, as if they were appended now. */
  repeat(from: number, to: number): void {
    this.#append(numbers(from, to), KIND.REPEAT);
  }

  /** All pieces, the last one first. A piece is valid until the next is asked for. */
  *backwards(from = 0, to = this.length): Generator<Buffer> {
    let place = to;
    while (place > from) {
      const trailer = this.#read(place - TRAILER_BYTES, place);
      const length = trailer.readUInt32LE();
      const kind = trailer[4] as number;
      const end = place - TRAILER_BYTES;
      const bytes = this.#read(end - length, end);
      place = end - length;
      if (kind === KIND.SKIP) place = bytes.readDoubleLE();
      else if (kind === KIND.REPEAT) yield* this.backwards(bytes.readDoubleLE(), bytes.readDoubleLE(8));
      else yield bytes;
    }
  }

  #append(bytes: Buffer, kind: number): void {
    this.#put(bytes);
    const trailer = Buffer.alloc(TRAILER_BYTES);
    trailer.writeUInt32LE(bytes.length);
    trailer[4] = kind;
    this.#put(trailer);
  }

  #put(bytes: Buffer): void {
    if (this.#tailLength + bytes.length > TAIL_BYTES) {
      this.#spill(this.#tail.subarray(0, this.#tailLength));
      this.#tailLength = 0;
      if (bytes.length > TAIL_BYTES) {
        this.#spill(bytes);
        return;
      }
    }
    this.#tail.set(bytes, this.#tailLength);
    this.#tailLength += bytes.length;
  }

  #spill(bytes: Buffer): void {
    this.#file ??= this.#openFile();
    this.#file.write(bytes, this.#fileLength);
    this.#fileLength += bytes.length;
  }

  #read(from: number, to: number): Buffer {
    const start = this.#window.from;
    if (from < start || to > start + this.#window.bytes.length) {
      const windowFrom = Math.max(0, Math.min(from, to - WINDOW_BYTES));
      this.#window = { from: windowFrom, bytes: this.#load(windowFrom, to) };
    }
    return this.#window.bytes.subarray(from - this.#window.from, to - this.#window.from);
  }

  #load(from: number, to: number): Buffer {
    const inFile = this.#fileLength;
    if (from >= inFile) return this.#tail.subarray(from - inFile, to - inFile);
    const spilled = this.#file?.read(from, Math.min(to, inFile) - from) ?? Buffer.alloc(0);
    return to <= inFile ? spilled : Buffer.concat([spilled, this.#tail.subarray(0, to - inFile)]);
  }
}

function numbers(...values: number[]): Buffer {
  const bytes = Buffer.alloc(8 * values.length);
  for (const [i, value] of values.entries()) bytes.writeDoubleLE(value, 8 * i);
  return bytes;
}
