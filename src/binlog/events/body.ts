import { ByteReader } from "../../base/reader.ts";
import { CHECKSUM_LENGTH } from "../checksum.ts";
import { eventType } from "../event.ts";
import type { BinlogFormat } from "../format.ts";

/** A reader over the event behind its header, without the checksum. */
export function bodyReader(event: Buffer, format: BinlogFormat): ByteReader {
  const end = format.checksum === "crc32" ? event.length - CHECKSUM_LENGTH : event.length;
  return new ByteReader(event, format.headerLength, end);
}

/** The post-header length that the format names for this event's type; `fallback` for types it does not name. */
export function postHeaderLength(event: Buffer, format: BinlogFormat, fallback: number): number {
  const length = format.postHeaderLengths[eventType(event)];
  return length === undefined || length === 0 ? fallback : length;
}
