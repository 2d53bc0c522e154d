import { ReplicationError } from "../base/error.ts";
import { describeAddress, type ServerAddress } from "../base/server-url.ts";
import { openSnapshot, type Snapshot, type SnapshotOptions } from "../source/snapshot.ts";
import type { Session } from "../wire/session.ts";
import { SqlError } from "../wire/sql-error.ts";
import type { VerifyPosition } from "./report.ts";

/** Sessions on both sides that see one point of the source's history, until closed. As many on the source as on the target. */
export interface ConsistentPoint {
  sourceSessions: Session[];
  targetSessions: Session[];
  position: VerifyPosition | undefined;
  warnings: string[];
}

/**
 * A running engine, as far as a comparison under load needs it. In this order: `hold` stops applying wherever it is (without it, the engine might be past the
 * position before it hears of it); `pauseAt` goes on and resolves once the target holds exactly what the source had at `position`; `resume` lets go, also after
 * a failure. The engine should let go by itself when it hears nothing for long.
 */
export interface ApplyGate {
  hold(): Promise<void>;
  pauseAt(position: VerifyPosition): Promise<void>;
  resume(): Promise<void>;
}

export interface PointOptions {
  source: ServerAddress;
  target: ServerAddress;
  sessionsPerSide: number;
  /** Without it, source and target are taken as they stand. */
  gate?: ApplyGate | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Opens a snapshot of the source, then one of the target at the same point: with a gate the engine waits at that position for as long as the second one takes to
 * open; without one, nothing holds the target, and a checkpoint that says otherwise is a warning.
 * @throws ReplicationError as openSnapshot, and what the gate throws
 */
export async function openConsistentPoint(options: PointOptions): Promise<ConsistentPoint> {
  const { gate } = options;
  if (gate === undefined) return openUngated(options);
  try {
    await gate.hold();
    const source = await openSnapshot(options.source, snapshotOptions(options, "exact"));
    try {
      if (source.position === undefined) {
        throw new ReplicationError("BINLOG_OFF", "the source does not tell its binlog position", {
          where: { server: describeAddress(options.source) },
          hint: "grant REPLICATION CLIENT (MariaDB: BINLOG MONITOR) to the user",
        });
      }
      await gate.pauseAt(source.position);
      const target = await openSnapshot(options.target, snapshotOptions(options, "none"));
      return pointOf(source, target, []);
    } catch (error) {
      for (const session of source.sessions) session.destroy();
      throw error;
    }
  } finally {
    await gate.resume();
  }
}

async function openUngated(options: PointOptions): Promise<ConsistentPoint> {
  const source = await openSnapshot(options.source, snapshotOptions(options, "about"));
  try {
    const target = await openSnapshot(options.target, snapshotOptions(options, "none"));
    return pointOf(source, target, await doubts(source, target));
  } catch (error) {
    for (const session of source.sessions) session.destroy();
    throw error;
  }
}

function snapshotOptions(options: PointOptions, position: "exact" | "about" | "none"): SnapshotOptions {
  return { sessions: options.sessionsPerSide, setUp, position, signal: options.signal };
}

function pointOf(source: Snapshot, target: Snapshot, warnings: string[]): ConsistentPoint {
  return { sourceSessions: source.sessions, targetSessions: target.sessions, position: source.position, warnings };
}

export async function closeConsistentPoint(point: ConsistentPoint): Promise<void> {
  await Promise.all([...point.sourceSessions, ...point.targetSessions].map((session) => session.close()));
}

/** So that texts are the stored bytes, times are UTC, and old dates and long statements pass. */
async function setUp(session: Session): Promise<void> {
  await session.execute("SET NAMES binary");
  await session.execute("SET SESSION sql_mode='', time_zone='+00:00', wait_timeout=86400, net_write_timeout=3600");
  const unlimited = session.serverVersion.flavour === "mariadb" ? "max_statement_time=0" : "max_execution_time=0";
  // MySQL has it since 5.7.
  await session.execute(`SET SESSION ${unlimited}`).catch(() => {});
}

async function doubts(source: Snapshot, target: Snapshot): Promise<string[]> {
  const warnings: string[] = [];
  if (!source.exact) {
    warnings.push("the source could not be locked for a moment (RELOAD is missing): its position is not exact");
  }
  const session = target.sessions[0] as Session;
  let rows: Record<string, string | null>[] = [];
  try {
    rows = await session.query(
      "SELECT channel, source_file AS f, source_position AS p, gtids FROM abreast.checkpoint AS c WHERE transactions=" +
        "(SELECT MAX(transactions) FROM abreast.checkpoint AS m WHERE m.channel=c.channel) GROUP BY channel, source_file, source_position, gtids",
    );
  } catch (error) {
    // No checkpoint: not a target of ours, or not for these eyes.
    if (!(error instanceof SqlError)) throw error;
  }
  const { position } = source;
  if (rows.length === 0 || position === undefined) return warnings;
  const isThere = rows.some((row) => row["f"] === position.file && Number(row["p"]) === position.position);
  const isThereByGtid = position.gtids !== "" && rows.some((row) => row["gtids"] === position.gtids);
  if (!isThere && !isThereByGtid) {
    const where = rows.map((row) => `${row["f"]}:${row["p"]} (channel ${row["channel"]})`).join(", ");
    warnings.push(
      `the target stands at ${where}, the source at ${position.file}:${position.position}: they may differ for that`,
    );
  }
  return warnings;
}
