import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../base/clock.ts";
import type { Session } from "../wire/session.ts";
import { SqlError } from "../wire/sql-error.ts";

/** One session waits for a row lock or table lock that another one holds, or waits for before it. Both are connection ids; `blocking` may be a stranger's. */
export interface LockWait {
  waiting: number;
  blocking: number;
}

/**
 * InnoDB answers INNODB_TRX and INNODB_LOCK_WAITS from a cache that is refreshed only when nobody has read it for 0.1 s (CACHE_MIN_IDLE_TIME_US,
 * storage/innobase/trx/trx0i_s.cc; MariaDB 10.11 and MySQL 9.7 do so too): who asks every 20 ms sees the same picture for ever. A margin for timers.
 */
const CACHE_IDLE_MS = 120;

/**
 * Says who blocks whom on the target. Metadata locks are not looked at: rows take shared ones, so only a statement with an implicit commit waits for them, and that one
 * runs alone.
 *
 * Invariant: what `read` says is no older than the answer that was under way when it was called. Old waits would break the lock of a session that has
 * long gone on to something else.
 *
 * MySQL 8 and later: `performance_schema.data_lock_waits`, fresh at each read, 0.3 ms. Its BLOCKING_THREAD_ID is not used: it is the thread that made the lock's
 * structure, which for a row that was just inserted is the waiting one (an implicit lock becomes explicit when somebody meets it). The thread of a transaction's
 * first table lock is its own, so each transaction is asked for that once; with LIMIT 1 it takes 0.2 ms beside 130,000 row locks (all of them: 240 ms).
 * Older MySQL, and MariaDB: INNODB_LOCK_WAITS and INNODB_TRX, at most once in 0.12 s; another monitor that reads them more often than that makes both blind.
 */
export class LockWaits {
  readonly #session: Session;
  readonly #inPerformanceSchema: boolean;
  /** Why `read` answers undefined; undefined while it can say. */
  cannotBecause: string | undefined;
  /** Connection of each transaction that was in the last answer, by engine transaction id; undefined: none (recovered XA). */
  #connections = new Map<string, number | undefined>();
  #reading: Promise<LockWait[]> | undefined;
  #readAtMs = -Infinity;

  /** `session`: one that no transaction holds up, the control session. Asks once whether the server can say. @throws ReplicationError CONNECTION_LOST */
  static async open(session: Session): Promise<LockWaits> {
    const { flavour } = session.serverVersion;
    const inPerformanceSchema = flavour === "mysql" && session.serverVersion.atLeast(8, 0, 1);
    const waits = new LockWaits(session, inPerformanceSchema);
    if (inPerformanceSchema && (await session.queryValue("SELECT @@performance_schema")) !== "1") {
      waits.cannotBecause = "performance_schema is off on the target";
    } else await waits.read([]);
    return waits;
  }

  private constructor(session: Session, inPerformanceSchema: boolean) {
    this.#session = session;
    this.#inPerformanceSchema = inPerformanceSchema;
  }

  /**
   * The waits of these sessions, each pair once.
   * @returns undefined when this server or account cannot say: `cannotBecause` has the reason, and it stays so
   * @throws ReplicationError CONNECTION_LOST
   */
  async read(connectionIds: readonly number[]): Promise<LockWait[] | undefined> {
    if (this.cannotBecause !== undefined) return undefined;
    this.#reading ??= this.#readAll().finally(() => (this.#reading = undefined));
    try {
      const waits = await this.#reading;
      return waits.filter(({ waiting }) => connectionIds.includes(waiting));
    } catch (error) {
      if (!(error instanceof SqlError) || error.code === "CONNECTION_LOST") throw error;
      this.cannotBecause = `${error.message}; grant the target's user ${this.#inPerformanceSchema ? "SELECT ON performance_schema.*" : "PROCESS ON *.*"}`;
      return undefined;
    }
  }

  #readAll(): Promise<LockWait[]> {
    return this.#inPerformanceSchema ? this.#readPerformanceSchema() : this.#readInformationSchema();
  }

  async #readPerformanceSchema(): Promise<LockWait[]> {
    const edges = await this.#rows(
      "SELECT DISTINCT REQUESTING_ENGINE_TRANSACTION_ID,BLOCKING_ENGINE_TRANSACTION_ID FROM performance_schema.data_lock_waits",
    );
    const transactions = [...new Set(edges.flat())];
    const unknown = transactions.filter((transaction) => !this.#connections.has(transaction));
    const found = new Map(transactions.map((transaction) => [transaction, this.#connections.get(transaction)]));
    if (unknown.length > 0) {
      const owners = unknown.map(
        (transaction) =>
          `(SELECT '${transaction}' AS trx,THREAD_ID FROM performance_schema.data_locks WHERE ENGINE_TRANSACTION_ID=${transaction} AND LOCK_TYPE='TABLE' LIMIT 1)`,
      );
      const rows = await this.#rows(
        `SELECT o.trx,t.PROCESSLIST_ID FROM (${owners.join(" UNION ALL ")}) o JOIN performance_schema.threads t ON t.THREAD_ID=o.THREAD_ID WHERE t.PROCESSLIST_ID IS NOT NULL`,
      );
      for (const [transaction, connection] of rows) found.set(String(transaction), Number(connection));
    }
    this.#connections = found;
    return edges.flatMap(([requesting, holding]) => {
      const waiting = found.get(requesting ?? "");
      const blocking = found.get(holding ?? "");
      return waiting === undefined || blocking === undefined ? [] : [{ waiting, blocking }];
    });
  }

  async #readInformationSchema(): Promise<LockWait[]> {
    const idleMs = systemClock.nowMs() - this.#readAtMs;
    if (idleMs < CACHE_IDLE_MS) await sleep(CACHE_IDLE_MS - idleMs);
    try {
      const rows = await this.#rows(
        "SELECT DISTINCT r.trx_mysql_thread_id,b.trx_mysql_thread_id FROM information_schema.INNODB_LOCK_WAITS l " +
          "JOIN information_schema.INNODB_TRX r ON r.trx_id=l.requesting_trx_id JOIN information_schema.INNODB_TRX b ON b.trx_id=l.blocking_trx_id",
      );
      return rows.map(([waiting, blocking]) => ({ waiting: Number(waiting), blocking: Number(blocking) }));
    } finally {
      this.#readAtMs = systemClock.nowMs();
    }
  }

  async #rows(sql: string): Promise<string[][]> {
    return ((await this.#session.execute(sql)).at(-1)?.rows ?? []) as string[][];
  }
}

/** ER_NO_SUCH_THREAD: it is gone by itself. */
const NO_SUCH_THREAD = 1094;

/**
 * Makes a statement that waits for a lock fail now, without losing its session. No privilege is needed: an account may always kill what its own sessions do.
 * Resolves when the server has taken note. What was seen on MySQL 5.6 and 9.7 and MariaDB 10.11:
 *
 * - A BINLOG that waits for a lock ends with 1317. Its rows are undone, the transaction stays open, and the session can be used.
 * - One that is at work and waits for nothing mostly runs to its end and says OK: rows of one event are not interrupted. Killing it gains nothing over a
 *   ROLLBACK sent behind it. MySQL 9.7 may then answer 1105 instead of 1317.
 * - An idle session, in a transaction or not, is not touched, and neither is the statement that it executes later.
 * - A kill that comes late hits the next statement, whichever that is, with 1317: also ROLLBACK on MariaDB, and BEGIN. A session that was sent its COMMIT, or statements that
 *   must not run without the one before them, must therefore not be interrupted.
 * - A kill between two statements of one query ends the query, though the server has promised another result: *no answer ever comes* (each of the three servers does this). The next
 *   answer is then out of order, and ends the session with CONNECTION_LOST.
 *
 * So the worker cleans up like this, each in a query of its own, without waiting for the interrupted one: once this has resolved, `DO 0`, ignoring its error (a late
 * kill hits that, or the missing answer shows and the session is over); then `ROLLBACK`. From the decision to interrupt until then nothing else may be sent.
 * A session that is idle in a transaction needs none of this: it is sent `ROLLBACK`.
 * @throws ReplicationError CONNECTION_LOST; SqlError ACCESS_DENIED when it is another account's session and CONNECTION_ADMIN (SUPER) is missing
 */
export async function interrupt(control: Session, connectionId: number): Promise<void> {
  try {
    await control.execute(`KILL QUERY ${connectionId}`);
  } catch (error) {
    if (!(error instanceof SqlError) || error.sqlCode !== NO_SUCH_THREAD) throw error;
  }
}
