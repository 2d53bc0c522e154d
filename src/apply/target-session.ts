import { ReplicationError } from "../base/error.ts";
import type { Log } from "../base/log.ts";
import type { ServerAddress } from "../base/server-url.ts";
import { Session } from "../wire/session.ts";
import type { ServerVersion } from "../wire/server-version.ts";
import { literal, lockName } from "./checkpoint.ts";

/** How long a lock may be held before we look who holds it. The session of a process that was killed is gone within milliseconds. */
const STALE_LOCK_SECONDS = 5;
/** A replica may be idle for long and send much at once: a year (the servers' maximum), and an hour. */
const IDLE_SECONDS_MAX = 31_536_000;
const NETWORK_SECONDS_MAX = 3_600;

/**
 * Opens a session that applies: named so that no two of a channel's worker `worker` exist at a time. A former session of that name may still be committing what
 * a dead engine sent; until it is gone nothing can be known of the checkpoint, so we wait for it. The engine's own lock must be held, so a former session can only be a dead
 * one: while it executes something (an ALTER that takes hours) it is left alone, idle it is ended, because its host vanished without a word.
 */
export async function openWorkerSession(
  address: ServerAddress,
  channel: string,
  worker: number,
  log: Log,
): Promise<Session> {
  const session = await Session.connect(address, { localFiles: true });
  try {
    await session.execute(settings(session.serverVersion));
    const name = literal(lockName(channel, worker));
    while ((await session.queryValue(`SELECT GET_LOCK(${name},${STALE_LOCK_SECONDS})`)) !== "1") {
      await endStaleHolder(session, name, worker, log);
    }
    return session;
  } catch (error) {
    session.destroy();
    throw error;
  }
}

async function endStaleHolder(session: Session, name: string, worker: number, log: Log): Promise<void> {
  const [holder] = await session.query(
    `SELECT ID, COMMAND, INFO FROM information_schema.PROCESSLIST WHERE ID=IS_USED_LOCK(${name})`,
  );
  if (holder === undefined) return;
  if (holder["COMMAND"] !== "Sleep") {
    log.warn(`worker ${worker} waits for the session of a former engine on the target`, {
      connection: holder["ID"],
      statement: holder["INFO"]?.slice(0, 100),
    });
    return;
  }
  // It may have gone by itself meanwhile (error 1094).
  await session.execute(`KILL ${holder["ID"]}`).catch(() => {});
}

const LOOK_AGAIN_MS = 20;

/**
 * Waits until the sessions of a dead engine's workers are gone. A DDL that one of them still executes is seen in no checkpoint, and the next engine gives it to whichever
 * worker is free: it would run twice.
 */
export async function awaitFormerSessions(
  session: Session,
  channel: string,
  workers: readonly number[],
  log: Log,
): Promise<void> {
  for (const worker of workers) {
    const name = literal(lockName(channel, worker));
    for (let looks = 1; (await session.queryValue(`SELECT IS_USED_LOCK(${name})`)) !== null; looks++) {
      if (looks % ((1000 * STALE_LOCK_SECONDS) / LOOK_AGAIN_MS) === 0) await endStaleHolder(session, name, worker, log);
      await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
    }
  }
}

/**
 * Opens the engine's own session and takes the channel's lock, for as long as the session lives.
 * @throws ReplicationError FENCED when a living engine has it
 */
export async function openControlSession(address: ServerAddress, channel: string): Promise<Session> {
  const session = await Session.connect(address);
  try {
    await session.execute(settings(session.serverVersion));
    const name = literal(lockName(channel, undefined));
    if ((await session.queryValue(`SELECT GET_LOCK(${name},${STALE_LOCK_SECONDS})`)) !== "1") {
      const holder = await session.queryValue(`SELECT IS_USED_LOCK(${name})`);
      const from = holder
        ? await session.queryValue(`SELECT HOST FROM information_schema.PROCESSLIST WHERE ID=${holder}`)
        : undefined;
      throw new ReplicationError("FENCED", `another engine applies channel "${channel}" to this target`, {
        where: { server: session.server },
        hint: `stop it first (its connection is ${holder ?? "gone by now"}${from ? `, from ${from}` : ""}), or use another --channel`,
      });
    }
    return session;
  } catch (error) {
    session.destroy();
    throw error;
  }
}

/** READ COMMITTED takes no gap locks, as a replica that only repeats outcomes needs none. */
function settings(version: ServerVersion): string {
  const isolation = version.has("transaction-isolation") ? "transaction_isolation" : "tx_isolation";
  const statements = [
    `SET SESSION ${isolation}='READ-COMMITTED'`,
    `SET SESSION wait_timeout=${IDLE_SECONDS_MAX}`,
    `SET SESSION net_read_timeout=${NETWORK_SECONDS_MAX}`,
    `SET SESSION net_write_timeout=${NETWORK_SECONDS_MAX}`,
    "SET SESSION autocommit=1",
  ];
  // Else the target logs the whole text of BINLOG again for every row event.
  if (version.flavour === "mariadb") statements.push("SET SESSION binlog_annotate_row_events=OFF");
  return statements.join(";");
}
