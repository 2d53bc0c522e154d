import { type Clock, systemClock } from "../base/clock.ts";
import { ReplicationError } from "../base/error.ts";
import type { ServerAddress } from "../base/server-url.ts";
import { readTables, type Table } from "../schema/catalog.ts";
import { describeTable } from "../schema/names.ts";
import type { Session } from "../wire/session.ts";
import { compareTable } from "./compare-table.ts";
import { type ApplyGate, closeConsistentPoint, type ConsistentPoint, openConsistentPoint } from "./consistent-point.ts";
import { tableFilter, type TableFilter } from "./filter.ts";
import { ProgressMeter } from "./progress-meter.ts";
import type { TableReport, VerifyProgress, VerifyReport } from "./report.ts";
import { CONCATENATION_BYTES_MAX } from "./row-hash.ts";

export interface VerifyOptions extends TableFilter {
  source: ServerAddress;
  target: ServerAddress;
  /** Rows of the first chunks; they grow or shrink towards one second each. */
  chunkRows?: number;
  /** Differing rows to name, per table. */
  rowsShownMax?: number;
  /** Tables compared beside each other, each with a session on either side. */
  sessionsPerSide?: number;
  /** A running engine, for an exact comparison under load. */
  gate?: ApplyGate | undefined;
  onProgress?: (progress: VerifyProgress) => void;
  signal?: AbortSignal | undefined;
  clock?: Clock;
}

const CHUNK_ROWS = 5000;
const ROWS_SHOWN_MAX = 20;
const SESSIONS_PER_SIDE = 2;

/**
 * Compares every table of the user's schemas, row by row through checksums that the servers compute. Views, routines and the like have no rows and are not compared.
 * When the signal is aborted it ends at once, whatever a server or the engine keeps it waiting for.
 * @throws ReplicationError CONNECT, CONNECTION_LOST, ACCESS_DENIED, CONFIG, STOPPED, and what the gate throws
 */
export async function verifyTables(options: VerifyOptions): Promise<VerifyReport> {
  const { signal } = options;
  if (signal === undefined) return compareServers(options);
  const ended = new AbortController();
  const stopped = new Promise<never>((_, reject) => {
    const stop = (): void => reject(new ReplicationError("STOPPED", "verify was stopped"));
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true, signal: ended.signal });
  });
  try {
    return await Promise.race([stopped, compareServers(options)]);
  } finally {
    ended.abort();
  }
}

async function compareServers(options: VerifyOptions): Promise<VerifyReport> {
  const clock = options.clock ?? systemClock;
  const startedMs = clock.nowMs();
  const point = await openConsistentPoint({
    source: options.source,
    target: options.target,
    sessionsPerSide: options.sessionsPerSide ?? SESSIONS_PER_SIDE,
    gate: options.gate,
    signal: options.signal,
  });
  const destroyAll = (): void => {
    for (const session of [...point.sourceSessions, ...point.targetSessions]) session.destroy();
  };
  options.signal?.addEventListener("abort", destroyAll, { once: true });
  try {
    const tables = await compareAll(point, options, clock);
    return {
      identical: tables.every((table) => table.identical),
      tables,
      position: point.position,
      warnings: point.warnings,
      durationMs: clock.nowMs() - startedMs,
    };
  } catch (error) {
    destroyAll();
    throw error;
  } finally {
    options.signal?.removeEventListener("abort", destroyAll);
  }
}

/** A table's two sides; one of them may be missing. */
interface Pair {
  source: Table | undefined;
  target: Table | undefined;
}

async function compareAll(point: ConsistentPoint, options: VerifyOptions, clock: Clock): Promise<TableReport[]> {
  const [sourceSession, targetSession] = [point.sourceSessions[0] as Session, point.targetSessions[0] as Session];
  await Promise.all([sourceSession, targetSession].map(checkPacketSize));
  const [sourceTables, targetTables, foldsCase] = await Promise.all([
    readTables(sourceSession),
    readTables(targetSession),
    anyFoldsCase(sourceSession, targetSession),
  ]);
  const takesPart = tableFilter(options);
  const pairs = pairUp(sourceTables.filter(takesPart), targetTables.filter(takesPart), foldsCase);
  const meter = new ProgressMeter(clock, pairs, options.onProgress ?? (() => {}));
  const compareOptions = {
    chunkRows: options.chunkRows ?? CHUNK_ROWS,
    rowsShownMax: options.rowsShownMax ?? ROWS_SHOWN_MAX,
    nowMs: () => clock.nowMs(),
    signal: options.signal,
  };
  const reports = new Map<Pair, TableReport>();
  // The largest first, so that no big one is left alone at the end.
  const queue = pairs.toSorted((a, b) => (b.source?.bytesEstimate ?? 0) - (a.source?.bytesEstimate ?? 0));
  await Promise.all(
    point.sourceSessions.map(async (source, index) => {
      const target = point.targetSessions[index] as Session;
      for (let pair = queue.shift(); pair !== undefined; pair = queue.shift()) {
        const name = describeTable((pair.source ?? pair.target) as Table);
        const report = await compareTable(source, target, pair, {
          ...compareOptions,
          onRows: (rows) => meter.rows(name, rows),
        });
        reports.set(pair, report);
        meter.done(pair, report.identical);
      }
    }),
  );
  await closeConsistentPoint(point);
  return pairs.map((pair) => reports.get(pair) as TableReport);
}

async function checkPacketSize(session: Session): Promise<void> {
  const bytes = Number(await session.queryValue("SELECT @@max_allowed_packet"));
  if (bytes >= CONCATENATION_BYTES_MAX) return;
  throw new ReplicationError("CONFIG", `max_allowed_packet is ${bytes}: rows could not be hashed whole`, {
    where: { server: session.server },
    hint: "SET GLOBAL max_allowed_packet=67108864 on this server, then run verify again",
  });
}

async function anyFoldsCase(...sessions: Session[]): Promise<boolean> {
  const values = await Promise.all(sessions.map((session) => session.queryValue("SELECT @@lower_case_table_names")));
  return values.some((value) => value !== "0");
}

/** By name, in the source's order, tables that only the target has at the end. */
function pairUp(source: readonly Table[], target: readonly Table[], foldsCase: boolean): Pair[] {
  const key = (table: Table): string => (foldsCase ? describeTable(table).toLowerCase() : describeTable(table));
  const left = new Map(target.map((table) => [key(table), table]));
  const pairs: Pair[] = source.map((table) => {
    const other = left.get(key(table));
    left.delete(key(table));
    return { source: table, target: other };
  });
  return [...pairs, ...[...left.values()].map((table) => ({ source: undefined, target: table }))];
}
