import { decompress } from "fzstd";
import { ReplicationError } from "../../base/error.ts";
import { EVENT_HEADER_LENGTH, eventLength } from "../event.ts";
import type { BinlogFormat } from "../format.ts";
import { bodyReader } from "./body.ts";

export interface TransactionPayloadEvent {
  kind: "transaction-payload";
  compression: "zstd" | "none";
  uncompressedBytes: number;
  /** Still compressed; a view. */
  payload: Buffer;
}

/** Fields of the header (libbinlogevents/include/codecs/binary.h, 8.0.20). */
const FIELD = { END: 0, PAYLOAD_SIZE: 1, COMPRESSION: 2, UNCOMPRESSED_SIZE: 3 } as const;
/** mysql::binlog::event::compression::type. */
const COMPRESSION_ZSTD = 0;
const COMPRESSION_NONE = 255;

/** max_allowed_packet's own maximum bounds what a server can have packed into one event. */
const PAYLOAD_BYTES_MAX = 1024 * 1024 * 1024;

/**
 * TRANSACTION_PAYLOAD (40), with binlog_transaction_compression=ON: all events of a transaction behind its GTID, compressed together. A list of `lenenc field;
 * lenenc length; lenenc value` that ends in field 0, then the payload.
 */
export function decodeTransactionPayload(event: Buffer, format: BinlogFormat): TransactionPayloadEvent {
  const reader = bodyReader(event, format);
  let size = -1;
  let compression = COMPRESSION_NONE;
  let uncompressed = -1;
  for (;;) {
    const field = reader.lenenc();
    if (field === FIELD.END) break;
    const length = reader.lenenc();
    const next = reader.offset + length;
    if (field === FIELD.PAYLOAD_SIZE) size = reader.lenenc();
    else if (field === FIELD.COMPRESSION) compression = reader.lenenc();
    else if (field === FIELD.UNCOMPRESSED_SIZE) uncompressed = reader.lenenc();
    reader.skip(next - reader.offset);
  }
  if (compression !== COMPRESSION_ZSTD && compression !== COMPRESSION_NONE) {
    reader.fail(`compression ${compression} of a transaction is unknown`);
  }
  const payload = reader.take(size < 0 ? reader.remaining : size);
  return {
    kind: "transaction-payload",
    compression: compression === COMPRESSION_ZSTD ? "zstd" : "none",
    uncompressedBytes: uncompressed < 0 ? payload.length : uncompressed,
    payload,
  };
}

/**
 * The events inside, in order, as views into one new buffer; they carry no checksum whatever the format says.
 * @throws ReplicationError CORRUPT_EVENT when they cannot be unpacked, UNSUPPORTED when they would take more than `bytesMax`.
 */
export function payloadEvents(payload: TransactionPayloadEvent, bytesMax = PAYLOAD_BYTES_MAX): Buffer[] {
  if (payload.uncompressedBytes > bytesMax) {
    throw new ReplicationError(
      "UNSUPPORTED",
      `a compressed transaction unpacks to ${payload.uncompressedBytes} bytes, more than the ${bytesMax} allowed`,
      { hint: "raise the memory limit, or set binlog_transaction_compression=OFF on the source for such transactions" },
    );
  }
  const bytes = payload.compression === "none" ? payload.payload : unpack(payload);
  const events: Buffer[] = [];
  let offset = 0;
  while (offset < bytes.length) {
    const left = bytes.length - offset;
    const length = left < EVENT_HEADER_LENGTH ? 0 : eventLength(bytes.subarray(offset));
    if (length < EVENT_HEADER_LENGTH || length > left) {
      throw new ReplicationError(
        "CORRUPT_EVENT",
        `a compressed transaction is cut at byte ${offset} of ${bytes.length}`,
      );
    }
    events.push(bytes.subarray(offset, offset + length));
    offset += length;
  }
  return events;
}

function unpack({ payload, uncompressedBytes }: TransactionPayloadEvent): Buffer {
  const target = Buffer.allocUnsafe(uncompressedBytes);
  let length: number;
  try {
    length = decompress(payload, target).length;
  } catch (error) {
    throw new ReplicationError("CORRUPT_EVENT", "a compressed transaction cannot be unpacked", { cause: error });
  }
  if (length !== uncompressedBytes) {
    throw new ReplicationError(
      "CORRUPT_EVENT",
      `a compressed transaction unpacks to ${length} bytes instead of ${uncompressedBytes}`,
    );
  }
  return target;
}
