import { appendChecksum } from "../../src/binlog/checksum.ts";
import { EVENT_TYPE } from "../../src/binlog/event-type.ts";
import { EVENT_FLAG, EVENT_HEADER_LENGTH } from "../../src/binlog/event.ts";
import type { TransactionId } from "../../src/transaction/transaction.ts";
import type { RelayLog } from "../../src/relay/relay-log.ts";
import type { TransactionBoundary } from "../../src/relay/state.ts";

/** What a receiver hands over with an event. */
export interface Received {
  event: Buffer;
  sourceEnd: number;
  boundary: TransactionBoundary;
  id?: TransactionId;
}

export const UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562";

/** Post-header lengths of types 1 to 41 as MySQL 8.0 writes them. */
const POST_HEADER_LENGTHS = [
  56, 13, 0, 8, 0, 18, 0, 4, 4, 4, 4, 18, 0, 0, 98, 0, 4, 26, 8, 0, 0, 0, 8, 8, 8, 2, 0, 0, 0, 10, 10, 10, 42, 42, 0,
  18, 52, 0, 10, 40, 0,
];

/** A made-up MySQL source: the events of its binlog files as a replica gets them, byte for byte well-formed. */
export class TestSource {
  readonly checksum: boolean;
  file = "binlog.000001";
  position = 4;

  constructor({ checksum = true } = {}) {
    this.checksum = checksum;
  }

  /** What begins a stream: the artificial Rotate and the FORMAT_DESCRIPTION. */
  start(file = this.file, position = this.position): Received[] {
    this.file = file;
    this.position = position;
    const rotate = this.#event(EVENT_TYPE.ROTATE, rotateBody(file, position), { flags: EVENT_FLAG.ARTIFICIAL });
    return [{ event: rotate, sourceEnd: position, boundary: "outside" }, this.#description(position === 4)];
  }

  /** GTID, BEGIN, Table_map, rows of `rowBytes` in `rowEvents` events, Xid. */
  transaction(gno: number, { rowEvents = 1, rowBytes = 40 } = {}): Received[] {
    const id: TransactionId = { kind: "mysql", uuid: UUID, tag: "", gno: BigInt(gno) };
    const gtid = Buffer.alloc(42);
    Buffer.from(UUID.replaceAll("-", ""), "hex").copy(gtid, 1);
    gtid.writeBigInt64LE(BigInt(gno), 17);
    gtid[25] = 2;
    const begin = Buffer.from("\0\0\0\0\0\0\0\0\x02\0\0\0\0db\0BEGIN", "latin1");
    const tableMap = Buffer.from("\x01\0\0\0\0\0\x01\0\x02db\0\x01t\0\x01\x08\0\0", "latin1");
    const rows = Buffer.alloc(10 + rowBytes, gno);
    rows.writeUInt16LE(1, 6);
    rows.writeUInt16LE(2, 8);
    return [
      { ...this.#next(EVENT_TYPE.GTID, gtid), id },
      this.#next(EVENT_TYPE.QUERY, begin),
      this.#next(EVENT_TYPE.TABLE_MAP, tableMap),
      ...Array.from({ length: rowEvents }, () => this.#next(EVENT_TYPE.WRITE_ROWS, rows)),
      this.#next(EVENT_TYPE.XID, Buffer.alloc(8, gno), "end"),
    ];
  }

  /** The Rotate that ends a file; the stream of the next one starts after it. */
  rotate(file: string): Received {
    const received = this.#next(EVENT_TYPE.ROTATE, rotateBody(file, 4), "outside");
    this.file = file;
    this.position = 4;
    return received;
  }

  #description(atStart: boolean): Received {
    const body = Buffer.alloc(57 + POST_HEADER_LENGTHS.length + 1);
    body.writeUInt16LE(4, 0);
    body.write("8.0.36", 2);
    body[56] = EVENT_HEADER_LENGTH;
    Buffer.from(POST_HEADER_LENGTHS).copy(body, 57);
    body[body.length - 1] = this.checksum ? 1 : 0;
    const length = EVENT_HEADER_LENGTH + body.length + 4;
    if (atStart) this.position += length;
    const end = atStart ? this.position : 0;
    const event = appendChecksum(header(EVENT_TYPE.FORMAT_DESCRIPTION, body, end, 0));
    return { event, sourceEnd: this.position, boundary: "outside" };
  }

  #next(type: number, body: Buffer, boundary: TransactionBoundary = "inside"): Received {
    this.position += EVENT_HEADER_LENGTH + body.length + (this.checksum ? 4 : 0);
    return { event: this.#event(type, body, { end: this.position }), sourceEnd: this.position, boundary };
  }

  #event(type: number, body: Buffer, { end = 0, flags = 0 }): Buffer {
    const event = header(type, body, end, flags);
    return this.checksum ? appendChecksum(event) : event;
  }
}

function rotateBody(file: string, position: number): Buffer {
  const body = Buffer.alloc(8 + file.length);
  body.writeBigUInt64LE(BigInt(position), 0);
  body.write(file, 8);
  return body;
}

function header(type: number, body: Buffer, end: number, flags: number): Buffer {
  const event = Buffer.alloc(EVENT_HEADER_LENGTH + body.length);
  event.writeUInt32LE(1_700_000_000, 0);
  event[4] = type;
  event.writeUInt32LE(7, 5);
  event.writeUInt32LE(event.length, 9);
  event.writeUInt32LE(end % 2 ** 32, 13);
  event.writeUInt16LE(flags, 17);
  body.copy(event, EVENT_HEADER_LENGTH);
  return event;
}

/** Appends in order; the answer to the last one. */
export function appendAll(relay: RelayLog, received: readonly Received[]): boolean {
  let room = true;
  for (const { event, sourceEnd, boundary, id } of received) room = relay.append(event, sourceEnd, boundary, id);
  return room;
}
