import { EVENT_TYPE } from "../../binlog/event-type.ts";
import { decodeGtidTagged } from "../../binlog/events/gtid-tagged.ts";
import { MARIADB_GTID_FLAG } from "../../binlog/events/mariadb-gtid.ts";
import type { BinlogFormat } from "../../binlog/format.ts";
import { ReplicationError } from "../../base/error.ts";
import { formatUuid } from "../../gtid/mysql.ts";
import { domainSource } from "../summary/gtid-name.ts";
import type { OpenTransaction } from "../summary/open-transaction.ts";
import { u24, u32, u56, u64 } from "./bytes.ts";

const UUID_BYTES = 16;
/** Offsets behind the header; see decodeGtid (binlog/events/gtid.ts). */
const MYSQL = {
  UUID: 1,
  GNO: 17,
  TYPECODE: 25,
  LAST_COMMITTED: 26,
  SEQUENCE_NUMBER: 34,
  COMMIT_TIME: 42,
  ORIGINAL_TIME: 49,
} as const;
const LOGICAL_CLOCK = 2;
const ORIGINAL_TIME_FOLLOWS = 0x80_0000;
/** See decodeMariadbGtid. */
const MARIADB = { SEQUENCE: 0, DOMAIN: 8, FLAGS: 12, COMMIT_ID: 13 } as const;

/** Reads a GTID event, whose fields lie in `[body, end)`, into the transaction that it begins. Events of other types say nothing. */
export function readGtid(
  bytes: Buffer,
  at: number,
  body: number,
  end: number,
  type: number,
  format: BinlogFormat,
  open: OpenTransaction,
): void {
  if (type === EVENT_TYPE.GTID || type === EVENT_TYPE.ANONYMOUS_GTID) readMysql(bytes, body, end, type, open);
  else if (type === EVENT_TYPE.MARIADB_GTID) readMariadb(bytes, at, body, end, open);
  else if (type === EVENT_TYPE.GTID_TAGGED) readTagged(bytes, at, end, format, open);
}

function readMysql(bytes: Buffer, body: number, end: number, type: number, open: OpenTransaction): void {
  if (body + MYSQL.TYPECODE > end) throw short();
  if (type === EVENT_TYPE.GTID) {
    open.gtidSource = uuidAt(bytes, body + MYSQL.UUID);
    open.gtidNumber = u64(bytes, body + MYSQL.GNO);
  }
  if (body + MYSQL.COMMIT_TIME > end || bytes[body + MYSQL.TYPECODE] !== LOGICAL_CLOCK) return;
  open.lastCommitted = u64(bytes, body + MYSQL.LAST_COMMITTED);
  open.sequenceNumber = u64(bytes, body + MYSQL.SEQUENCE_NUMBER);
  if (body + MYSQL.ORIGINAL_TIME > end) return;
  const high = u24(bytes, body + MYSQL.COMMIT_TIME + 4);
  const hasOriginal = (high & ORIGINAL_TIME_FOLLOWS) !== 0 && body + MYSQL.ORIGINAL_TIME + 7 <= end;
  open.committedAtUs = hasOriginal
    ? u56(bytes, body + MYSQL.ORIGINAL_TIME)
    : u32(bytes, body + MYSQL.COMMIT_TIME) + (high & ~ORIGINAL_TIME_FOLLOWS) * 0x1_0000_0000;
}

function readMariadb(bytes: Buffer, at: number, body: number, end: number, open: OpenTransaction): void {
  if (body + MARIADB.COMMIT_ID > end) throw short();
  open.serverId = u32(bytes, at + 5);
  open.gtidNumber = u64(bytes, body + MARIADB.SEQUENCE);
  open.gtidSource = sourceOfDomain(u32(bytes, body + MARIADB.DOMAIN));
  const hasCommitId = ((bytes[body + MARIADB.FLAGS] as number) & MARIADB_GTID_FLAG.GROUP_COMMIT_ID) !== 0;
  if (hasCommitId && body + MARIADB.COMMIT_ID + 8 <= end) open.commitId = u64(bytes, body + MARIADB.COMMIT_ID);
}

function readTagged(bytes: Buffer, at: number, end: number, format: BinlogFormat, open: OpenTransaction): void {
  const event = bytes.subarray(at, end);
  const gtid = decodeGtidTagged(event, format.checksum === "none" ? format : { ...format, checksum: "none" });
  open.gtidSource = gtid.tag === "" ? gtid.uuid : `${gtid.uuid}:${gtid.tag}`;
  open.gtidNumber = Number(gtid.gno);
  open.lastCommitted = gtid.lastCommitted;
  open.sequenceNumber = gtid.sequenceNumber;
  open.committedAtUs = gtid.originalCommitUs;
}

/** The uuid and the domain formatted last: nearly all transactions of a log carry the same one. */
const latestUuidBytes = Buffer.alloc(UUID_BYTES);
let latestUuid = formatUuid(latestUuidBytes, 0);
let latestDomain = 0;
let latestDomainSource = domainSource(0);

function uuidAt(bytes: Buffer, offset: number): string {
  for (let i = 0; i < UUID_BYTES; i++) {
    if (bytes[offset + i] === latestUuidBytes[i]) continue;
    bytes.copy(latestUuidBytes, 0, offset, offset + UUID_BYTES);
    latestUuid = formatUuid(latestUuidBytes, 0);
    break;
  }
  return latestUuid;
}

function sourceOfDomain(domain: number): string {
  if (domain !== latestDomain) {
    latestDomain = domain;
    latestDomainSource = domainSource(domain);
  }
  return latestDomainSource;
}

const short = (): ReplicationError => new ReplicationError("CORRUPT_EVENT", "a GTID event ends before its number does");
