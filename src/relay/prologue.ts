import { appendChecksum, CHECKSUM_LENGTH, checksumMatches } from "../binlog/checksum.ts";
import { EVENT_TYPE } from "../binlog/event-type.ts";
import {
  EVENT_FLAG,
  EVENT_HEADER_LENGTH,
  eventFlags,
  eventServerId,
  eventTimestamp,
  eventType,
} from "../binlog/event.ts";
import { decodeFormatDescription } from "../binlog/events/format-description.ts";
import { decodeGtidList } from "../binlog/events/gtid-list.ts";
import { decodePreviousGtids } from "../binlog/events/previous-gtids.ts";
import type { BinlogFormat } from "../binlog/format.ts";
import { MariadbGtidPosition } from "../gtid/mariadb.ts";
import type { SourcePosition } from "../transaction/transaction.ts";
import type { GtidState } from "./state.ts";

/**
 * How a relay file begins:
 *
 *     magic | FORMAT_DESCRIPTION, as the source sent it | Previous_gtids or Gtid_list | Rotate | events, as the source sent them …
 *
 * The GTID event and Rotate are ours, flagged artificial and relay-log: they say which GTIDs the replica had before this file (no such event when that is not known), and from
 * which file and position of the source the events come. So each file describes itself, holds events of one source file in one format, and recovery needs
 * nothing beside it. Rotate is the last: where it is, the beginning is whole.
 * All events of ours have end position 0: the source has no such place.
 */
export interface Prologue {
  /** The FORMAT_DESCRIPTION event. */
  description: Buffer;
  format: BinlogFormat;
  source: SourcePosition;
  gtids: GtidState;
}

export const BINLOG_MAGIC = Buffer.from([0xfe, 0x62, 0x69, 0x6e]);

const OURS = EVENT_FLAG.ARTIFICIAL | EVENT_FLAG.RELAY_LOG;

/** Magic and events, in order. */
export function encodePrologue({ description, format, source, gtids }: Prologue): Buffer[] {
  const parts = [BINLOG_MAGIC, description];
  if (gtids.kind === "mysql") {
    parts.push(ownEvent(EVENT_TYPE.PREVIOUS_GTIDS, gtids.set.encode(), description, format));
  } else if (gtids.kind === "mariadb") {
    parts.push(ownEvent(EVENT_TYPE.GTID_LIST, gtids.position.encode(), description, format));
  }
  parts.push(encodeRotate(source, description, format));
  return parts;
}

/** An artificial Rotate: 8 bytes of position, then the file's name (Rotate_event, libs/mysql/binlog/event/control_events.h, MySQL 9). */
export function encodeRotate(source: SourcePosition, description: Buffer, format: BinlogFormat): Buffer {
  const body = Buffer.alloc(8 + Buffer.byteLength(source.file));
  body.writeBigUInt64LE(BigInt(source.position), 0);
  body.write(source.file, 8);
  return ownEvent(EVENT_TYPE.ROTATE, body, description, format);
}

function ownEvent(type: number, body: Buffer, description: Buffer, format: BinlogFormat): Buffer {
  const event = Buffer.alloc(EVENT_HEADER_LENGTH + body.length);
  event.writeUInt32LE(eventTimestamp(description), 0);
  event[4] = type;
  event.writeUInt32LE(eventServerId(description), 5);
  event.writeUInt32LE(event.length, 9);
  event.writeUInt16LE(OURS, 17);
  body.copy(event, EVENT_HEADER_LENGTH);
  return format.checksum === "crc32" ? appendChecksum(event) : event;
}

/** One the source made up (at connect, between files) or one of ours; the Rotate that ends a file of the source is not artificial. */
export function isArtificialRotate(event: Buffer): boolean {
  return eventType(event) === EVENT_TYPE.ROTATE && (eventFlags(event) & EVENT_FLAG.ARTIFICIAL) !== 0;
}

/** A Rotate of whatever stream: servers do not agree on whether the one before the first FORMAT_DESCRIPTION has a checksum, so it tells itself. */
export function decodeAnyRotate(event: Buffer): SourcePosition {
  const end = checksumMatches(event) ? event.length - CHECKSUM_LENGTH : event.length;
  const position = Number(event.readBigUInt64LE(EVENT_HEADER_LENGTH));
  return { file: event.toString("utf8", EVENT_HEADER_LENGTH + 8, end), position };
}

/**
 * The prologue from a file's first events, and how many they are (2 or 3). Undefined when they are no prologue: torn, or no relay file of ours.
 * Decoding faults are thrown as they are.
 */
export function decodePrologue(events: readonly Buffer[]): { prologue: Prologue; count: number } | undefined {
  const [description, second, third] = events;
  if (description === undefined || eventType(description) !== EVENT_TYPE.FORMAT_DESCRIPTION) return undefined;
  if (second === undefined || !isOurs(second)) return undefined;
  const { format } = decodeFormatDescription(description);
  const gtids = decodeGtids(second, format);
  const rotate = gtids === undefined ? second : third;
  if (rotate === undefined || !isOurs(rotate) || !isArtificialRotate(rotate)) return undefined;
  const source = decodeAnyRotate(rotate);
  return {
    prologue: { description, format, source, gtids: gtids ?? { kind: "none" } },
    count: gtids === undefined ? 2 : 3,
  };
}

const isOurs = (event: Buffer): boolean => (eventFlags(event) & OURS) === OURS;

function decodeGtids(event: Buffer, format: BinlogFormat): GtidState | undefined {
  if (eventType(event) === EVENT_TYPE.PREVIOUS_GTIDS) {
    return { kind: "mysql", set: decodePreviousGtids(event, format).set };
  }
  if (eventType(event) !== EVENT_TYPE.GTID_LIST) return undefined;
  const position = new MariadbGtidPosition();
  for (const gtid of decodeGtidList(event, format).gtids) position.update(gtid.domainId, gtid.serverId, gtid.sequence);
  return { kind: "mariadb", position };
}
