import { setTimeout as sleep } from "node:timers/promises";
import type { SandboxServer } from "../../sandbox/start.ts";
import { Session } from "../../wire/session.ts";
import type { Contender } from "../contest/contender.ts";

const SAMPLE_MS = 20;

/**
 * The mean number of workers that execute or commit at the same time, as the target itself shows it: a look every 20 ms; looks at which nobody works do not count.
 * The server's own workers are at work unless their state says that they wait for an event or for their turn; a worker of ours when its session runs a query.
 * 0 when nobody was ever seen at work.
 */
export async function watchConcurrency(target: SandboxServer, { who }: Contender): Promise<() => Promise<number>> {
  const session = await Session.connect(target.address);
  const sql = QUERIES[session.serverVersion.flavour][who];
  const ended = new AbortController();
  const counts: number[] = [];
  const watching = (async () => {
    while (!ended.signal.aborted) {
      counts.push(Number(await session.queryValue(sql)));
      await sleep(SAMPLE_MS, undefined, { signal: ended.signal }).catch(() => {});
    }
  })();
  // Whoever waits for the contender learns of it when the watch ends.
  watching.catch(() => {});
  return async () => {
    ended.abort();
    try {
      await watching;
      return meanWhileAtWork(counts);
    } finally {
      await session.close();
    }
  };
}

export function meanWhileAtWork(counts: readonly number[]): number {
  const busy = counts.filter((count) => count > 0);
  return busy.length === 0 ? 0 : busy.reduce((sum, count) => sum + count, 0) / busy.length;
}

/** States of waiting: sql/mysqld.cc, stage_replica_waiting_event_from_coordinator and stage_worker_waiting_for_its_turn_to_commit; MariaDB 10.11's sql/mysqld.cc, stage_waiting_for_work_from_sql_thread and the like. */
const QUERIES: Readonly<Record<"mysql" | "mariadb", Readonly<Record<Contender["who"], string>>>> = {
  mysql: {
    native:
      "SELECT COUNT(*) FROM performance_schema.threads WHERE NAME IN ('thread/sql/replica_worker','thread/sql/slave_worker') " +
      "AND IFNULL(PROCESSLIST_STATE,'') NOT IN ('Waiting for an event from Coordinator','Waiting for preceding transaction to commit')",
    abreast:
      "SELECT COUNT(*) FROM performance_schema.threads WHERE PROCESSLIST_COMMAND='Query' AND PROCESSLIST_ID<>CONNECTION_ID()",
  },
  mariadb: {
    native:
      "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND='Slave_worker' " +
      "AND STATE NOT LIKE 'Waiting for work from SQL thread%' AND STATE NOT LIKE 'Waiting for prior transaction to %'",
    abreast: "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND='Query' AND ID<>CONNECTION_ID()",
  },
};
