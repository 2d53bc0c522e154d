import { ReplicationError } from "../base/error.ts";
import type { ServerAddress } from "../base/server-url.ts";
import type { SourcePosition } from "../transaction/transaction.ts";
import { Session } from "../wire/session.ts";
import { SqlError } from "../wire/sql-error.ts";

/** Where in the server's binlog a snapshot stands. `gtids`: the executed GTID set (MySQL), the GTID position (MariaDB); empty without GTIDs. */
export interface SnapshotPosition extends SourcePosition {
  gtids: string;
}

/** Several sessions that all read one committed state of a server, until they are closed. */
export interface Snapshot {
  sessions: Session[];
  /** undefined when the server writes no binlog, or may not be asked. */
  position: SnapshotPosition | undefined;
  /** All changes up to `position` are visible and none after it. False: the server was not locked while the position was read. */
  exact: boolean;
}

export interface SnapshotOptions {
  sessions: number;
  /** Statements for each session before its transaction begins. */
  setUp?: (session: Session) => Promise<void>;
  /**
   * `exact`, the default: the position is that of the snapshot, or this fails. `about`: a user who may not lock gets the position read beside it. `none`: no position
   * and no lock; the sessions see one state if nothing writes while they open.
   */
  position?: "exact" | "about" | "none";
  /** Ends all sessions, and with them the lock. */
  signal?: AbortSignal | undefined;
}

/** For the global read lock, behind statements that run; writes wait behind it meanwhile. */
const LOCK_WAIT_SECONDS = 10;
/** MariaDB: how often all sessions may open at different positions before we lock. */
const UNLOCKED_ATTEMPTS = 5;
const LOCK_WAIT_TIMEOUT = 1205;
/** CR: access denied; you need (at least one of) the RELOAD privilege(s). */
const DENIED = new Set([1227, 1044, 1045]);

/**
 * Opens sessions in `REPEATABLE READ` transactions on one state and tells where in the binlog it stands. MySQL: the global read lock is held for the few
 * milliseconds in which the transactions begin and the position is read, for only it keeps a commit from being in one of the two only. MariaDB tells each
 * snapshot's own position (binlog_snapshot_file and _position), so sessions are opened until all have the same one; only a busy server is locked.
 * @throws ReplicationError CONNECT, CONNECTION_LOST, ACCESS_DENIED (RELOAD is missing), SOURCE (the lock was not to be had), STOPPED
 */
export async function openSnapshot(address: ServerAddress, options: SnapshotOptions): Promise<Snapshot> {
  const opened: Session[] = [];
  const open = async (): Promise<Session> => {
    const session = await Session.connect(address);
    opened.push(session);
    if (options.signal?.aborted === true) throw new ReplicationError("STOPPED", "opening a snapshot was stopped");
    return session;
  };
  const destroyAll = (): void => {
    for (const session of opened) session.destroy();
  };
  options.signal?.addEventListener("abort", destroyAll, { once: true });
  try {
    const control = await open();
    await control.execute("SET SESSION sql_mode='', time_zone='+00:00'");
    const sessions: Session[] = [];
    for (let index = 0; index < options.sessions; index++) {
      const session = await open();
      await session.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
      await options.setUp?.(session);
      sessions.push(session);
    }
    const result = await beginTogether(control, sessions, options);
    await control.close();
    return { sessions, ...result };
  } catch (error) {
    destroyAll();
    throw error;
  } finally {
    options.signal?.removeEventListener("abort", destroyAll);
  }
}

const BEGIN = "START TRANSACTION WITH CONSISTENT SNAPSHOT";

async function beginTogether(
  control: Session,
  sessions: readonly Session[],
  options: SnapshotOptions,
): Promise<Pick<Snapshot, "position" | "exact">> {
  if (options.position === "none") {
    await Promise.all(sessions.map((session) => session.execute(BEGIN)));
    return { position: undefined, exact: false };
  }
  if (control.serverVersion.has("binlog-snapshot-status")) {
    for (let attempt = 0; attempt < UNLOCKED_ATTEMPTS; attempt++) {
      await Promise.all(sessions.map((session) => session.execute(BEGIN)));
      const positions = await Promise.all(sessions.map(mariadbSnapshotPosition));
      const [first] = positions;
      if (positions.every((position) => position?.file === first?.file && position?.position === first?.position)) {
        return { position: first === undefined ? undefined : await withGtids(control, first), exact: true };
      }
    }
  }
  try {
    await lock(control);
  } catch (error) {
    if (options.position !== "about" || !(error instanceof SqlError) || !DENIED.has(error.sqlCode)) throw error;
    await Promise.all(sessions.map((session) => session.execute(BEGIN)));
    return { position: await currentPosition(control), exact: false };
  }
  try {
    await Promise.all(sessions.map((session) => session.execute(BEGIN)));
    const position = await currentPosition(control);
    return { position, exact: true };
  } finally {
    await control.execute("UNLOCK TABLES").catch(() => {});
  }
}

async function lock(control: Session): Promise<void> {
  await control.execute(`SET SESSION lock_wait_timeout=${LOCK_WAIT_SECONDS}`);
  try {
    await control.execute("FLUSH TABLES WITH READ LOCK");
  } catch (error) {
    if (error instanceof SqlError && error.sqlCode === LOCK_WAIT_TIMEOUT) {
      throw new ReplicationError("SOURCE", `the global read lock was not to be had within ${LOCK_WAIT_SECONDS} s`, {
        where: { server: control.server },
        hint: "look with SHOW FULL PROCESSLIST for the statement or transaction that runs long, and try again when it is over",
        cause: error,
      });
    }
    if (error instanceof SqlError && DENIED.has(error.sqlCode)) {
      throw new SqlError("ACCESS_DENIED", error.message, error.sqlCode, error.sqlState, {
        where: error.where,
        hint: "GRANT RELOAD ON *.* to the user: the global read lock is held for a moment, to know the snapshot's binlog position",
        cause: error,
      });
    }
    throw error;
  }
}

async function mariadbSnapshotPosition(session: Session): Promise<SourcePosition | undefined> {
  const rows = await session.query("SHOW STATUS LIKE 'binlog\\_snapshot\\_%'");
  const values = new Map(rows.map((row) => [String(row["Variable_name"]).toLowerCase(), row["Value"] ?? ""]));
  const file = values.get("binlog_snapshot_file") ?? "";
  return file === "" ? undefined : { file, position: Number(values.get("binlog_snapshot_position")) };
}

async function withGtids(session: Session, position: SourcePosition): Promise<SnapshotPosition> {
  const gtids = await session.queryValue(`SELECT BINLOG_GTID_POS('${position.file}',${position.position})`);
  return { ...position, gtids: gtids ?? "" };
}

/** The end of the server's binlog. Needs REPLICATION CLIENT (MariaDB: BINLOG MONITOR); undefined without it, or without a binlog. */
async function currentPosition(session: Session): Promise<SnapshotPosition | undefined> {
  let rows: Record<string, string | null>[];
  try {
    rows = await session.query(session.serverVersion.showBinlogStatus);
  } catch (error) {
    if (error instanceof SqlError && error.code === "ACCESS_DENIED") return undefined;
    throw error;
  }
  const [row] = rows;
  if (row === undefined) return undefined;
  const position = { file: row["File"] ?? "", position: Number(row["Position"]) };
  if (session.serverVersion.flavour === "mariadb") return withGtids(session, position);
  return { ...position, gtids: (row["Executed_Gtid_Set"] ?? "").replaceAll(/\s/g, "") };
}
