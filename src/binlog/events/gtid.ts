import { formatUuid } from "../../gtid/mysql.ts";
import { eventType } from "../event.ts";
import { EVENT_TYPE } from "../event-type.ts";
import type { BinlogFormat } from "../format.ts";
import { bodyReader } from "./body.ts";
import { decodeGtidTagged } from "./gtid-tagged.ts";

/** GTID (33), ANONYMOUS_GTID (34) and GTID_TAGGED (42) alike. */
export interface GtidEvent {
  kind: "gtid";
  /** True: uuid is all zeros and gno 0. */
  anonymous: boolean;
  uuid: string;
  /** "" without one. */
  tag: string;
  gno: bigint;
  /** FLAG_MAY_HAVE_SBR. */
  mayHaveStatements: boolean;
  lastCommitted: number;
  sequenceNumber: number;
  /** Microseconds since 1970; 0 when the server is too old to tell. `original` equals `immediate` on the server where it was born. */
  originalCommitUs: number;
  immediateCommitUs: number;
  /** Bytes of the whole transaction in the binlog, this event included; 0 when not told. */
  transactionLength: number;
  /** 80034 for 8.0.34; 0 when not told, 999999 when unknown to the source. */
  originalServerVersion: number;
  immediateServerVersion: number;
  commitGroupTicket: bigint | undefined;
}

/** Says that the logical clock of 5.7 follows; earlier 5.7 milestones wrote another code and other lengths. */
const LOGICAL_TIMESTAMP_TYPECODE = 2;
/** The top bit of the 7-byte timestamp (here of its upper 3 bytes) and of the 4-byte version says that the original's follows. */
const ORIGINAL_TIMESTAMP_FOLLOWS = 0x80_0000;
const ORIGINAL_VERSION_FOLLOWS = 0x8000_0000;

/** The uuid formatted last: a stream's transactions nearly all carry the same one. */
let latestUuidBytes = Buffer.alloc(16);
let latestUuid = formatUuid(latestUuidBytes, 0);

function uuidAt(event: Buffer, offset: number): string {
  if (latestUuidBytes.compare(event, offset, offset + 16) !== 0) {
    latestUuid = formatUuid(event, offset);
    latestUuidBytes = Buffer.from(event.subarray(offset, offset + 16));
  }
  return latestUuid;
}

/** What GTID (33) calls its transaction, without the rest. */
export function decodeGtidName(event: Buffer, format: BinlogFormat): Pick<GtidEvent, "uuid" | "gno"> {
  const reader = bodyReader(event, format);
  reader.skip(1);
  const { offset } = reader;
  reader.skip(16);
  return { uuid: uuidAt(event, offset), gno: reader.i64() };
}

/**
 * Reads all three types. Layout of 33 and 34 (Gtid_event, libbinlogevents/include/control_events.h, 8.0); the parts came one after the other, an event may end
 * after each of them:
 *
 *     u8 flags; uuid 16; i64 gno                                      5.6
 *     u8 typecode 2; i64 last_committed; i64 sequence_number          5.7
 *     u56 immediate commit time, µs; [u56 original commit time]       8.0.1
 *     lenenc transaction length                                       8.0.2
 *     u32 immediate server version; [u32 original server version]     8.0.14
 *     u64 commit group ticket                                         8.0.31
 */
export function decodeGtid(event: Buffer, format: BinlogFormat): GtidEvent {
  const type = eventType(event);
  if (type === EVENT_TYPE.GTID_TAGGED) return decodeGtidTagged(event, format);
  const reader = bodyReader(event, format);
  const flags = reader.u8();
  const uuidOffset = reader.offset;
  reader.skip(16);
  const result: GtidEvent = {
    kind: "gtid",
    anonymous: type === EVENT_TYPE.ANONYMOUS_GTID,
    uuid: uuidAt(event, uuidOffset),
    tag: "",
    gno: reader.i64(),
    mayHaveStatements: (flags & 1) !== 0,
    lastCommitted: 0,
    sequenceNumber: 0,
    originalCommitUs: 0,
    immediateCommitUs: 0,
    transactionLength: 0,
    originalServerVersion: 0,
    immediateServerVersion: 0,
    commitGroupTicket: undefined,
  };
  if (reader.remaining < 17 || reader.u8() !== LOGICAL_TIMESTAMP_TYPECODE) return result;
  result.lastCommitted = reader.double64();
  result.sequenceNumber = reader.double64();
  if (reader.remaining < 7) return result;
  const low = reader.u32();
  const high = reader.u24();
  result.immediateCommitUs = low + (high & ~ORIGINAL_TIMESTAMP_FOLLOWS) * 0x1_0000_0000;
  result.originalCommitUs = (high & ORIGINAL_TIMESTAMP_FOLLOWS) !== 0 ? reader.u56() : result.immediateCommitUs;
  if (reader.remaining === 0) return result;
  result.transactionLength = reader.lenenc();
  if (reader.remaining < 4) return result;
  const version = reader.u32();
  result.immediateServerVersion = version % ORIGINAL_VERSION_FOLLOWS;
  result.originalServerVersion = version >= ORIGINAL_VERSION_FOLLOWS ? reader.u32() : version;
  if (reader.remaining >= 8) result.commitGroupTicket = reader.u64();
  return result;
}
