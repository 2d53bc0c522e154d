import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RowDataPacket } from "mysql2/promise";
import { systemClock } from "../../src/base/clock.ts";
import type { ReplicationError } from "../../src/base/error.ts";
import type { Log } from "../../src/base/log.ts";
import type { ServerAddress } from "../../src/base/server-url.ts";
import { eventFlags, EVENT_FLAG, eventType } from "../../src/binlog/event.ts";
import { EVENT_TYPE } from "../../src/binlog/event-type.ts";
import { decodeFormatDescription } from "../../src/binlog/events/format-description.ts";
import type { BinlogFormat } from "../../src/binlog/format.ts";
import { eventFact, step, type StreamState } from "../../src/binlog/grammar.ts";
import { isCompressed, uncompressEvent } from "../../src/binlog/uncompress.ts";
import { RelayLog, type RelayLogOptions } from "../../src/relay/relay-log.ts";
import type { SandboxServer } from "../../src/sandbox/start.ts";
import { Receiver, type ReceiverOptions } from "../../src/source/receiver.ts";
import { parseStartPoint } from "../../src/source/start-point.ts";
import { query } from "./servers.ts";

const TEST_UUID = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee";
const TEST_SERVER_ID = 4_000_001;

/** A receiver that runs, with a relay log in a temporary folder. */
export interface Receiving {
  receiver: Receiver;
  relay: RelayLog;
  folder: string;
  warnings: string[];
  /** Resolves or rejects as `Receiver.run` does. */
  done: Promise<void>;
  /** Removes the relay log too, unless it is to be gone on with. */
  stop(options?: { keep: boolean }): Promise<void>;
}

export interface ReceivingOptions extends Partial<Omit<ReceiverOptions, "start" | "relay" | "source">> {
  source: ServerAddress;
  start: string;
  relayOptions?: Partial<RelayLogOptions>;
  /** Goes on with the relay log of an earlier one that has stopped. */
  folder?: string;
}

export async function startReceiving(options: ReceivingOptions): Promise<Receiving> {
  const { start, relayOptions, folder: given, ...rest } = options;
  const folder = given ?? (await mkdtemp(join(tmpdir(), "abreast-receiving-")));
  const warnings: string[] = [];
  const log: Log = { info: () => {}, warn: (message) => warnings.push(message) };
  const relay = await RelayLog.open({ folder, log, ...relayOptions });
  const receiver = new Receiver({
    serverId: TEST_SERVER_ID,
    uuid: TEST_UUID,
    heartbeatMs: 10_000,
    reconnectMsMax: 200,
    semiSync: false,
    clock: systemClock,
    random: () => 0,
    log,
    start: parseStartPoint(start),
    relay,
    ...rest,
  });
  const done = receiver.run();
  done.catch(() => {});
  return {
    receiver,
    relay,
    folder,
    warnings,
    done,
    async stop({ keep } = { keep: false }) {
      receiver.stop();
      await done.catch(() => {});
      await relay.close();
      if (!keep) await rm(folder, { recursive: true, force: true });
    },
  };
}

/** As `startReceiving`, stopped afterwards, also after a failure. */
export async function withReceiving<T>(
  options: ReceivingOptions,
  test: (receiving: Receiving) => Promise<T>,
): Promise<T> {
  const receiving = await startReceiving(options);
  try {
    return await test(receiving);
  } finally {
    await receiving.stop();
  }
}

/** What a receiver that cannot go on ends with. One that can fails the test. */
export async function receivingFailure(options: ReceivingOptions): Promise<ReplicationError> {
  return withReceiving(options, async ({ done, receiver }) => {
    const timer = setTimeout(() => receiver.stop(), 15_000);
    try {
      await done;
    } catch (error) {
      return error as ReplicationError;
    } finally {
      clearTimeout(timer);
    }
    throw new Error(`the receiver found no fault: ${JSON.stringify(receiver.status)}`);
  });
}

/** Waits until `condition` holds. A receiver that failed meanwhile fails the test with its error. */
export async function until(
  receiving: Receiving,
  what: string,
  condition: () => boolean,
  timeoutMs = 20_000,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  let failed: unknown;
  receiving.done.then(
    () => (failed = new Error("the receiver stopped")),
    (error: unknown) => (failed = error),
  );
  while (!condition()) {
    if (failed !== undefined) throw failed;
    if (Date.now() > deadline) {
      throw new Error(`${what}: not within ${timeoutMs} ms; ${JSON.stringify(receiving.receiver.status)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Waits until the receiver is at the present end of the source's binlog and all of it is on disk. */
export async function untilCaughtUp(receiving: Receiving, server: SandboxServer): Promise<void> {
  const end = await binlogEnd(server);
  await until(receiving, `reach ${end.file}:${end.position}`, () => {
    const at = receiving.receiver.status.position;
    return at !== undefined && (at.file > end.file || (at.file === end.file && at.position >= end.position));
  });
  await receiving.relay.flush();
}

export async function binlogEnd(server: SandboxServer): Promise<{ file: string; position: number }> {
  const statement = server.flavour === "mysql-9.7" ? "SHOW BINARY LOG STATUS" : "SHOW MASTER STATUS";
  const [row] = await query<RowDataPacket[]>(server, statement);
  return { file: String(row?.["File"]), position: Number(row?.["Position"]) };
}

/** One transaction as the hexadecimal text of its events: equal text, equal bytes. */
export type TransactionBytes = string[];

/** The complete transactions among these events, in order: what an artificial Rotate interrupts is void, what belongs to no transaction is left out. */
export function transactionsOf(events: Iterable<Buffer>): TransactionBytes[] {
  const transactions: TransactionBytes[] = [];
  let open: TransactionBytes = [];
  let state: StreamState = "outside";
  let format: BinlogFormat | undefined;
  for (const event of events) {
    const type = eventType(event);
    if (type === EVENT_TYPE.FORMAT_DESCRIPTION) format = decodeFormatDescription(event).format;
    if (type === EVENT_TYPE.FORMAT_DESCRIPTION || (eventFlags(event) & EVENT_FLAG.ARTIFICIAL) !== 0) {
      open = [];
      state = "outside";
      continue;
    }
    // We do not ask for annotations.
    if (type === EVENT_TYPE.ANNOTATE_ROWS) continue;
    if (format === undefined) throw new Error("events without a format");
    const plain = isCompressed(type) ? uncompressEvent(event, format) : event;
    const plainFormat = plain === event ? format : { ...format, checksum: "none" as const };
    const taken = step(state, eventType(plain), eventFlags(plain), eventFact(plain, plainFormat));
    const isWhole = taken.role === "end" || taken.role === "standalone" || taken.role === "payload";
    state = isWhole ? "outside" : taken.state;
    if (taken.role === "control" || taken.role === "ignored") continue;
    open.push(event.toString("hex"));
    if (isWhole) {
      transactions.push(open);
      open = [];
    }
  }
  return transactions;
}

/** Every event in these binlog files of the server, from their bytes on disk; the first file from `position`. */
export async function sourceEvents(
  server: SandboxServer,
  from?: { file: string; position: number },
): Promise<Buffer[]> {
  const rows = await query<RowDataPacket[]>(server, "SHOW BINARY LOGS");
  const files = rows.map((row) => String(row["Log_name"]));
  const events: Buffer[] = [];
  for (const file of files.filter((name) => from === undefined || name >= from.file)) {
    const bytes = await readFile(join(server.dataFolder, file));
    const start = file === from?.file ? from.position : 4;
    for (let at = 4; at < bytes.length;) {
      const length = bytes.readUInt32LE(at + 9);
      const event = bytes.subarray(at, at + length);
      if (at >= start || eventType(event) === EVENT_TYPE.FORMAT_DESCRIPTION) events.push(event);
      at += length;
    }
  }
  return events;
}

/** Every event in the relay log that is on disk. */
export async function relayEvents(relay: RelayLog): Promise<Buffer[]> {
  await relay.flush();
  const { end } = relay.received;
  const reader = relay.read();
  const events: Buffer[] = [];
  for (;;) {
    const batch = await reader.next();
    if (batch === undefined) break;
    // Views of chunks that live on with them.
    events.push(...batch.events);
    const lastEnd = batch.ends[batch.ends.length - 1] ?? 0;
    if (batch.file > end.file || (batch.file === end.file && lastEnd >= end.offset)) break;
  }
  await reader.close();
  return events;
}
