import { setTimeout as sleep } from "node:timers/promises";
import { forgetChannel } from "../apply/checkpoint.ts";
import { assert } from "../base/assert.ts";
import { type Clock, systemClock } from "../base/clock.ts";
import { ReplicationError } from "../base/error.ts";
import { describeAddress, type ServerAddress } from "../base/server-url.ts";
import { openSnapshot } from "../source/snapshot.ts";
import { Session } from "../wire/session.ts";
import {
  beginCopyState,
  COPY_STATE_DDL,
  type CopiedTable,
  type CopyState,
  copyStateUpdate,
  readCopyState,
} from "./copy-state.ts";
import { createSchemasAndSequences, createTables, dropCopied, expectEmptyTarget } from "./definitions.ts";
import { type Inventory, readInventory, sameDefinitions, type SourceTable } from "./inventory.ts";
import { type CopyPosition, oldest } from "./position.ts";
import { CopyMeter } from "./progress-meter.ts";
import type { CopyProgress, CopyResult } from "./report.ts";
import { RowStream } from "./row-stream.ts";
import { createStoredObjects } from "./stored-objects.ts";
import { readBatches } from "./table-reader.ts";
import { TableWriter } from "./table-writer.ts";
import { ControlSession } from "./target-session.ts";
import { readDefinitionServer } from "./translate.ts";

export interface CopyOptions {
  source: ServerAddress;
  target: ServerAddress;
  channel: string;
  /** Tables copied beside each other, each with a session on either side. */
  threads?: number;
  /** Text of one INSERT. */
  batchBytes?: number;
  /** Throw away what a former, cut copy of this channel brought, and begin anew. */
  restart?: boolean;
  onProgress?: (progress: CopyProgress) => void;
  signal?: AbortSignal;
  clock?: Clock;
}

const THREADS = 4;
/** Larger gains nothing measurable and costs memory: a few are in flight per thread. */
const BATCH_BYTES = 1024 * 1024;
/** How often the source may be defined anew while its snapshot opens, or a snapshot may be lost, before we give up. */
const SNAPSHOT_ATTEMPTS_MAX = 5;
const SNAPSHOT_BACK_OFF_MS = 2000;

/**
 * Copies all of a source's user schemas from a consistent snapshot into an empty target: schemas, tables with rows, sequences, routines, views, triggers, events.
 * Users and grants are not copied. May be cut off at any instant: called again, it keeps finished tables with the position of their snapshot, and copies the
 * others from a new one; the result then says which tables are ahead of the rest.
 * @throws ReplicationError NOT_EMPTY, SCHEMA_CHANGED, FENCED, UNSUPPORTED (a definition that the target refuses), ACCESS_DENIED, CONNECT, CONNECTION_LOST,
 *   BINLOG_OFF, STOPPED (the signal)
 */
export async function copyInitial(options: CopyOptions): Promise<CopyResult> {
  const signal = options.signal ?? new AbortController().signal;
  const control = new ControlSession(options.target, options.channel, signal);
  try {
    const session = await control.get();
    for (const statement of COPY_STATE_DDL) await session.execute(statement);
    return await new InitialCopy(options, control, signal).run();
  } catch (error) {
    if (signal.aborted) throw new ReplicationError("STOPPED", "the initial copy was stopped", { cause: error });
    throw error;
  } finally {
    await control.close();
  }
}

class InitialCopy {
  readonly #options: CopyOptions;
  readonly #control: ControlSession;
  readonly #signal: AbortSignal;
  readonly #meter: CopyMeter;

  constructor(options: CopyOptions, control: ControlSession, signal: AbortSignal) {
    this.#options = options;
    this.#control = control;
    this.#signal = signal;
    this.#meter = new CopyMeter(options.clock ?? systemClock, options.onProgress ?? (() => {}));
  }

  async run(): Promise<CopyResult> {
    const { channel } = this.#options;
    const session = await this.#control.get();
    let state = await readCopyState(session, channel);
    if (state !== undefined && this.#options.restart === true) {
      await dropCopied(session, channel, state);
      state = undefined;
    }
    if (state?.summary.state === "done") return resultOf(state, [], true);
    if (state === undefined) await expectEmptyTarget(session);
    if (this.#options.restart === true) await forgetChannel(session, channel);
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#fromOneSnapshot();
      } catch (error) {
        const isLost = error instanceof ReplicationError && error.code === "CONNECTION_LOST";
        if (!isLost || attempt >= SNAPSHOT_ATTEMPTS_MAX) throw error;
        await sleep(SNAPSHOT_BACK_OFF_MS * attempt, undefined, { signal: this.#signal });
      }
    }
  }

  /** Copies what is left. The source's sessions live as long as this does: with them goes the snapshot. */
  async #fromOneSnapshot(): Promise<CopyResult> {
    this.#meter.definitions();
    const { inventory, sessions, position, server } = await this.#open();
    const streams: RowStream[] = [];
    try {
      const state = await this.#plan(inventory, server.uuid);
      const session = await this.#control.get();
      const target = await readDefinitionServer(session);
      const warnings = [...inventory.warnings];
      const done = new Set(state.tables.filter(isDone).map(({ schema, table }) => `${schema}\0${table}`));
      const left = inventory.tables.filter(({ schema, name }) => !done.has(`${schema}\0${name}`));
      warnings.push(...(await createSchemasAndSequences(session, inventory, server.definitions, target)));
      const creates = createTables(left, server.definitions, target, warnings);
      this.#meter.begin(inventory.tables, left);
      for (const reader of sessions) streams.push(new RowStream(reader));
      await this.#copyTables(left, creates, streams, position);
      this.#meter.enter("objects");
      const acrossFlavours = server.definitions.flavour !== target.flavour;
      const objects = await createStoredObjects(await this.#control.get(), inventory.objects, acrossFlavours);
      warnings.push(...objects.warnings);
      return await this.#finish(position, warnings);
    } finally {
      for (const session of sessions) if (!session.closed) session.destroy();
      for (const stream of streams) stream.destroy();
    }
  }

  async #finish(position: CopyPosition, warnings: string[]): Promise<CopyResult> {
    const { channel } = this.#options;
    const session = await this.#control.get();
    const state = await readCopyState(session, channel);
    assert(state !== undefined && state.tables.every(isDone), "every table is done");
    const start = oldest(state.tables.flatMap((table) => table.position ?? [])) ?? position;
    const rows = state.tables.reduce((sum, table) => sum + table.rows, 0);
    await session.execute(copyStateUpdate({ channel, schema: "", table: "" }, "done", start, rows));
    this.#meter.enter("done");
    return resultOf({ ...state, summary: { ...state.summary, position: start, rows } }, warnings, false);
  }

  /** A snapshot of the source with the definitions of that very moment: they were the same before and after it opened. */
  async #open() {
    const { source, threads } = this.#options;
    const reader = await Session.connect(source);
    try {
      await reader.execute("SET NAMES binary;SET SESSION sql_mode='', time_zone='+00:00'");
      let before = await readInventory(reader);
      for (let attempt = 1; ; attempt++) {
        this.#signal.throwIfAborted();
        const { sessions, position } = await openSnapshot(source, { sessions: threads ?? THREADS, setUp: setUpReader });
        const after = await readInventory(reader);
        if (position !== undefined && sameDefinitions(before, after)) {
          const uuid = await serverIdentity(reader);
          return {
            inventory: after,
            sessions,
            position,
            server: { uuid, definitions: await readDefinitionServer(reader) },
          };
        }
        for (const session of sessions) session.destroy();
        if (position === undefined) throw binlogOff(source);
        if (attempt >= SNAPSHOT_ATTEMPTS_MAX) {
          throw new ReplicationError(
            "SCHEMA_CHANGED",
            "the source's definitions change all the time: no snapshot of them can be had",
            {
              where: { server: describeAddress(source) },
              hint: "start the copy when no DDL runs on the source",
            },
          );
        }
        before = after;
      }
    } finally {
      await reader.close();
    }
  }

  /** Writes down what is to be copied, or checks that it still is what was written down. */
  async #plan(inventory: Inventory, server: string): Promise<CopyState> {
    const { channel } = this.#options;
    const session = await this.#control.get();
    const state = await readCopyState(session, channel);
    if (state === undefined) {
      await beginCopyState(session, channel, server, inventory);
      const begun = await readCopyState(session, channel);
      assert(begun !== undefined, "the copy's state was just written");
      return begun;
    }
    const changed = changedSince(state, inventory, server);
    if (changed === undefined) return state;
    throw new ReplicationError("SCHEMA_CHANGED", `${changed}, so what was copied before cannot be completed`, {
      where: { server: describeAddress(this.#options.source) },
      hint: "start over with --init=restart, which drops what the unfinished copy brought",
    });
  }

  async #copyTables(
    tables: readonly SourceTable[],
    creates: ReadonlyMap<SourceTable, string>,
    streams: readonly RowStream[],
    position: CopyPosition,
  ): Promise<void> {
    // The largest first, so that no big one is left alone at the end.
    const queue = tables.toSorted((a, b) => b.bytesEstimate - a.bytesEstimate);
    const session = await this.#control.get();
    const packetBytes = Number(await session.queryValue("SELECT @@max_allowed_packet"));
    const limits = {
      batchBytes: Math.min(this.#options.batchBytes ?? BATCH_BYTES, (packetBytes >> 1) - STATEMENT_HEADER_BYTES),
      statementBytesMax: packetBytes - STATEMENT_HEADER_BYTES,
      targetIsMysql: session.serverVersion.flavour === "mysql",
    };
    // When one fails the others stop too.
    const stop = new AbortController();
    const signal = AbortSignal.any([stop.signal, this.#signal]);
    const writers = streams.map(
      (_, number) => new TableWriter(this.#options.target, this.#options.channel, number, signal),
    );
    // A reader may be waiting for rows that a silent source never sends, a writer for an answer.
    const letGo = (): void => [...streams, ...writers].forEach((connected) => connected.destroy());
    signal.addEventListener("abort", letGo, { once: true });
    const copyOne = async (writer: TableWriter, stream: RowStream, table: SourceTable): Promise<void> => {
      await writer.begin(table, creates.get(table) as string, position);
      let rows = 0;
      for await (const batch of readBatches(stream, table, limits)) {
        await writer.write(table, position, batch, rows);
        rows += batch.rows;
        this.#meter.wrote(table, batch.rows, batch.statement.length);
      }
      await writer.finish(table, position, rows);
      this.#meter.tableDone(table, rows);
    };
    // The one that made the others stop, not what they said then.
    let cause: unknown;
    await Promise.all(
      streams.map(async (stream, number) => {
        const writer = writers[number] as TableWriter;
        try {
          for (let table = queue.shift(); table !== undefined; table = queue.shift()) {
            await copyOne(writer, stream, table);
          }
          await writer.close();
        } catch (error) {
          cause ??= error;
          stop.abort();
        }
      }),
    );
    if (cause !== undefined) throw withTableAdvice(cause);
  }
}

const isDone = (table: CopiedTable): boolean => table.state === "done";

/** The UPDATE that goes before each INSERT: names of 64 characters, a GTID set. */
const STATEMENT_HEADER_BYTES = 64 * 1024;

async function setUpReader(session: Session): Promise<void> {
  await session.execute("SET NAMES binary");
  await session.execute(
    "SET SESSION sql_mode='', time_zone='+00:00', wait_timeout=31536000, net_write_timeout=31536000",
  );
  const unlimited = session.serverVersion.flavour === "mariadb" ? "max_statement_time=0" : "max_execution_time=0";
  // MySQL has it since 5.7.
  await session.execute(`SET SESSION ${unlimited}`).catch(() => {});
}

/** Positions of one server say nothing on another. */
async function serverIdentity(session: Session): Promise<string> {
  const variable = session.serverVersion.flavour === "mysql" ? "server_uuid" : "server_id";
  return String(await session.queryValue(`SELECT @@global.${variable}`));
}

function changedSince(state: CopyState, inventory: Inventory, server: string): string | undefined {
  if (state.server !== server) return `the copy was begun from another server (${state.server})`;
  const now = new Map(inventory.tables.map((table) => [`${table.schema}.${table.name}`, table.hash]));
  for (const { schema, table, definition } of state.tables) {
    const hash = now.get(`${schema}.${table}`);
    if (hash === undefined) return `table ${schema}.${table} is gone from the source`;
    if (hash !== definition) return `table ${schema}.${table} was altered on the source`;
    now.delete(`${schema}.${table}`);
  }
  for (const name of now.keys()) return `table ${name} is new on the source`;
  if (state.summary.definition !== inventory.hash)
    return "schemas, views, routines, triggers or events changed on the source";
  return undefined;
}

function binlogOff(source: ServerAddress): ReplicationError {
  return new ReplicationError("BINLOG_OFF", "the source does not tell its binlog position", {
    where: { server: describeAddress(source) },
    hint: "switch its binlog on (log_bin), and grant REPLICATION CLIENT (MariaDB: BINLOG MONITOR) to the user",
  });
}

function resultOf(state: CopyState, warnings: string[], wasDone: boolean): CopyResult {
  const position = state.summary.position;
  assert(position !== undefined, "a finished copy has a position");
  return {
    position,
    tableFrom: state.tables.flatMap((table) => {
      const own = table.position;
      if (own === undefined || (own.file === position.file && own.position === position.position)) return [];
      return [{ schema: table.schema, table: table.table, position: own }];
    }),
    tables: state.tables.length,
    rows: state.tables.reduce((sum, table) => sum + table.rows, 0),
    warnings,
    wasDone,
  };
}

/** ER_TABLE_DEF_CHANGED, ER_BAD_FIELD_ERROR, ER_NO_SUCH_TABLE: DDL came between the snapshot and the reading of a table. */
const DEFINITION_CHANGED = new Set([1412, 1054, 1146]);

function withTableAdvice(cause: unknown): unknown {
  if (!(cause instanceof ReplicationError) || !("sqlCode" in cause)) return cause;
  if (!DEFINITION_CHANGED.has(cause.sqlCode as number)) return cause;
  return new ReplicationError(
    "SCHEMA_CHANGED",
    `a table was defined anew on the source while it was copied: ${cause.message}`,
    {
      where: cause.where,
      hint: "start over with --init=restart when no DDL runs on the source",
      cause,
    },
  );
}
