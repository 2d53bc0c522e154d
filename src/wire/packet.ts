import { assert } from "../base/assert.ts";
import { ReplicationError } from "../base/error.ts";

/** A payload of this length or more travels as several packets; the last one is shorter, perhaps empty (`sql/net_serv.cc`, MAX_PACKET_LENGTH). */
export const PACKET_PAYLOAD_MAX = 0xff_ff_ff;
const HEADER_LENGTH = 4;
/** The servers' own ceiling of max_allowed_packet (1 GiB), and some room for the bytes they put around it. */
const PAYLOAD_BYTES_MAX = 1024 * 1024 * 1024 + 1024 * 1024;

/**
 * A payload: the bytes from `start` up to, not including, `end`. They stay as they are for good. No view of them is made here, for that costs more than all
 * the rest: whoever wants one makes the one it needs. `sequenceId` is that of the payload's last packet.
 */
export type OnPacket = (bytes: Buffer, start: number, end: number, sequenceId: number) => void;

/**
 * Cuts a byte stream into payloads. A payload that lies inside one chunk is told where it lies there, not copied; one that spans chunks is copied once, into
 * a buffer of its exact size. So at most one payload is held here, and none above PAYLOAD_BYTES_MAX: a peer that sends more is broken.
 */
export class PacketReader {
  readonly #onPacket: OnPacket;
  readonly #header = Buffer.alloc(HEADER_LENGTH);
  #headerFilled = 0;
  /** The packet that began in an earlier chunk, while its payload is incomplete. */
  #partial: Buffer | undefined;
  #partialFilled = 0;
  /** Full packets of a payload that was split, while its last packet is missing. */
  #parts: Buffer[] = [];
  #partsBytes = 0;

  constructor(onPacket: OnPacket) {
    this.#onPacket = onPacket;
  }

  /** @throws ReplicationError CONNECTION_LOST when the payload would exceed what any server sends */
  push(chunk: Buffer): void {
    let at = 0;
    const end = chunk.length;
    while (at < end) {
      if (this.#partial !== undefined) {
        const copied = chunk.copy(this.#partial, this.#partialFilled, at, end);
        at += copied;
        this.#partialFilled += copied;
        if (this.#partialFilled < this.#partial.length) return;
        const whole = this.#partial;
        this.#partial = undefined;
        this.#finish(whole, 0, whole.length, this.#header[3] as number);
        continue;
      }
      if (this.#headerFilled > 0 || end - at < HEADER_LENGTH) {
        const copied = chunk.copy(this.#header, this.#headerFilled, at, end);
        at += copied;
        this.#headerFilled += copied;
        if (this.#headerFilled < HEADER_LENGTH) return;
        this.#headerFilled = 0;
        at = this.#payload(chunk, at, this.#header.readUIntLE(0, 3), this.#header[3] as number);
      } else {
        const length = (chunk[at] as number) | ((chunk[at + 1] as number) << 8) | ((chunk[at + 2] as number) << 16);
        at = this.#payload(chunk, at + HEADER_LENGTH, length, chunk[at + 3] as number);
      }
    }
  }

  #payload(chunk: Buffer, at: number, length: number, sequenceId: number): number {
    if (chunk.length - at >= length) {
      this.#finish(chunk, at, at + length, sequenceId);
      return at + length;
    }
    if (this.#partsBytes + length > PAYLOAD_BYTES_MAX) {
      throw new ReplicationError("CONNECTION_LOST", "the peer sends a packet above 1 GiB");
    }
    this.#partial = Buffer.allocUnsafeSlow(length);
    this.#partialFilled = chunk.copy(this.#partial, 0, at);
    this.#header[3] = sequenceId;
    return chunk.length;
  }

  #finish(bytes: Buffer, start: number, end: number, sequenceId: number): void {
    if (end - start === PACKET_PAYLOAD_MAX) {
      this.#parts.push(bytes.subarray(start, end));
      this.#partsBytes += end - start;
    } else if (this.#parts.length === 0) {
      this.#onPacket(bytes, start, end, sequenceId);
    } else {
      const whole = Buffer.concat([...this.#parts, bytes.subarray(start, end)]);
      this.#parts = [];
      this.#partsBytes = 0;
      this.#onPacket(whole, 0, whole.length, sequenceId);
    }
  }
}

/** How many packets a payload of this length takes. */
export function packetCount(payloadLength: number): number {
  return Math.floor(payloadLength / PACKET_PAYLOAD_MAX) + 1;
}

/** What is cheaper to copy into one buffer than to send as several. */
const JOIN_BYTES_MAX = 4096;

/**
 * Packet headers around a payload given in parts, ready for a gathering write: the parts are views, not copies, except when all of it is small.
 * `sequenceId` is that of the first packet.
 */
export function framePayload(parts: readonly Buffer[], sequenceId: number): Buffer[] {
  let bytes = 0;
  for (const part of parts) bytes += part.length;
  if (bytes <= JOIN_BYTES_MAX) {
    const joined = Buffer.allocUnsafe(HEADER_LENGTH + bytes);
    joined.writeUInt32LE(bytes, 0);
    joined[3] = sequenceId;
    let at = HEADER_LENGTH;
    for (const part of parts) at += part.copy(joined, at);
    return [joined];
  }
  const framed: Buffer[] = [];
  let left = bytes;
  let sequence = sequenceId;
  let part = 0;
  let offset = 0;
  for (;;) {
    const length = Math.min(left, PACKET_PAYLOAD_MAX);
    framed.push(packetHeader(length, sequence));
    sequence = (sequence + 1) & 0xff;
    let wanted = length;
    while (wanted > 0) {
      const source = parts[part];
      assert(source !== undefined, "the parts hold as many bytes as were counted");
      const taken = source.subarray(offset, Math.min(source.length, offset + wanted));
      if (taken.length > 0) framed.push(taken);
      wanted -= taken.length;
      offset += taken.length;
      if (offset === source.length) {
        part++;
        offset = 0;
      }
    }
    left -= length;
    if (length < PACKET_PAYLOAD_MAX) return framed;
  }
}

function packetHeader(length: number, sequenceId: number): Buffer {
  const header = Buffer.allocUnsafe(HEADER_LENGTH);
  header.writeUInt32LE(length, 0);
  header[3] = sequenceId;
  return header;
}
