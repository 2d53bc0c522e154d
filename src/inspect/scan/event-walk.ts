import { ReplicationError } from "../../base/error.ts";
import { EVENT_TYPE } from "../../binlog/event-type.ts";
import { decodeFormatDescription } from "../../binlog/events/format-description.ts";
import type { BinlogFormat } from "../../binlog/format.ts";
import { u32 } from "./bytes.ts";

/** Header of version 1: enough to know an event's type and length. */
const SHORTEST_HEADER = 13;
/** max_allowed_packet's maximum and what headers add to it. */
const EVENT_BYTES_MAX = 1024 * 1024 * 1024 + 64 * 1024;
export const MAGIC_BYTES = 4;
const MAGIC = 0x6e69_62fe;
/** A file that MySQL 8.0.14 or later encrypts (sql/rpl_log_encryption.h). */
const ENCRYPTED_MAGIC = 0x6e69_62fd;

/**
 * Steps from event to event by the lengths in their headers, and knows where one transaction has surely ended and the next not begun: before a GTID event, and behind an XID.
 *
 * Invariant: every length that `look` gave out was possible. Behind an impossible one there is no way to find the next event, and it throws.
 */
export class EventWalk {
  /** Of the descriptions so far: how the event at hand is read. */
  format: BinlogFormat | undefined;
  /** Before the event that `look` saw last lies a border between transactions. */
  atBorder = false;
  #isBehindXid = false;
  #isEncrypted = false;

  /**
   * Looks at the event that begins at `at` of `bytes`, of which those before `to` are there.
   * @returns its length; negative: so many bytes of it must be there to tell (take the sign away)
   * @throws ReplicationError CORRUPT_EVENT, ENCRYPTED, BINLOG_FORMAT
   */
  look(bytes: Buffer, at: number, to: number): number {
    const { format } = this;
    const headerLength = format?.headerLength ?? SHORTEST_HEADER;
    if (to - at < headerLength) {
      if (this.#isEncrypted) throw encrypted();
      return -headerLength;
    }
    if (this.#isEncrypted) throw encrypted();
    const length = u32(bytes, at + 9);
    const type = bytes[at + 4] as number;
    if (length < headerLength || length > EVENT_BYTES_MAX) {
      throw new ReplicationError("CORRUPT_EVENT", `an event says that it is ${length} bytes long`);
    }
    if (type === EVENT_TYPE.FORMAT_DESCRIPTION || type === EVENT_TYPE.START_V3) {
      if (to - at < length) return -length;
      this.format = decodeFormatDescription(bytes.subarray(at, at + length)).format;
    } else if (format === undefined) {
      throw new ReplicationError("BINLOG_FORMAT", "the file does not begin with a format description");
    }
    this.#isEncrypted = type === EVENT_TYPE.START_ENCRYPTION;
    this.atBorder =
      this.#isBehindXid ||
      type === EVENT_TYPE.GTID ||
      type === EVENT_TYPE.MARIADB_GTID ||
      type === EVENT_TYPE.ANONYMOUS_GTID ||
      type === EVENT_TYPE.GTID_TAGGED;
    this.#isBehindXid = type === EVENT_TYPE.XID;
    return length;
  }
}

/** @throws ReplicationError BINLOG_FORMAT, ENCRYPTED, CORRUPT_EVENT when these are not the first bytes of a binlog file */
export function checkMagic(head: Buffer): void {
  if (head.length < MAGIC_BYTES) throw new ReplicationError("CORRUPT_EVENT", "the file ends before its first event");
  const magic = u32(head, 0);
  if (magic === ENCRYPTED_MAGIC) throw encrypted();
  if (magic !== MAGIC) {
    throw new ReplicationError("BINLOG_FORMAT", "this is no binlog file: it does not begin with the four bytes of one");
  }
}

const encrypted = (): ReplicationError => new ReplicationError("ENCRYPTED", "the file is encrypted from here on");

export const cutEvent = (bytes: number): ReplicationError =>
  new ReplicationError("CORRUPT_EVENT", `the file ends inside an event: ${bytes} bytes of it are there`);
