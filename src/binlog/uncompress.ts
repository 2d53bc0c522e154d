import { inflateSync } from "node:zlib";
import { assert } from "../base/assert.ts";
import { ReplicationError } from "../base/error.ts";
import { contentEnd } from "./checksum.ts";
import { eventType } from "./event.ts";
import { EVENT_TYPE } from "./event-type.ts";
import { querySqlOffset } from "./events/query.ts";
import { ByteReader } from "../base/reader.ts";
import { postHeaderLength } from "./events/body.ts";
import type { BinlogFormat } from "./format.ts";

/** max_allowed_packet's own maximum. */
const EVENT_BYTES_MAX = 1024 * 1024 * 1024;

/** Whether it is one of MariaDB's compressed events (165–171, log_bin_compress=ON). */
export function isCompressed(type: number): boolean {
  return type >= EVENT_TYPE.QUERY_COMPRESSED && type <= EVENT_TYPE.DELETE_ROWS_COMPRESSED;
}

/** The plain type of a compressed one. */
function plainType(type: number): number {
  if (type === EVENT_TYPE.QUERY_COMPRESSED) return EVENT_TYPE.QUERY;
  if (type <= EVENT_TYPE.DELETE_ROWS_COMPRESSED_V1) {
    return type - EVENT_TYPE.WRITE_ROWS_COMPRESSED_V1 + EVENT_TYPE.WRITE_ROWS_V1;
  }
  return type - EVENT_TYPE.WRITE_ROWS_COMPRESSED + EVENT_TYPE.WRITE_ROWS;
}

/**
 * The plain event of a compressed one: plain type, length corrected, no checksum; all else is the same. A query's statement and a row event's images are
 * compressed, all before them is not (query_event_uncompress and row_log_event_uncompress, sql/log_event.cc, MariaDB 10.11). The compressed part:
 *
 *     u8 0x80 | algorithm << 4 (0: zlib) | bytes of the length; its length, high byte first; the zlib stream
 *
 * @throws ReplicationError CORRUPT_EVENT when it cannot be unpacked, UNSUPPORTED when it would take more than `bytesMax`.
 */
export function uncompressEvent(event: Buffer, format: BinlogFormat, bytesMax = EVENT_BYTES_MAX): Buffer {
  const type = eventType(event);
  assert(isCompressed(type), "only compressed events are uncompressed");
  const end = contentEnd(event, format);
  const offset = type === EVENT_TYPE.QUERY_COMPRESSED ? querySqlOffset(event, format) : rowsOffset(event, format, end);
  const reader = new ByteReader(event, offset, end);
  const head = reader.u8();
  const width = head & 0x07;
  if ((head & 0xf8) !== 0x80 || width < 1 || width > 4) reader.fail(`compression ${head} of an event is unknown`);
  let length = 0;
  for (let i = 0; i < width; i++) length = length * 256 + reader.u8();
  if (offset + length > bytesMax) {
    throw new ReplicationError("UNSUPPORTED", `a compressed event unpacks to ${length} bytes, more than ${bytesMax}`, {
      hint: "raise the memory limit, or set log_bin_compress=OFF on the source",
    });
  }
  let content: Buffer;
  try {
    content = inflateSync(reader.rest(), { maxOutputLength: Math.max(length, 1) });
  } catch (error) {
    throw new ReplicationError("CORRUPT_EVENT", "a compressed event cannot be unpacked", { cause: error });
  }
  if (content.length !== length)
    reader.fail(`a compressed event unpacks to ${content.length} bytes instead of ${length}`);
  const plain = Buffer.concat([event.subarray(0, offset), content]);
  plain[4] = plainType(type);
  plain.writeUInt32LE(plain.length, 9);
  return plain;
}

/** Where a compressed row event's images begin: behind the bitmaps, as in a plain one. */
function rowsOffset(event: Buffer, format: BinlogFormat, end: number): number {
  const type = eventType(event);
  const second = type >= EVENT_TYPE.WRITE_ROWS_COMPRESSED;
  const reader = new ByteReader(event, format.headerLength, end);
  reader.skip(postHeaderLength(event, format, second ? 10 : 8) - (second ? 2 : 0));
  if (second) reader.skip(Math.max(reader.u16() - 2, 0));
  const bitmapLength = (reader.lenenc() + 7) >> 3;
  const update = type === EVENT_TYPE.UPDATE_ROWS_COMPRESSED || type === EVENT_TYPE.UPDATE_ROWS_COMPRESSED_V1;
  reader.skip(update ? 2 * bitmapLength : bitmapLength);
  return reader.offset;
}
