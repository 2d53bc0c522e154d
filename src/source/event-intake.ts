import { ReplicationError } from "../base/error.ts";
import {
  appendChecksum,
  checksumMatches,
  stripChecksum,
  verifyChecksum,
  withoutChecksums,
} from "../binlog/checksum.ts";
import { EVENT_FLAG, EVENT_HEADER_LENGTH, eventFlags, eventLength, eventType } from "../binlog/event.ts";
import { EVENT_TYPE } from "../binlog/event-type.ts";
import { decodeFormatDescription } from "../binlog/events/format-description.ts";
import { decodeGtidName } from "../binlog/events/gtid.ts";
import { decodeGtidTagged } from "../binlog/events/gtid-tagged.ts";
import { decodeHeartbeat } from "../binlog/events/heartbeat.ts";
import { decodeMariadbGtid } from "../binlog/events/mariadb-gtid.ts";
import { decodeRotate } from "../binlog/events/rotate.ts";
import type { BinlogFormat } from "../binlog/format.ts";
import { eventFact, step, type StreamState } from "../binlog/grammar.ts";
import { nextSourcePosition } from "../binlog/source-position.ts";
import { isCompressed, uncompressEvent } from "../binlog/uncompress.ts";
import { boundaryOf, type TransactionBoundary } from "../relay/state.ts";
import type { SourcePosition, TransactionId } from "../transaction/transaction.ts";
import { ServerVersion } from "../wire/server-version.ts";

export const isHeartbeat = (type: number): boolean => type === EVENT_TYPE.HEARTBEAT || type === EVENT_TYPE.HEARTBEAT_V2;

/** What the intake calls: heartbeats are told, not kept; `keep` gets every other event in order, with what the relay log wants to know of it. */
export interface IntakeSink {
  keep(event: Buffer, sourceEnd: number, boundary: TransactionBoundary, id: TransactionId | undefined): void;
  heartbeat(): void;
}

export interface IntakeOptions {
  verifyChecksums: boolean;
  /** What comes before this position of the first file is dropped: the source was asked from an earlier one (see `requestStream`). */
  keepFrom?: number;
}

/**
 * Follows one stream of events, from the artificial Rotate that begins it: the source's file and true position, the format, where transactions begin and
 * end. Everything it knows dies with the connection; the next stream gets a new one.
 */
export class EventIntake {
  readonly #sink: IntakeSink;
  readonly #verifyChecksums: boolean;
  #keepFrom: number;
  #format: BinlogFormat;
  #state: StreamState = "outside";
  #file = "";
  #position = 0;
  #started = false;
  #idleAt: SourcePosition | undefined;
  #transactions = 0;

  constructor(serverVersion: string, sink: IntakeSink, options: IntakeOptions) {
    this.#sink = sink;
    this.#verifyChecksums = options.verifyChecksums;
    this.#keepFrom = options.keepFrom ?? 0;
    this.#format = formatBeforeDescription(serverVersion);
  }

  /** After the last event kept; undefined before the first. */
  get position(): SourcePosition | undefined {
    if (this.#file === "") return undefined;
    return { file: this.#file, position: Math.max(this.#position, this.#keepFrom) };
  }

  /** Where the source stood at its last heartbeat: everything before it was sent, or left out since we have it. */
  get idleAt(): SourcePosition | undefined {
    return this.#idleAt;
  }

  get betweenTransactions(): boolean {
    return this.#state === "outside";
  }

  /** An event of the source's own file has come, so it could read where we asked it to. */
  get started(): boolean {
    return this.#started;
  }

  /** Complete transactions of this stream. */
  get transactions(): number {
    return this.#transactions;
  }

  /** @throws ReplicationError CORRUPT_EVENT, GRAMMAR, UNKNOWN_EVENT, INCIDENT, POSITION_NOT_FOUND */
  take(event: Buffer): void {
    if (event.length < EVENT_HEADER_LENGTH || eventLength(event) !== event.length) {
      throw new ReplicationError("CORRUPT_EVENT", "an event's length is not the length that its header tells");
    }
    const type = eventType(event);
    if (isHeartbeat(type)) return this.#heartbeat(event);
    const artificial = (eventFlags(event) & EVENT_FLAG.ARTIFICIAL) !== 0;
    if (type === EVENT_TYPE.ROTATE && artificial) return this.#begin(event);
    if (this.#file === "") {
      throw new ReplicationError("GRAMMAR", "the source's stream begins without the name of its file");
    }
    if (type === EVENT_TYPE.FORMAT_DESCRIPTION) this.#format = decodeFormatDescription(event).format;
    else if (!artificial) this.#started = true;
    if (this.#verifyChecksums) verifyChecksum(event, this.#format);
    this.#follow(event, type);
    if (type === EVENT_TYPE.ROTATE) {
      const { file, position } = decodeRotate(event, this.#format);
      this.#enter(file, position);
    }
  }

  #heartbeat(event: Buffer): void {
    // Before the first Rotate its checksum is not known yet.
    if (this.#file !== "") {
      const { file, position } = decodeHeartbeat(event, this.#format);
      this.#idleAt = { file, position };
    }
    this.#sink.heartbeat();
  }

  #follow(event: Buffer, type: number): void {
    const dropped = this.#position < this.#keepFrom;
    this.#position = nextSourcePosition(this.#position, event);
    if (dropped && type !== EVENT_TYPE.FORMAT_DESCRIPTION) {
      if (this.#position > this.#keepFrom) throw this.#noEventThere();
      return;
    }
    const compressed = isCompressed(type);
    const plain = compressed ? uncompressEvent(event, this.#format) : event;
    const format = compressed ? withoutChecksums(this.#format) : this.#format;
    const taken = step(this.#state, eventType(plain), eventFlags(plain), eventFact(plain, format));
    const begins = taken.role === "begin" || taken.role === "standalone";
    if (begins && this.#transactions === 0 && !isGtidEvent(type) && alwaysHasGtidEvents(this.#format)) {
      throw new ReplicationError(
        "GRAMMAR",
        "the stream begins in the middle of a transaction: its GTID event is missing",
      );
    }
    const boundary = boundaryOf(taken);
    // A payload is a whole transaction but for its GTID, so the stream is between transactions after it.
    this.#state = taken.role === "payload" ? "outside" : taken.state;
    if (boundary === "end") this.#transactions++;
    const sourceEnd = Math.max(this.#position, this.#keepFrom);
    this.#sink.keep(event, sourceEnd, boundary, this.#idOf(event, type));
  }

  /** An artificial Rotate says what file the events after it come from, and from where: at the beginning of the stream and of each file. */
  #begin(event: Buffer): void {
    // Servers do not agree on whether it has a CRC when the file before or after it has none: it tells itself.
    const format: BinlogFormat = { ...this.#format, checksum: checksumMatches(event) ? "crc32" : "none" };
    const { file, position } = decodeRotate(event, format);
    this.#enter(file, position);
    this.#state = "outside";
    const begins = Math.max(position, this.#keepFrom);
    const told = begins === position ? event : withPosition(event, begins, format);
    this.#sink.keep(told, begins, "outside", undefined);
  }

  #enter(file: string, position: number): void {
    if (this.#file !== "" && this.#file !== file) {
      if (this.#position < this.#keepFrom) throw this.#noEventThere();
      this.#keepFrom = 0;
    }
    this.#file = file;
    this.#position = position;
  }

  #noEventThere(): ReplicationError {
    return new ReplicationError("POSITION_NOT_FOUND", "no event starts there", {
      where: { file: this.#file, position: this.#keepFrom },
      hint: "give the position of a transaction's start (SHOW BINLOG EVENTS IN … on the source)",
    });
  }

  #idOf(event: Buffer, type: number): TransactionId | undefined {
    switch (type) {
      case EVENT_TYPE.GTID: {
        const { uuid, gno } = decodeGtidName(event, this.#format);
        return { kind: "mysql", uuid, tag: "", gno };
      }
      case EVENT_TYPE.GTID_TAGGED: {
        const { uuid, tag, gno } = decodeGtidTagged(event, this.#format);
        return { kind: "mysql", uuid, tag, gno };
      }
      case EVENT_TYPE.ANONYMOUS_GTID:
        return { kind: "anonymous" };
      case EVENT_TYPE.MARIADB_GTID: {
        const { domainId, serverId, sequence } = decodeMariadbGtid(event, this.#format);
        return { kind: "mariadb", domainId, serverId, sequence };
      }
      default:
        return undefined;
    }
  }
}

function isGtidEvent(type: number): boolean {
  return (
    type === EVENT_TYPE.GTID ||
    type === EVENT_TYPE.ANONYMOUS_GTID ||
    type === EVENT_TYPE.GTID_TAGGED ||
    type === EVENT_TYPE.MARIADB_GTID
  );
}

/** MariaDB since 10.0 and MySQL since 5.7 begin every transaction with one, anonymous when gtid_mode is OFF. */
function alwaysHasGtidEvents(format: BinlogFormat): boolean {
  const version = new ServerVersion(format.serverVersion);
  return version.flavour === "mariadb" ? version.atLeast(10) : version.atLeast(5, 7, 6);
}

/** Enough to read the Rotate that comes before the first FORMAT_DESCRIPTION. */
function formatBeforeDescription(serverVersion: string): BinlogFormat {
  return {
    binlogVersion: 4,
    serverVersion,
    flavour: /mariadb/i.test(serverVersion) ? "mariadb" : "mysql",
    checksum: "crc32",
    headerLength: EVENT_HEADER_LENGTH,
    postHeaderLengths: new Uint8Array(256),
  };
}

function withPosition(rotate: Buffer, position: number, format: BinlogFormat): Buffer {
  const changed = format.checksum === "crc32" ? stripChecksum(rotate) : Buffer.from(rotate);
  changed.writeBigUInt64LE(BigInt(position), EVENT_HEADER_LENGTH);
  return format.checksum === "crc32" ? appendChecksum(changed) : changed;
}
