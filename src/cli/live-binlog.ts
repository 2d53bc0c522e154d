import { randomInt, randomUUID } from "node:crypto";
import { systemClock } from "../base/clock.ts";
import { ReplicationError } from "../base/error.ts";
import { silentLog } from "../base/log.ts";
import { describeAddress, type ServerAddress } from "../base/server-url.ts";
import { eventType } from "../binlog/event.ts";
import { EVENT_TYPE } from "../binlog/event-type.ts";
import { decodeFormatDescription } from "../binlog/events/format-description.ts";
import type { BinlogInput } from "../inspect/input/input.ts";
import type { Bound } from "../inspect/input/range.ts";
import { BINLOG_MAGIC, decodeAnyRotate, encodeRotate, isArtificialRotate } from "../relay/prologue.ts";
import { connectSource, requestStream, type StreamStart } from "../source/connect.ts";
import { SourceStream } from "../source/stream.ts";
import { readTables, type Table } from "../schema/catalog.ts";
import { quoteText } from "../schema/names.ts";
import type { SourcePosition } from "../transaction/transaction.ts";
import type { Connection } from "../wire/connection.ts";
import { Session } from "../wire/session.ts";

export interface LiveBinlogOptions {
  source: ServerAddress;
  /** Where reading begins: at this position; else, also for a time or a GTID, at the oldest file, and what is before it is left out by whoever reads. */
  from: Bound | undefined;
  /** Goes on when the log's end is reached, until `signal`. */
  follow: boolean;
  signal: AbortSignal;
}

export interface LiveBinlog extends BinlogInput {
  /** Why the source sends no more, when neither its log's end nor `signal` was the reason. Readers take it for a fault of the file and go on. */
  failure: ReplicationError | undefined;
  /** A table as the source has it now; undefined: it has none, or the account may not see it. */
  tableNow: (schema: string, name: string) => Promise<Table | undefined>;
}

const HEARTBEAT_MS = 5_000;
/** What the source sends before anybody takes it. */
const WAITING_BYTES_MAX = 8 << 20;
/** Replicas that people set up have small numbers. */
const SERVER_ID_MIN = 0x4000_0000;
const SERVER_ID_MAX = 0x7fff_ffff;

/**
 * A live server's binlog as if it were a file: its events in order over all of its files, each file's begin told by a Rotate event. It takes REPLICATION SLAVE and nothing else, and the
 * server sees a replica of a random id.
 */
export function liveBinlog(options: LiveBinlogOptions): LiveBinlog {
  const { from } = options;
  if (from?.kind === "position" && from.file === undefined) {
    throw new ReplicationError("CONFIG", `position ${from.position} of a server does not say in which file`, {
      hint: `write it like binlog.000003:${from.position}`,
    });
  }
  const live: LiveBinlog = {
    name: from?.kind === "position" ? (from.file ?? "") : describeAddress(options.source),
    bytes: undefined,
    failure: undefined,
    chunks: () => chunks(options, live),
    tableNow: (schema, name) => tableNow(options.source, schema, name),
  };
  return live;
}

async function tableNow(source: ServerAddress, schema: string, name: string): Promise<Table | undefined> {
  const session = await Session.connect(source, { programName: "abreast inspect" });
  try {
    const condition = `TABLE_SCHEMA = ${quoteText(schema)} AND TABLE_NAME = ${quoteText(name)}`;
    // The server may compare names without regard to case.
    return (await readTables(session, condition)).find((table) => table.schema === schema && table.name === name);
  } finally {
    await session.close();
  }
}

async function* chunks(options: LiveBinlogOptions, live: LiveBinlog): AsyncGenerator<Buffer> {
  try {
    yield* streamed(options);
  } catch (error) {
    if (error instanceof ReplicationError) live.failure = error;
    throw error;
  }
}

async function* streamed(options: LiveBinlogOptions): AsyncGenerator<Buffer> {
  const { source, from, follow, signal } = options;
  const serverId = randomInt(SERVER_ID_MIN, SERVER_ID_MAX);
  const start: StreamStart =
    from?.kind === "position"
      ? { kind: "file", file: from.file ?? "", position: Math.max(from.position, BINLOG_MAGIC.length) }
      : { kind: "file", file: "", position: BINLOG_MAGIC.length };
  const { session, facts } = await connectSource(source, serverId, silentLog);
  let connection: Connection;
  try {
    connection = await requestStream(session, facts, start, {
      serverId,
      uuid: randomUUID(),
      reportHost: "abreast-inspect",
      reportPort: 0,
      heartbeatMs: HEARTBEAT_MS,
      semiSync: false,
      stopsAtEnd: !follow,
    });
  } catch (error) {
    session.destroy();
    throw error;
  }
  const waiting = new WaitingEvents(connection);
  const stream = new SourceStream(connection, {
    start,
    serverId,
    heartbeatMs: HEARTBEAT_MS,
    verifyChecksums: true,
    clock: systemClock,
    sink: { keep: (event) => waiting.add(event), heartbeat: () => {} },
    onWaiting: (acknowledge) => acknowledge(),
    paused: () => waiting.isPaused,
  });
  const stop = (): void => stream.end(new ReplicationError("STOPPED", "reading was ended"));
  signal.addEventListener("abort", stop);
  if (signal.aborted) stop();
  const ended = stream.ended.then((error) => {
    waiting.end();
    return error;
  });
  try {
    for (let chunk = await waiting.take(); chunk !== undefined; chunk = await waiting.take()) yield chunk;
    const error = await ended;
    if (!signal.aborted && (follow || !stream.endedBySource)) throw error;
  } finally {
    signal.removeEventListener("abort", stop);
    stop();
    await ended;
  }
}

/** Events between the socket and whoever reads them; the socket waits when there are many. */
class WaitingEvents {
  readonly #connection: Connection;
  #parts: Buffer[] = [BINLOG_MAGIC];
  #bytes = 0;
  #wake: (() => void) | undefined;
  #ended = false;
  /** Of the Rotate that announced a file: its description comes first in a file. */
  #entered: SourcePosition | undefined;
  isPaused = false;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  add(event: Buffer): void {
    if (isArtificialRotate(event)) {
      this.#entered = decodeAnyRotate(event);
      return;
    }
    // The packet's memory is used again.
    const own = Buffer.from(event);
    this.#put(own);
    if (this.#entered !== undefined && eventType(own) === EVENT_TYPE.FORMAT_DESCRIPTION) {
      this.#put(encodeRotate(this.#entered, own, decodeFormatDescription(own).format));
      this.#entered = undefined;
    }
    if (this.#bytes > WAITING_BYTES_MAX && !this.isPaused) {
      this.isPaused = true;
      this.#connection.pause();
    }
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  /** What has come since; waits for something; undefined when nothing comes any more. */
  async take(): Promise<Buffer | undefined> {
    if (this.#bytes === 0 && !this.#ended) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#wake = undefined;
    if (this.#bytes === 0) return undefined;
    const chunk = Buffer.concat(this.#parts);
    this.#parts = [];
    this.#bytes = 0;
    if (this.isPaused) {
      this.isPaused = false;
      this.#connection.resume();
    }
    return chunk;
  }

  #put(event: Buffer): void {
    this.#parts.push(event);
    this.#bytes += event.length;
  }
}
