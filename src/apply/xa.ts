import { ReplicationError } from "../base/error.ts";
import { EVENT_HEADER_LENGTH } from "../binlog/event.ts";
import type { BinlogFormat } from "../binlog/format.ts";
import type { Transaction } from "../transaction/transaction.ts";
import type { Session } from "../wire/session.ts";
import { literal } from "./checkpoint.ts";
import type { BodyBatches } from "./worker-session.ts";

/**
 * The halves of a distributed transaction lie apart in the binlog, anything between them. At XA PREPARE its events are stored in the target, in the transaction of the
 * checkpoint; XA COMMIT applies and deletes them, XA ROLLBACK deletes them. So no session of the target stays in the prepared state, and
 * a restart between the halves loses nothing. Between the two the source's own locks keep others from the rows, so applying them at the end is the same.
 *
 * The events are one run of bytes, cut into parts wherever it falls: neither a large transaction nor a large row needs more memory, or a larger packet, than one part.
 */
const PART_BYTES = 1024 * 1024;

export async function keepPrepared(
  session: Session,
  channel: string,
  transaction: Transaction,
  body: BodyBatches,
): Promise<void> {
  let part = 0;
  let pending: Buffer[] = [];
  let bytes = 0;
  const insert = async (events: Buffer): Promise<void> => {
    const format = part === 0 ? serialiseFormat(transaction.format) : "";
    await session.execute(
      `INSERT INTO abreast.xa_prepared VALUES (${literal(channel)},${literal(transaction.xid ?? "")},${part++},` +
        `${literal(format)},X'${events.toString("hex")}')`,
    );
  };
  for await (const batch of body) {
    for (const event of batch) {
      pending.push(event);
      bytes += event.length;
      if (bytes < PART_BYTES) continue;
      const joined = Buffer.concat(pending);
      let at = 0;
      for (; joined.length - at >= PART_BYTES; at += PART_BYTES) await insert(joined.subarray(at, at + PART_BYTES));
      pending = [joined.subarray(at)];
      bytes = joined.length - at;
    }
  }
  if (bytes > 0 || part === 0) await insert(Buffer.concat(pending));
}

/** The events in batches, read as they are asked for; undefined when nothing is stored under this identifier. */
export async function readPrepared(
  session: Session,
  channel: string,
  xid: string,
): Promise<{ format: BinlogFormat; events: BodyBatches } | undefined> {
  const where = whereXid(channel, xid);
  const format = await session.queryValue(`SELECT format FROM abreast.xa_prepared WHERE ${where} AND part=0`);
  if (!format) return undefined;
  return { format: parseFormat(format), events: readParts(session, where) };
}

async function* readParts(session: Session, where: string): AsyncGenerator<Buffer[]> {
  let pieces: Buffer[] = [];
  let bytes = 0;
  for (let part = 0; ; part++) {
    const [result] = await session.execute(`SELECT events FROM abreast.xa_prepared WHERE ${where} AND part=${part}`, {
      binary: true,
    });
    const stored = result?.rows[0]?.[0];
    if (!stored) break;
    pieces.push(stored);
    bytes += stored.length;
    // A row of many parts is joined once, when all of it is there.
    if (bytes < wantedBytes(pieces)) continue;
    const { events, rest } = splitEvents(Buffer.concat(pieces));
    pieces = [rest];
    bytes = rest.length;
    if (events.length > 0) yield events;
  }
  if (bytes > 0)
    throw new ReplicationError(
      "CHECKPOINT",
      "the stored half of an XA transaction is cut: its last event is not whole",
    );
}

/** How much there has to be before an event can be cut off the front. */
function wantedBytes([first, second]: readonly Buffer[]): number {
  const header = Buffer.concat([
    first ?? Buffer.alloc(0),
    (second ?? Buffer.alloc(0)).subarray(0, EVENT_HEADER_LENGTH),
  ]);
  return header.length < EVENT_HEADER_LENGTH ? EVENT_HEADER_LENGTH : header.readUInt32LE(9);
}

export async function forgetPrepared(session: Session, channel: string, xid: string): Promise<void> {
  await session.execute(`DELETE FROM abreast.xa_prepared WHERE ${whereXid(channel, xid)}`);
}

const whereXid = (channel: string, xid: string): string => `channel=${literal(channel)} AND xid=${literal(xid)}`;

function splitEvents(bytes: Buffer): { events: Buffer[]; rest: Buffer } {
  const events: Buffer[] = [];
  let at = 0;
  while (bytes.length - at >= EVENT_HEADER_LENGTH) {
    const end = at + bytes.readUInt32LE(at + 9);
    if (end > bytes.length) break;
    events.push(bytes.subarray(at, end));
    at = end;
  }
  return { events, rest: bytes.subarray(at) };
}

function serialiseFormat(format: BinlogFormat): string {
  return JSON.stringify({
    ...format,
    postHeaderLengths: Buffer.from(format.postHeaderLengths).toString("hex"),
  });
}

function parseFormat(text: string): BinlogFormat {
  const format = JSON.parse(text) as Omit<BinlogFormat, "postHeaderLengths"> & { postHeaderLengths: string };
  return { ...format, postHeaderLengths: Uint8Array.from(Buffer.from(format.postHeaderLengths, "hex")) };
}
