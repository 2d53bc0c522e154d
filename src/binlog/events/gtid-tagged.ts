import { ReplicationError } from "../../base/error.ts";
import { formatUuid } from "../../gtid/mysql.ts";
import type { BinlogFormat } from "../format.ts";
import { bodyReader } from "./body.ts";
import type { GtidEvent } from "./gtid.ts";
import { varlen, varlenNumber, varlenSigned } from "./serialization.ts";

const SERIALIZATION_VERSION = 1;

/** Field numbers are the order in which Gtid_event::define_fields names them. */
const FIELD = {
  FLAGS: 0,
  UUID: 1,
  GNO: 2,
  TAG: 3,
  LAST_COMMITTED: 4,
  SEQUENCE_NUMBER: 5,
  IMMEDIATE_COMMIT: 6,
  ORIGINAL_COMMIT: 7,
  TRANSACTION_LENGTH: 8,
  IMMEDIATE_VERSION: 9,
  ORIGINAL_VERSION: 10,
  COMMIT_GROUP_TICKET: 11,
} as const;

/**
 * GTID_TAGGED (42), since 8.3 (libs/mysql/binlog/event/control_events.h): a message of mysql::serialization, where every number has a variable length:
 *
 *     version 1; size of the message, these included; number of the last field that a reader must know, or 0
 *     then fields, each a field number and its value, in rising order; absent ones have defaults
 *
 * The uuid is 16 numbers, one per byte. gno, last_committed and sequence_number are signed. A tag is a length and its letters.
 */
export function decodeGtidTagged(event: Buffer, format: BinlogFormat): GtidEvent {
  const reader = bodyReader(event, format);
  const start = reader.offset;
  const version = varlenNumber(reader);
  if (version !== SERIALIZATION_VERSION) reader.fail(`a tagged GTID has the unknown form ${version}`);
  const end = start + varlenNumber(reader);
  if (end > reader.end) reader.fail("a tagged GTID is longer than its event");
  const mustKnow = varlenNumber(reader);
  if (mustKnow > FIELD.COMMIT_GROUP_TICKET) {
    throw new ReplicationError("UNKNOWN_EVENT", `a tagged GTID has field ${mustKnow}, which may not be left out`, {
      hint: "the source is newer than this program: update it",
    });
  }
  const result: GtidEvent = {
    kind: "gtid",
    anonymous: false,
    uuid: "",
    tag: "",
    gno: 0n,
    mayHaveStatements: false,
    lastCommitted: 0,
    sequenceNumber: 0,
    originalCommitUs: 0,
    immediateCommitUs: 0,
    transactionLength: 0,
    originalServerVersion: 0,
    immediateServerVersion: 0,
    commitGroupTicket: undefined,
  };
  let previous = -1;
  while (reader.offset < end) {
    const field = varlenNumber(reader);
    if (field <= previous) reader.fail("the fields of a tagged GTID are out of order");
    previous = field;
    if (field > FIELD.COMMIT_GROUP_TICKET) break;
    switch (field) {
      case FIELD.FLAGS:
        result.mayHaveStatements = (varlenNumber(reader) & 1) !== 0;
        break;
      case FIELD.UUID: {
        const bytes = Buffer.allocUnsafe(16);
        for (let i = 0; i < 16; i++) bytes[i] = varlenNumber(reader);
        result.uuid = formatUuid(bytes, 0);
        break;
      }
      case FIELD.GNO:
        result.gno = varlenSigned(reader);
        break;
      case FIELD.TAG:
        result.tag = reader.text(varlenNumber(reader), "latin1");
        break;
      case FIELD.LAST_COMMITTED:
        result.lastCommitted = Number(varlenSigned(reader));
        break;
      case FIELD.SEQUENCE_NUMBER:
        result.sequenceNumber = Number(varlenSigned(reader));
        break;
      case FIELD.IMMEDIATE_COMMIT:
        result.immediateCommitUs = result.originalCommitUs = varlenNumber(reader);
        break;
      case FIELD.ORIGINAL_COMMIT:
        result.originalCommitUs = varlenNumber(reader);
        break;
      case FIELD.TRANSACTION_LENGTH:
        result.transactionLength = varlenNumber(reader);
        break;
      case FIELD.IMMEDIATE_VERSION:
        result.immediateServerVersion = result.originalServerVersion = varlenNumber(reader);
        break;
      case FIELD.ORIGINAL_VERSION:
        result.originalServerVersion = varlenNumber(reader);
        break;
      default:
        result.commitGroupTicket = varlen(reader);
    }
  }
  if (result.uuid === "" || result.gno < 1n) reader.fail("a tagged GTID has no source or no number");
  return result;
}
