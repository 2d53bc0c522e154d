import { crc32 } from "node:zlib";
import { ReplicationError } from "../base/error.ts";
import { EVENT_FLAG, EVENT_HEADER_LENGTH, eventFlags, eventType } from "./event.ts";
import { EVENT_TYPE, eventTypeName } from "./event-type.ts";
import type { BinlogFormat } from "./format.ts";

/** CRC32 of the bytes before it, little-endian, at the very end of an event (since MySQL 5.6.1, MariaDB 5.3). */
export const CHECKSUM_LENGTH = 4;

/** Where the event's own bytes end: its length without the checksum. Not for format descriptions: theirs is always there. */
export function contentEnd(event: Buffer, format: BinlogFormat): number {
  return format.checksum === "crc32" ? event.length - CHECKSUM_LENGTH : event.length;
}

/**
 * Whether the CRC32 at the end is the one of the bytes before it. A format description's is made as if the file had been closed: LOG_EVENT_BINLOG_IN_USE_F
 * counts as 0 (Log_event_footer::event_checksum_test, libbinlogevents/src/binlog_event.cpp, 8.0).
 */
export function checksumMatches(event: Buffer): boolean {
  const end = event.length - CHECKSUM_LENGTH;
  if (end < EVENT_HEADER_LENGTH) return false;
  return isMarkedInUse(event) ? crcOf(event, end) === event.readUInt32LE(end) : crc32(event) === CRC32_RESIDUE;
}

/** The CRC32 of any bytes with their own CRC32, little-endian, behind them. */
const CRC32_RESIDUE = 0x21_44_df_1c;

/** @throws ReplicationError CORRUPT_EVENT when the format has checksums and this event's is wrong. */
export function verifyChecksum(event: Buffer, format: BinlogFormat): void {
  if (format.checksum === "none" || checksumMatches(event)) return;
  throw new ReplicationError(
    "CORRUPT_EVENT",
    `the checksum of a ${eventTypeName(eventType(event), format.flavour)} event is wrong`,
    {
      hint: "read it again; if it stays, the source's disk or the network changes bytes: check the file with mysqlbinlog --verify-binlog-checksum",
    },
  );
}

/** A copy without the CRC and with the length field corrected. The caller knows that there is one. */
export function stripChecksum(event: Buffer): Buffer {
  const length = event.length - CHECKSUM_LENGTH;
  const plain = Buffer.allocUnsafe(length);
  event.copy(plain, 0, 0, length);
  plain.writeUInt32LE(length, 9);
  return plain;
}

/** A copy with a CRC at its end and the length field corrected. */
export function appendChecksum(event: Buffer): Buffer {
  const summed = Buffer.alloc(event.length + CHECKSUM_LENGTH);
  event.copy(summed);
  summed.writeUInt32LE(summed.length, 9);
  summed.writeUInt32LE(crcOf(summed, event.length), event.length);
  return summed;
}

/** Puts the right CRC over the last four bytes, in place: for an event whose header was changed. */
export function renewChecksum(event: Buffer): void {
  const end = event.length - CHECKSUM_LENGTH;
  event.writeUInt32LE(crcOf(event, end), end);
}

function crcOf(event: Buffer, end: number): number {
  if (!isMarkedInUse(event)) return crc32(event.subarray(0, end));
  const closed = Buffer.from(event.subarray(0, end));
  closed.writeUInt16LE(eventFlags(event) & ~EVENT_FLAG.BINLOG_IN_USE, 17);
  return crc32(closed);
}

const isMarkedInUse = (event: Buffer): boolean =>
  eventType(event) === EVENT_TYPE.FORMAT_DESCRIPTION && (eventFlags(event) & EVENT_FLAG.BINLOG_IN_USE) !== 0;

/** The same format without checksums: how events read that were unpacked, or whose checksum was stripped. One object per format. */
export function withoutChecksums(format: BinlogFormat): BinlogFormat {
  if (format.checksum === "none") return format;
  let plain = PLAIN_FORMATS.get(format);
  if (plain === undefined) {
    plain = { ...format, checksum: "none" };
    PLAIN_FORMATS.set(format, plain);
  }
  return plain;
}

const PLAIN_FORMATS = new WeakMap<BinlogFormat, BinlogFormat>();
