import { ReplicationError } from "../../base/error.ts";
import type { ServerAddress } from "../../base/server-url.ts";
import type { SandboxServer } from "../../sandbox/start.ts";
import { Session } from "../../wire/session.ts";
import type { NativeContender } from "./contender.ts";

/** How long one wait for the position takes at most, before the replica's threads are looked at: a stopped thread would never get there. */
const WAIT_SECONDS = 5;

/** The target's own replica, at work. */
export interface RunningReplica {
  /** `performance.now()` when it was told to start. */
  readonly startMs: number;
  /** Resolves when everything up to a GTID set or position is committed. Rejects with ReplicationError APPLY when one of the threads has stopped. */
  reached: (until: string) => Promise<void>;
  /** Seconds_Behind_Source, by its name on this server; undefined when it is NULL. Rejects as `reached` does. */
  secondsBehind: () => Promise<number | undefined>;
  stop: () => Promise<void>;
}

/** Where a replica gets its transactions from: `from` are those that the target has already. */
export interface ReplicaSource {
  address: ServerAddress;
  from: string;
}

/** Its relay log is empty and both threads start together. */
export async function startNative(
  contender: NativeContender,
  source: ReplicaSource,
  target: SandboxServer,
): Promise<RunningReplica> {
  const session = await Session.connect(target.address);
  const words = wordsFor(session);
  try {
    for (const statement of words.setUp(contender, source)) await session.execute(statement);
    const startMs = performance.now();
    await session.execute(words.start);
    return {
      startMs,
      reached: async (until) => {
        while (!(await words.reached(session, until))) await checkThreads(session);
      },
      secondsBehind: async () => {
        const status = await checkThreads(session);
        const seconds = status?.["Seconds_Behind_Source"] ?? status?.["Seconds_Behind_Master"];
        return seconds === null || seconds === undefined ? undefined : Number(seconds);
      },
      stop: async () => {
        try {
          await session.execute(words.stop);
        } finally {
          await session.close();
        }
      },
    };
  } catch (error) {
    await session.close();
    throw error;
  }
}

/**
 * Lets the target's own replica apply a backlog.
 * @returns seconds from START REPLICA until the last transaction is committed.
 * @throws ReplicationError APPLY when one of the threads stops.
 */
export async function runNative(
  contender: NativeContender,
  source: ReplicaSource & { until: string },
  target: SandboxServer,
): Promise<number> {
  const replica = await startNative(contender, source, target);
  try {
    await replica.reached(source.until);
    return (performance.now() - replica.startMs) / 1000;
  } finally {
    await replica.stop();
  }
}

/** What to say to a server, which differs in every series. */
interface ReplicaWords {
  setUp(contender: NativeContender, source: ReplicaSource): string[];
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
  setUp: ({ workers, commitOrder }, { address }) => [
    `SET GLOBAL replica_parallel_workers=${workers}, ` +
      `GLOBAL replica_preserve_commit_order=${commitOrder === "preserve" ? "ON" : "OFF"}`,
    `CHANGE REPLICATION SOURCE TO SOURCE_HOST='${address.host}', SOURCE_PORT=${address.port}, ` +
      `SOURCE_USER='${address.user}', SOURCE_PASSWORD='', SOURCE_AUTO_POSITION=1`,
  ],
  start: "START REPLICA",
  stop: "STOP REPLICA",
  reached: async (session, until) =>
    (await session.queryValue(`SELECT WAIT_FOR_EXECUTED_GTID_SET('${until}', ${WAIT_SECONDS})`)) === "0",
};

const MYSQL_5_6: ReplicaWords = {
  setUp: ({ workers }, { address }) => [
    `SET GLOBAL slave_parallel_workers=${workers === 1 ? 0 : workers}`,
    `CHANGE MASTER TO MASTER_HOST='${address.host}', MASTER_PORT=${address.port}, ` +
      `MASTER_USER='${address.user}', MASTER_PASSWORD='', MASTER_AUTO_POSITION=1`,
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
  setUp: ({ workers, policy }, { address, from }) => [
    // 0: the SQL thread applies by itself.
    `SET GLOBAL slave_parallel_threads=${workers === 1 ? 0 : workers}`,
    ...(policy === "single" ? [] : [`SET GLOBAL slave_parallel_mode='${policy}'`]),
    `SET GLOBAL gtid_slave_pos='${from}'`,
    `CHANGE MASTER TO MASTER_HOST='${address.host}', MASTER_PORT=${address.port}, ` +
      `MASTER_USER='${address.user}', MASTER_PASSWORD='', MASTER_USE_GTID=slave_pos`,
  ],
  start: "START SLAVE",
  stop: "STOP SLAVE",
  reached: async (session, until) =>
    (await session.queryValue(`SELECT MASTER_GTID_WAIT('${until}', ${WAIT_SECONDS})`)) === "0",
};

async function checkThreads(session: Session): Promise<Readonly<Record<string, string | null>> | undefined> {
  const [status] = await session.query(session.serverVersion.showReplicaStatus);
  for (const thread of ["IO", "SQL"]) {
    const error = status?.[`Last_${thread}_Error`] ?? "";
    if (error !== "") {
      throw new ReplicationError("APPLY", `the server's own replica stopped: ${error}`, {
        where: { server: session.server },
      });
    }
  }
  return status;
}
