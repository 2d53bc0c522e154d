import type { BinlogFormat } from "../binlog/format.ts";
import type { Transaction } from "../transaction/transaction.ts";
import type { Session } from "../wire/session.ts";
import { literal } from "./checkpoint.ts";
import type { BodyBatches } from "./worker-session.ts";

/**
 * The halves of a distributed transaction lie apart in the binlog, anything between them. At XA PREPARE its events are stored in the target, in the transaction of the
 * checkpoint; XA COMMIT applies and deletes them, XA ROLLBACK deletes them. So no session of the target stays in the prepared state, and
 * a restart between the halves loses nothing. Between the two the source's own locks keep others from the rows, so applying them at the end is the same.
 */
const PART_BYTES_MAX = 4 * 1024 * 1024;

export async function keepPrepared(
  session: Session,
  channel: string,
  transaction: Transaction,
  body: BodyBatches,
): Promise<void> {
  let part = 0;
  let pending: Buffer[] = [];
  let bytes = 0;
  const insert = async (): Promise<void> => {
    const events = Buffer.concat(pending).toString("hex");
    await session.execute(
      `INSERT INTO abreast.xa_prepared VALUES (${literal(channel)},${literal(transaction.xid ?? "")},${part++},` +
        `${literal(serialiseFormat(transaction.format))},X'${events}')`,
    );
    pending = [];
    bytes = 0;
  };
  for await (const batch of body) {
    for (const event of batch) {
      pending.push(event);
      bytes += event.length;
      if (bytes >= PART_BYTES_MAX) await insert();
    }
  }
  if (bytes > 0 || part === 0) await insert();
}

export async function readPrepared(
  session: Session,
  channel: string,
  xid: string,
): Promise<{ format: BinlogFormat; events: Buffer[] } | undefined> {
  const [result] = await session.execute(
    `SELECT format, events FROM abreast.xa_prepared WHERE ${whereXid(channel, xid)} ORDER BY part`,
    { binary: true },
  );
  const rows = result?.rows ?? [];
  const format = rows[0]?.[0];
  if (!format) return undefined;
  return {
    format: parseFormat(format.toString("utf8")),
    events: rows.flatMap(([, events]) => (events ? splitEvents(events) : [])),
  };
}

export async function forgetPrepared(session: Session, channel: string, xid: string): Promise<void> {
  await session.execute(`DELETE FROM abreast.xa_prepared WHERE ${whereXid(channel, xid)}`);
}

const whereXid = (channel: string, xid: string): string => `channel=${literal(channel)} AND xid=${literal(xid)}`;

function splitEvents(bytes: Buffer): Buffer[] {
  const events: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = at + bytes.readUInt32LE(at + 9);
    events.push(bytes.subarray(at, end));
    at = end;
  }
  return events;
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
