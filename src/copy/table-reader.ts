import { describeTable } from "../schema/names.ts";
import { InsertText, insertPlan, checkStatementSize } from "./insert-text.ts";
import type { SourceTable } from "./inventory.ts";
import type { RowStream } from "./row-stream.ts";
import type { Batch } from "./table-writer.ts";

export interface BatchLimits {
  /** A batch is closed when its text is this long. */
  batchBytes: number;
  /** The longest statement that the target takes. */
  statementBytesMax: number;
  targetIsMysql: boolean;
}

/** Batches that wait before the source is told to stop sending. */
const WAITING_BATCHES_MAX = 2;

/**
 * Reads a table's rows in key order as batches. While a batch is being written the next ones are read; the source is held when enough are waiting, so memory stays
 * bounded by a few batches whatever the table's size.
 */
export async function* readBatches(stream: RowStream, table: SourceTable, limits: BatchLimits): AsyncGenerator<Batch> {
  const plan = insertPlan(table, limits.targetIsMysql);
  const text = new InsertText(plan, limits.batchBytes + 64 * 1024);
  const waiting: Batch[] = [];
  let wake: () => void = () => {};
  let isOver = false;
  let failure: unknown;
  const close = (): void => {
    if (text.rows === 0) return;
    const { rows } = text;
    const statement = text.take();
    try {
      checkStatementSize(statement.length, limits.statementBytesMax, describeTable(table));
      waiting.push({ statement, rows });
    } catch (error) {
      failure ??= error;
    }
    if (waiting.length >= WAITING_BATCHES_MAX) stream.pause();
    wake();
  };
  const reading = stream.query(plan.select, (packet) => {
    // A row that would make the statement too long begins the next one.
    if (text.rows > 0 && text.bytes + packet.length > limits.batchBytes) close();
    text.addRow(packet);
    if (text.bytes >= limits.batchBytes) close();
  });
  const ended = reading
    .then(close, (error: unknown) => {
      failure ??= error;
    })
    .finally(() => {
      isOver = true;
      wake();
    });
  for (;;) {
    if (failure !== undefined) throw failure;
    const batch = waiting.shift();
    if (batch !== undefined) {
      if (waiting.length < WAITING_BATCHES_MAX) stream.resume();
      yield batch;
      continue;
    }
    if (isOver) break;
    await new Promise<void>((resolve) => {
      wake = resolve;
      if (waiting.length > 0 || isOver || failure !== undefined) resolve();
    });
  }
  await ended;
}
