/** `plugin/semisync/semisync.h`: begins the header of an event and every acknowledgement. */
const MAGIC = 0xef;
const FLAG_WAITS = 0x01;

/**
 * On a stream that asked for semi-synchronous replication two bytes stand between the marker (at `start`) and the event: magic, and whether the source waits
 * for our acknowledgement. On others the byte is the event's timestamp; that of a stream's first event, an artificial Rotate, is 0: so the first packet tells.
 */
export function hasSemiSyncHeader(bytes: Buffer, start: number): boolean {
  return bytes[start + 1] === MAGIC;
}

export function wantsAcknowledgement(bytes: Buffer, start: number): boolean {
  return bytes[start + 2] === FLAG_WAITS;
}

/** Everything up to this position is on our disk. The source sends no answer (`ReplSemiSyncMaster::reportReplyPacket`). */
export function acknowledgement(file: string, position: number): Buffer {
  const packet = Buffer.alloc(9 + Buffer.byteLength(file));
  packet[0] = MAGIC;
  packet.writeBigUInt64LE(BigInt(position), 1);
  packet.write(file, 9);
  return packet;
}
