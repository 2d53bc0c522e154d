import { ByteReader } from "../../base/reader.ts";
import { EVENT_FLAG, EVENT_HEADER_LENGTH, eventFlags, eventType } from "../event.ts";
import { EVENT_TYPE, MARIADB_EVENTS_START } from "../event-type.ts";
import type { BinlogFormat } from "../format.ts";

export interface FormatDescriptionEvent {
  kind: "format-description";
  format: BinlogFormat;
  /** Seconds; not 0 when the server wrote it at its start: temporary tables and an unfinished transaction before it are gone. */
  createdAt: number;
  /** The server had not closed the file when this was written (LOG_EVENT_BINLOG_IN_USE_F). */
  inUse: boolean;
}

/** Lengths of post-headers before binlog version 4, by type (Format_description_log_event, sql/log_event.cc, MariaDB 10.11). */
const OLD_POST_HEADER_LENGTHS = [0, 56, 11, 0, 8, 0, 18, 0, 4, 4, 4, 4, 18, 0, 0];

/** Header length of binlog version 1, MySQL 3.23: no end position and no flags. */
const OLD_HEADER_LENGTH = 13;
const SERVER_VERSION_LENGTH = 50;
const START_V3_BODY_LENGTH = 2 + SERVER_VERSION_LENGTH + 4;

/**
 * Needs no format: it is what tells it. Type 15, since MySQL 5.0 (libbinlogevents/include/control_events.h, 8.0), has a header of 19 bytes in every version:
 *
 *     u16 binlog version; 50 server version; u32 created; u8 header length; u8 post-header length of each type from 1
 *     when the server knows checksums: u8 checksum algorithm; u32 CRC, also when the algorithm is "none"
 *
 * Type 1 (START_V3), in files of 3.23 to 4.1, has the first three fields; its length tells version 1 from 3.
 */
export function decodeFormatDescription(event: Buffer): FormatDescriptionEvent {
  if (event.length >= EVENT_HEADER_LENGTH && eventType(event) === EVENT_TYPE.START_V3) return decodeStartV3(event);
  const reader = new ByteReader(event, EVENT_HEADER_LENGTH);
  const binlogVersion = reader.u16();
  const serverVersion = untilNul(reader.text(SERVER_VERSION_LENGTH, "latin1"));
  const createdAt = reader.u32();
  const headerLength = reader.u8();
  if (binlogVersion !== 4) reader.fail(`a format description names the unknown binlog version ${binlogVersion}`);
  if (headerLength < EVENT_HEADER_LENGTH) reader.fail(`a format description names headers of ${headerLength} bytes`);
  const mariadb = /MariaDB|-maria-/.test(serverVersion);
  const aware = knowsChecksums(serverVersion, mariadb);
  if (aware && reader.remaining < 5) reader.fail("a format description lacks its checksum");
  const types = reader.remaining - (aware ? 5 : 0);
  const lengths = reader.take(types);
  const postHeaderLengths = new Uint8Array(types + 1);
  postHeaderLengths.set(lengths, 1);
  const algorithm = aware ? reader.u8() : 0;
  if (algorithm > 1) reader.fail(`checksum algorithm ${algorithm} is unknown`);
  return {
    kind: "format-description",
    format: {
      binlogVersion,
      serverVersion,
      flavour: mariadb || types >= MARIADB_EVENTS_START ? "mariadb" : "mysql",
      checksum: algorithm === 1 ? "crc32" : "none",
      headerLength,
      postHeaderLengths,
    },
    createdAt,
    inUse: (eventFlags(event) & EVENT_FLAG.BINLOG_IN_USE) !== 0,
  };
}

function decodeStartV3(event: Buffer): FormatDescriptionEvent {
  const old = event.length < EVENT_HEADER_LENGTH + START_V3_BODY_LENGTH;
  const headerLength = old ? OLD_HEADER_LENGTH : EVENT_HEADER_LENGTH;
  const reader = new ByteReader(event, headerLength);
  const binlogVersion = reader.u16();
  if (binlogVersion !== 1 && binlogVersion !== 3) reader.fail(`binlog version ${binlogVersion} is unknown`);
  const postHeaderLengths = Uint8Array.from(OLD_POST_HEADER_LENGTHS);
  if (old) postHeaderLengths[EVENT_TYPE.ROTATE] = 0;
  return {
    kind: "format-description",
    format: {
      binlogVersion,
      serverVersion: untilNul(reader.text(SERVER_VERSION_LENGTH, "latin1")),
      flavour: "mysql",
      checksum: "none",
      headerLength,
      postHeaderLengths,
    },
    createdAt: reader.u32(),
    inUse: !old && (eventFlags(event) & EVENT_FLAG.BINLOG_IN_USE) !== 0,
  };
}

const untilNul = (text: string): string => text.split("\0", 1)[0] as string;

/** Since MySQL 5.6.1 and MariaDB 5.3.0 (checksum_version_split, libbinlogevents/src/binlog_event.cpp and MariaDB's sql/log_event.cc). */
function knowsChecksums(serverVersion: string, mariadb: boolean): boolean {
  const match = /^(\d+)\.(\d+)(?:\.(\d+))?/.exec(serverVersion);
  if (match === null) return false;
  const version = Number(match[1]) * 10_000 + Number(match[2]) * 100 + Number(match[3] ?? 0);
  return version >= (mariadb ? 50_300 : 50_601);
}
