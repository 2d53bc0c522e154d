import type { SandboxServer } from "../../sandbox/start.ts";
import { Session } from "../../wire/session.ts";
import type { Contender } from "../contest/contender.ts";

export interface LockCounts {
  /** Times that a session had to wait for a row lock (Innodb_row_lock_waits). */
  lockWaits: number;
  /** Waits that ended with error 1205 after innodb_lock_wait_timeout. */
  lockWaitTimeouts: number;
  /** Of the server's own replica; of ours the engine tells. */
  nativeRetries: number;
}

/** Counts what happens on a target while a contender works on it. */
export async function watchLocks(target: SandboxServer, { who }: Contender): Promise<() => Promise<LockCounts>> {
  const session = await Session.connect(target.address);
  await session.execute("SET GLOBAL innodb_monitor_enable='lock_timeouts'");
  const before = await readCounts(session);
  return async () => {
    try {
      const after = await readCounts(session);
      return {
        lockWaits: after.lockWaits - before.lockWaits,
        lockWaitTimeouts: after.lockWaitTimeouts - before.lockWaitTimeouts,
        nativeRetries: who === "native" ? await retriesOf(session) : 0,
      };
    } finally {
      await session.close();
    }
  };
}

async function readCounts(session: Session): Promise<Omit<LockCounts, "nativeRetries">> {
  const timeouts = await session.queryValue(
    "SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME='lock_timeouts'",
  );
  return { lockWaits: await statusValue(session, "Innodb_row_lock_waits"), lockWaitTimeouts: Number(timeouts) };
}

async function retriesOf(session: Session): Promise<number> {
  if (!session.serverVersion.has("replication-applier-tables")) {
    return statusValue(session, "Slave_retried_transactions");
  }
  return Number(
    await session.queryValue(
      "SELECT SUM(COUNT_TRANSACTIONS_RETRIES) FROM performance_schema.replication_applier_status",
    ),
  );
}

async function statusValue(session: Session, name: string): Promise<number> {
  const [row] = await session.query(`SHOW GLOBAL STATUS LIKE '${name}'`);
  return Number(row?.["Value"] ?? 0);
}
