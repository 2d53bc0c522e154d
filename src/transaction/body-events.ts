import { assert } from "../base/assert.ts";
import { ReplicationError } from "../base/error.ts";
import { EVENT_TYPE } from "../binlog/event-type.ts";
import { eventFlags, eventType } from "../binlog/event.ts";
import { decodeTransactionPayload } from "../binlog/events/transaction-payload.ts";
import { isRowsType } from "../binlog/events/rows.ts";
import type { BinlogFormat } from "../binlog/format.ts";
import { eventFact, step, type StreamState } from "../binlog/grammar.ts";
import { isCompressed, uncompressEvent } from "../binlog/uncompress.ts";
import { BodyCollector, EVENT_BYTES_MAX, type TableFilter } from "./body.ts";
import type { EventList } from "./event-list.ts";
import { streamPayloadEvents } from "./payload-stream.ts";
import type { Transaction } from "./transaction.ts";

export interface BodyEventsOptions {
  /** The same as the assembler's. */
  tableFilter?: TableFilter;
  /** A batch is given out once it holds this much (or one event more). */
  batchBytesMax: number;
}

/**
 * The body of a transaction that is a range of the relay log, as a stream: batches of the same events that `body.events` of a small one has. `raw` is what the
 * relay log holds from the range's `from` to its `to`, in batches of any size. Memory: one batch in, one batch out, and the window of a compressed payload.
 * @throws ReplicationError as the assembler does
 */
export async function* bodyEvents(
  transaction: Transaction,
  raw: AsyncIterable<readonly Buffer[]>,
  options: BodyEventsOptions,
): AsyncGenerator<EventList> {
  const { body, format: plain, kind, start } = transaction;
  assert("range" in body, "only a range is read back");
  const format: BinlogFormat = { ...plain, checksum: body.range.checksum };
  const collector = new BodyCollector(options.tableFilter);
  let state: StreamState = "outside";

  const take = (event: Buffer, read: BinlogFormat): boolean => {
    const type = eventType(event);
    const taken = step(state, type, eventFlags(event), eventFact(event, read));
    state = taken.state;
    if (!taken.content) return false;
    if (type === EVENT_TYPE.TABLE_MAP) collector.tableMap(event, read, start);
    else if (isRowsType(type)) collector.rowsEvent(event, read);
    // What is no row event in a transaction of kind `rows` is a SAVEPOINT that nothing returned to.
    else if (kind !== "rows") collector.other(event, read);
    return collector.heldBytes >= options.batchBytesMax && collector.held > 1;
  };

  for await (const batch of raw) {
    for (const event of batch) {
      const type = eventType(event);
      if (type === EVENT_TYPE.TRANSACTION_PAYLOAD) {
        take(event, format);
        for (const inner of streamPayloadEvents(decodeTransactionPayload(event, format), EVENT_BYTES_MAX)) {
          if (take(inner, plain)) yield collector.take();
        }
      } else if (isCompressed(type)) {
        if (take(uncompressEvent(event, format, EVENT_BYTES_MAX), plain)) yield collector.take();
      } else if (take(event, format)) {
        yield collector.take();
      }
    }
  }
  if (state !== "outside") {
    throw new ReplicationError("RELAY_LOG", "the relay log no longer holds a whole transaction", {
      where: { file: start.file, position: start.position },
    });
  }
  const rest = collector.take();
  if (rest.length > 0) yield rest;
}
