import type { BodyBatches } from "../apply/worker-session.ts";
import type { RelayLog } from "../relay/relay-log.ts";
import { bodyEvents } from "../transaction/body-events.ts";
import type { TableFilter } from "../transaction/body.ts";
import type { RelayPosition, Transaction } from "../transaction/transaction.ts";

const BODY_BATCH_BYTES_MAX = 1024 * 1024;

/** A transaction's events: at hand, or read from the relay log while they are applied. */
export function readBody(relay: RelayLog, filter: TableFilter, transaction: Transaction): BodyBatches {
  const { body } = transaction;
  if ("events" in body) return [body.events];
  return bodyEvents(transaction, rangeEvents(relay, body.range), {
    tableFilter: filter,
    batchBytesMax: BODY_BATCH_BYTES_MAX,
  });
}

async function* rangeEvents(
  relay: RelayLog,
  range: { from: RelayPosition; to: RelayPosition },
): AsyncGenerator<Buffer[]> {
  const reader = relay.readRange(range.from, range.to);
  try {
    for (let batch = await reader.next(); batch !== undefined; batch = await reader.next()) yield batch.events;
  } finally {
    await reader.close();
  }
}
