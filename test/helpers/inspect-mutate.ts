import { deflateSync, gzipSync, inflateSync } from "node:zlib";
import { ReplicationError } from "../../src/base/error.ts";
import type { Prng } from "../../src/base/prng.ts";
import { contentEnd, renewChecksum } from "../../src/binlog/checksum.ts";
import { eventType } from "../../src/binlog/event.ts";
import { EVENT_TYPE } from "../../src/binlog/event-type.ts";
import { querySqlOffset } from "../../src/binlog/events/query.ts";
import { decodeTransactionPayload, payloadEvents } from "../../src/binlog/events/transaction-payload.ts";
import { BinlogFileSplitter } from "../../src/binlog/file-reader.ts";
import type { BinlogFormat } from "../../src/binlog/format.ts";
import { le, makeEvent } from "./binlog-event.ts";
import { zstdOfRawBlocks } from "./zstd.ts";

/** A binlog file cut into its events, so that damage can be done where a reader looks. */
export interface Base {
  name: string;
  events: readonly Buffer[];
  format: BinlogFormat;
  /** What is behind the last whole event. */
  rest: Buffer;
}

const MAGIC = Buffer.of(0xfe, 0x62, 0x69, 0x6e);
const HEADER = 19;
const CHECKSUM = 4;

/** Undefined when not even its format can be read. */
export function baseOf(name: string, file: Buffer): Base | undefined {
  const splitter = new BinlogFileSplitter({ verify: false });
  const events: Buffer[] = [];
  splitter.feed(file);
  try {
    for (let event = splitter.next(); event !== undefined; event = splitter.next()) events.push(event);
  } catch (error) {
    if (!(error instanceof ReplicationError)) throw error;
  }
  if (events.length === 0) return undefined;
  return { name, events, format: splitter.format, rest: file.subarray(splitter.endOffset) };
}

/** A damaged file made of the base and pieces of the others. The same numbers of `prng` make the same damage. */
export function mutate(base: Base, others: readonly Base[], prng: Prng): Buffer {
  let events = prng.next() < 0.1 ? [...base.events] : excerpt(base.events, prng);
  const edits = prng.integer(1, prng.next() < 0.7 ? 3 : 30);
  for (let edit = 0; edit < edits && events.length > 0; edit++) {
    if (prng.next() < 0.25) events = rearranged(events, others, prng);
    else events = withDamagedEvent(events, base.format, prng);
  }
  // Most readers believe a checksum before they look at what it sums up.
  if (base.format.checksum === "crc32" && prng.next() < 0.7) {
    events = events.map((event) => (event.length >= HEADER + CHECKSUM ? renewed(event) : event));
  }
  let file: Buffer = Buffer.concat([MAGIC, ...events, base.rest]);
  if (prng.next() < 0.15) file = withDamagedBytes(file, prng);
  if (prng.next() < 0.1) file = file.subarray(0, prng.integer(0, file.length));
  return prng.next() < 0.06 ? packed(file, prng) : file;
}

const BEGINS: ReadonlySet<number> = new Set([
  EVENT_TYPE.GTID,
  EVENT_TYPE.ANONYMOUS_GTID,
  EVENT_TYPE.GTID_TAGGED,
  EVENT_TYPE.MARIADB_GTID,
]);

/** The first event and some neighbours: many small files show more than a few large ones. */
function excerpt(events: readonly Buffer[], prng: Prng): Buffer[] {
  const begins = events.flatMap((event, i) => (BEGINS.has(eventType(event)) ? [i] : []));
  const from = begins.length > 0 && prng.next() < 0.9 ? pick(prng, begins) : prng.integer(1, events.length);
  return [...events.slice(0, 1), ...events.slice(from, from + prng.integer(1, 40))];
}

function renewed(event: Buffer): Buffer {
  const copy = Buffer.from(event);
  renewChecksum(copy);
  return copy;
}

function pick<T>(prng: Prng, items: readonly T[]): T {
  return items[prng.integer(0, items.length - 1)] as T;
}

/** Whole events left out, repeated, moved, taken from elsewhere, or made up. */
function rearranged(events: readonly Buffer[], others: readonly Base[], prng: Prng): Buffer[] {
  // Without its first event a file is no binlog.
  const at = prng.integer(prng.next() < 0.05 ? 0 : 1, events.length - 1);
  const event = events[at];
  if (event === undefined) return [...events];
  const result = [...events];
  switch (prng.integer(0, 5)) {
    case 0:
      result.splice(at, prng.integer(1, 3));
      break;
    case 1:
      result.splice(at, 0, event);
      break;
    case 2:
      result.splice(at, 1);
      result.splice(prng.integer(0, result.length), 0, event);
      break;
    case 3:
      result.splice(at, 0, pick(prng, pick(prng, others).events));
      break;
    case 4:
      result.splice(at, 0, makeEvent(prng.integer(0, 180), [randomBytes(prng, prng.integer(0, 60))]));
      break;
    default:
      result.splice(at, 0, randomBytes(prng, prng.integer(1, 40)));
  }
  return result;
}

/** One event with damage in it, and mostly a length that fits again: what lies behind it is still found. */
function withDamagedEvent(events: readonly Buffer[], format: BinlogFormat, prng: Prng): Buffer[] {
  // The first event decides how all others are read: damage there hides all other damage.
  const at = prng.next() < 0.05 ? 0 : prng.integer(0, events.length - 1);
  let event: Buffer = events[at] as Buffer;
  if (event.length < HEADER) return [...events];
  event = prng.next() < 0.8 ? withDamageInside(event, format, prng) : damaged(event, prng);
  if (prng.next() < 0.8 && event.length >= HEADER) event.writeUInt32LE(event.length, 9);
  return events.with(at, event);
}

/** What is compressed is damaged before it is compressed again. */
function withDamageInside(event: Buffer, format: BinlogFormat, prng: Prng): Buffer {
  try {
    if (eventType(event) === EVENT_TYPE.TRANSACTION_PAYLOAD) return damagedPayload(event, format, prng);
    if (eventType(event) === EVENT_TYPE.QUERY_COMPRESSED) return damagedQuery(event, format, prng);
  } catch (error) {
    // It was damaged before.
    if (!(error instanceof Error)) throw error;
  }
  return damaged(event, prng);
}

function damagedPayload(event: Buffer, format: BinlogFormat, prng: Prng): Buffer {
  let inner = payloadEvents(decodeTransactionPayload(event, format), 1 << 20);
  for (let edits = prng.integer(1, 4); edits > 0 && inner.length > 0; edits--) {
    inner = withDamagedEvent(inner, { ...format, checksum: "none" }, prng);
  }
  const plain = Buffer.concat(inner);
  const isZstd = prng.next() < 0.3;
  const payload = isZstd ? zstdOfRawBlocks(plain, prng.integer(1, 5000)) : plain;
  const size = prng.next() < 0.9 ? plain.length : prng.integer(0, 0xffff_ffff);
  // Lengths of 8 bytes behind 0xfe; the compression 255 is 0xfc and two bytes.
  const head = [
    1,
    9,
    0xfe,
    le(8, payload.length),
    ...(isZstd ? [2, 1, 0] : [2, 3, 0xfc, 0xff, 0]),
    3,
    9,
    0xfe,
    le(8, size),
    0,
  ];
  const checksum = format.checksum === "crc32" ? Buffer.alloc(CHECKSUM) : Buffer.alloc(0);
  return makeEvent(EVENT_TYPE.TRANSACTION_PAYLOAD, [...head, payload, checksum]);
}

function damagedQuery(event: Buffer, format: BinlogFormat, prng: Prng): Buffer {
  const offset = querySqlOffset(event, format);
  const end = contentEnd(event, format);
  const width = (event[offset] as number) & 7;
  const text = inflateSync(event.subarray(offset + 1 + width, end));
  const other = withDamagedBytes(text, prng);
  const size = prng.next() < 0.8 ? other.length : prng.integer(0, 0xffff_ffff);
  // zlib, four bytes of length, high byte first.
  const head = Buffer.concat([Buffer.of(0x84), Buffer.from(le(4, size).toReversed())]);
  return Buffer.concat([event.subarray(0, offset), head, deflateSync(other), event.subarray(end)]);
}

/** Numbers at the edges of fields, and the marks of length-encoded ones. */
const EDGES = [0, 1, 2, 7, 8, 0x7f, 0x80, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff] as const;

function damaged(event: Buffer, prng: Prng): Buffer {
  let result: Buffer = Buffer.from(event);
  for (let edits = prng.integer(1, 3); edits > 0; edits--) {
    const at = placeIn(result, prng);
    switch (prng.integer(0, 6)) {
      case 0:
        result[at] = ((result[at] ?? 0) ^ (1 << prng.integer(0, 7))) & 0xff;
        break;
      case 1:
        result[at] = pick(prng, EDGES);
        break;
      case 2: {
        const width = pick(prng, [2, 3, 4, 6, 8]);
        const value = pick(prng, [0n, 1n, 0x7fffn, 0x8000n, 0xffff_ffffn, 1n << 53n, (1n << 64n) - 1n]);
        le(width, value).copy(result, at);
        break;
      }
      case 3:
        result = Buffer.concat([result.subarray(0, at), randomBytes(prng, prng.integer(1, 9)), result.subarray(at)]);
        break;
      case 4:
        result = Buffer.concat([result.subarray(0, at), result.subarray(at + prng.integer(1, 9))]);
        break;
      case 5:
        result[at] = prng.integer(0, 255);
        break;
      default:
        result.fill(pick(prng, EDGES), at, Math.min(at + prng.integer(1, 40), result.length));
    }
  }
  return result;
}

/** Fields lie in front; values, and lists that are cut short, at the end. */
function placeIn(event: Buffer, prng: Prng): number {
  const last = Math.max(event.length - 1, 0);
  const roll = prng.next();
  if (roll < 0.1) return Math.min(pick(prng, [4, 9, 10, 11, 12, 13, 17, 18]), last);
  if (roll < 0.6) return Math.min(HEADER + prng.integer(0, 40), last);
  if (roll < 0.7) return Math.max(last - prng.integer(0, 12), 0);
  return prng.integer(0, last);
}

function withDamagedBytes(bytes: Buffer, prng: Prng): Buffer {
  const copy = Buffer.from(bytes);
  for (let edits = prng.integer(1, 8); edits > 0 && copy.length > 0; edits--) {
    copy[prng.integer(0, copy.length - 1)] = prng.integer(0, 255);
  }
  return copy;
}

function randomBytes(prng: Prng, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => prng.integer(0, 255)));
}

/** As gzip or zstd packs it, and mostly that cut or damaged. */
function packed(file: Buffer, prng: Prng): Buffer {
  const bytes = prng.next() < 0.5 ? gzipSync(file, { level: 1 }) : zstdOfRawBlocks(file, prng.integer(100, 100_000));
  const roll = prng.next();
  if (roll < 0.4) return bytes.subarray(0, prng.integer(0, bytes.length));
  return roll < 0.8 ? withDamagedBytes(bytes, prng) : bytes;
}
