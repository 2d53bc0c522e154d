import type { BinlogFormat } from "../../src/binlog/format.ts";

const POST_HEADER_LENGTHS: Readonly<Record<number, number>> = {
  2: 13,
  4: 8,
  18: 26,
  19: 8,
  ...Object.fromEntries([23, 24, 25, 166, 167, 168].map((type) => [type, 8])),
  ...Object.fromEntries([30, 31, 32, 39, 169, 170, 171].map((type) => [type, 10])),
  33: 42,
  34: 42,
  165: 13,
};

/** A MySQL format without checksums: events made by hand are read with it. */
export const FORMAT: BinlogFormat = {
  binlogVersion: 4,
  serverVersion: "8.0.40",
  flavour: "mysql",
  checksum: "none",
  headerLength: 19,
  postHeaderLengths: Uint8Array.from({ length: 172 }, (_, type) => POST_HEADER_LENGTHS[type] ?? 0),
};

export const MARIADB_FORMAT: BinlogFormat = { ...FORMAT, flavour: "mariadb", serverVersion: "10.11.19-MariaDB-log" };

export interface HeaderFields {
  timestamp?: number;
  serverId?: number;
  endPosition?: number;
  flags?: number;
}

/** An event of that type: a header with the right length, then the body's parts; numbers are single bytes, texts are UTF-8. */
export function makeEvent(
  type: number,
  parts: readonly (Buffer | number | string)[],
  header: HeaderFields = {},
): Buffer {
  const body = Buffer.concat(parts.map((part) => (typeof part === "number" ? Buffer.from([part]) : Buffer.from(part))));
  const event = Buffer.alloc(19 + body.length);
  event.writeUInt32LE(header.timestamp ?? 1_700_000_000);
  event[4] = type;
  event.writeUInt32LE(header.serverId ?? 1, 5);
  event.writeUInt32LE(event.length, 9);
  event.writeUInt32LE(header.endPosition ?? 0, 13);
  event.writeUInt16LE(header.flags ?? 0, 17);
  body.copy(event, 19);
  return event;
}

/** A number of that many bytes, little-endian. */
export function le(bytes: number, value: number | bigint): Buffer {
  const result = Buffer.alloc(8);
  result.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value)));
  return result.subarray(0, bytes);
}

/** A query event in schema `d` with the given status variables. */
export function makeQuery(sql: string, status: Buffer = Buffer.alloc(0), type = 2): Buffer {
  return makeEvent(type, [le(4, 7), le(4, 0), 1, le(2, 0), le(2, status.length), status, "d", 0, sql]);
}

/** A format description of that server version, with or without checksums behind it; its own CRC is zeros. */
export function makeFormatDescription(version: string, algorithm: 0 | 1 | "unaware" = 0): Buffer {
  const text = Buffer.alloc(50);
  text.write(version);
  const lengths = Buffer.from(FORMAT.postHeaderLengths.subarray(1, version.includes("MariaDB") ? 172 : 43));
  const end = algorithm === "unaware" ? [] : [algorithm, le(4, 0)];
  return makeEvent(15, [le(2, 4), text, le(4, 1_700_000_000), 19, lengths, ...end]);
}
