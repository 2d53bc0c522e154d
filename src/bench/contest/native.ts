import { ReplicationError } from "../../base/error.ts";
import type { SandboxServer } from "../../sandbox/start.ts";
import { Session } from "../../wire/session.ts";
import type { Backlog } from "./backlog.ts";
import type { NativeContender } from "./contender.ts";

/** How long one wait for the position takes at most, before the replica's threads are looked at: a stopped thread would never get there. */
const WAIT_SECONDS = 5;

/**
 * Lets the target's own replica apply the backlog. Its relay log is empty and both threads start together.
 * @returns seconds from START REPLICA until the last transaction is committed.
 * @throws ReplicationError APPLY when one of the threads stops.
 */
export async function runNative(contender: NativeContender, backlog: Backlog, target: SandboxServer): Promise<number> {
  const session = await Session.connect(target.address);
  try {
    const words = wordsFor(session);
    for (const statement of words.setUp(contender, backlog)) await session.execute(statement);
    const startMs = performance.now();
    await session.execute(words.start);
    while (!(await words.reached(session, backlog.until))) await checkThreads(session);
    const seconds = (performance.now() - startMs) / 1000;
    await session.execute(words.stop);
    return seconds;
  } finally {
    await session.close();
  }
}

/** What to say to a server, which differs in every series. */
interface ReplicaWords {
  setUp(contender: NativeContender, backlog: Backlog): string[];
  start: string;
  stop: string;
  /** Waits up to WAIT_SECONDS. */
  reached(session: Session, until: string): Promise<boolean>;
}

function wordsFor(session: Session): ReplicaWords {
  if (session.serverVersion.flavour === "mariadb") return MARIADB;
  return session.serverVersion.has("source-replica-names") ? MYSQL : MYSQL_5_6;
}

const MYSQL: ReplicaWords = {
  setUp: ({ workers, commitOrder }, { source }) => [
    `SET GLOBAL replica_parallel_workers=${workers}, ` +
      `GLOBAL replica_preserve_commit_order=${commitOrder === "preserve" ? "ON" : "OFF"}`,
    `CHANGE REPLICATION SOURCE TO SOURCE_HOST='${source.address.host}', SOURCE_PORT=${source.address.port}, ` +
      `SOURCE_USER='${source.address.user}', SOURCE_PASSWORD='', SOURCE_AUTO_POSITION=1`,
  ],
  start: "START REPLICA",
  stop: "STOP REPLICA",
  reached: async (session, until) =>
    (await session.queryValue(`SELECT WAIT_FOR_EXECUTED_GTID_SET('${until}', ${WAIT_SECONDS})`)) === "0",
};

const MYSQL_5_6: ReplicaWords = {
  setUp: ({ workers }, { source }) => [
    `SET GLOBAL slave_parallel_workers=${workers === 1 ? 0 : workers}`,
    `CHANGE MASTER TO MASTER_HOST='${source.address.host}', MASTER_PORT=${source.address.port}, ` +
      `MASTER_USER='${source.address.user}', MASTER_PASSWORD='', MASTER_AUTO_POSITION=1`,
  ],
  start: "START SLAVE",
  stop: "STOP SLAVE",
  reached: async (session, until) => {
    // NULL: the SQL thread does not run; -1: not yet; else the number of events waited for.
    const events = await session.queryValue(`SELECT WAIT_UNTIL_SQL_THREAD_AFTER_GTIDS('${until}', ${WAIT_SECONDS})`);
    return typeof events === "string" && Number(events) >= 0;
  },
};

const MARIADB: ReplicaWords = {
  setUp: ({ workers, policy }, { source, from }) => [
    // 0: the SQL thread applies by itself.
    `SET GLOBAL slave_parallel_threads=${workers === 1 ? 0 : workers}`,
    ...(policy === "single" ? [] : [`SET GLOBAL slave_parallel_mode='${policy}'`]),
    `SET GLOBAL gtid_slave_pos='${from}'`,
    `CHANGE MASTER TO MASTER_HOST='${source.address.host}', MASTER_PORT=${source.address.port}, ` +
      `MASTER_USER='${source.address.user}', MASTER_PASSWORD='', MASTER_USE_GTID=slave_pos`,
  ],
  start: "START SLAVE",
  stop: "STOP SLAVE",
  reached: async (session, until) =>
    (await session.queryValue(`SELECT MASTER_GTID_WAIT('${until}', ${WAIT_SECONDS})`)) === "0",
};

async function checkThreads(session: Session): Promise<void> {
  const [status] = await session.query(session.serverVersion.showReplicaStatus);
  for (const thread of ["IO", "SQL"]) {
    const error = status?.[`Last_${thread}_Error`] ?? "";
    if (error !== "") {
      throw new ReplicationError("APPLY", `the server's own replica stopped: ${error}`, {
        where: { server: session.server },
      });
    }
  }
}
