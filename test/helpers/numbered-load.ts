import { setTimeout as sleep } from "node:timers/promises";
import { ReplicationError } from "../../src/base/error.ts";
import { createPrng, type Prng } from "../../src/base/prng.ts";
import type { ServerAddress } from "../../src/base/server-url.ts";
import { Session } from "../../src/wire/session.ts";

/**
 * A load whose transactions can be counted: number n inserts n into `counter` and adds 1 to a row of `total`, so that a lost transaction is a missing number, and one
 * applied twice is a duplicate key or a wrong total. Around it changes of all sizes, and DDL. It survives the death of the server: each session then logs in
 * again and goes on with the next number, for nobody knows whether the last one was committed.
 */
export interface NumberedLoad {
  /** Numbers whose COMMIT the server has answered. */
  readonly acknowledged: ReadonlySet<number>;
  readonly counts: { transactions: number; large: number; ddl: number; reconnects: number };
  /** Ends every session after its transaction; rejects with what went wrong, if anything did. */
  stop(): Promise<void>;
}

export interface NumberedLoadOptions {
  address: ServerAddress;
  seed: number;
  threads: number;
  /** Of each thread. */
  pauseMsMax: number;
}

export const LOAD_SCHEMA = "numbered";

const ROW_TABLES = 3;
/** Some transactions wait for each other's row, and most can be applied beside each other. */
const TOTALS = 12;
const LARGE_ROWS = 4000;
const LARGE_ROWS_PER_INSERT = 500;

/** Nothing runs beside a statement: many of them would leave nothing to apply in parallel. */
const STATEMENT_PAUSES = 10;

export async function prepareNumberedLoad(address: ServerAddress): Promise<void> {
  const session = await Session.connect(address);
  const tables = Array.from({ length: ROW_TABLES }, (_, i) => rowTable(i + 1));
  for (const statement of [
    `CREATE DATABASE ${LOAD_SCHEMA} CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci`,
    `USE ${LOAD_SCHEMA}`,
    "CREATE TABLE counter (n INT PRIMARY KEY, thread INT NOT NULL)",
    // Two totals: one changed by row events, one by statements, which add once more when they are run once more.
    "CREATE TABLE total (id INT PRIMARY KEY, n INT NOT NULL)",
    `INSERT INTO total VALUES ${Array.from({ length: TOTALS }, (_, i) => `(${i + 1}, 0)`).join(", ")}`,
    "CREATE TABLE total_by_statement (id INT PRIMARY KEY, n INT NOT NULL)",
    "INSERT INTO total_by_statement VALUES (1, 0)",
    ...tables,
    "CREATE TABLE large (id INT AUTO_INCREMENT PRIMARY KEY, batch INT NOT NULL, text VARCHAR(200), KEY (batch))",
    "CREATE TABLE scratch (id INT AUTO_INCREMENT PRIMARY KEY, text VARCHAR(50))",
  ]) {
    await session.execute(statement);
  }
  await session.close();
}

function rowTable(number: number): string {
  return (
    `CREATE TABLE rows${number} (id INT AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL, v VARCHAR(100), d DECIMAL(12,3), ` +
    "b VARBINARY(60), t DATETIME(3), UNIQUE KEY (k), KEY (v))"
  );
}

export function startNumberedLoad(options: NumberedLoadOptions): NumberedLoad {
  const acknowledged = new Set<number>();
  const counts = { transactions: 0, large: 0, ddl: 0, reconnects: 0 };
  const stopped = new AbortController();
  let nextNumber = 1;
  /** The first number from this on makes a large transaction. */
  let nextLarge = 20;

  /** Calls `work` with a session until the load is stopped; a session that is lost is opened again. */
  async function keepWorking(prepare: string, work: (session: Session) => Promise<void>): Promise<void> {
    let session: Session | undefined;
    while (!stopped.signal.aborted) {
      try {
        if (session === undefined) {
          session = await Session.connect(options.address, { connectTimeoutMs: 3000 });
          await session.execute(`USE ${LOAD_SCHEMA}; ${prepare}`);
        }
        await work(session);
      } catch (error) {
        if (!(error instanceof ReplicationError) || !LOST.has(error.code)) throw error;
        session?.destroy();
        session = undefined;
        counts.reconnects++;
        await sleep(50);
      }
    }
    await session?.close();
  }

  async function runThread(thread: number): Promise<void> {
    const prng = createPrng(options.seed, thread);
    // One thread logs statements, as an old application would.
    const byStatement = thread === 0;
    const format = byStatement ? "SET SESSION binlog_format='STATEMENT'" : "DO 0";
    await keepWorking(format, async (session) => {
      const number = nextNumber++;
      const isLarge = !byStatement && number >= nextLarge;
      if (isLarge) nextLarge = number + prng.integer(50, 250);
      const changes = isLarge ? largeChanges(prng, number) : byStatement ? ["DO 0"] : smallChanges(prng);
      const total = byStatement
        ? "UPDATE total_by_statement SET n=n+1 WHERE id=1"
        : `UPDATE total SET n=n+1 WHERE id=${prng.integer(1, TOTALS)}`;
      const statements = ["BEGIN", `INSERT INTO counter VALUES (${number}, ${thread})`, ...changes, total, "COMMIT"];
      await retryTemporary(session, statements);
      acknowledged.add(number);
      counts.transactions++;
      if (isLarge) counts.large++;
      await sleep(prng.integer(0, options.pauseMsMax) * (byStatement ? STATEMENT_PAUSES : 1));
    });
  }

  async function runDdl(): Promise<void> {
    const prng = createPrng(options.seed, -1);
    await keepWorking("DO 0", async (session) => {
      await sleep(prng.integer(100, 900));
      if (stopped.signal.aborted) return;
      try {
        await session.execute(ddl(prng));
        counts.ddl++;
      } catch (error) {
        // A table or column that is, or is not, there after a kill: the next statement is another.
        if (!(error instanceof ReplicationError) || !["APPLY", "APPLY_TEMPORARY"].includes(error.code)) throw error;
      }
    });
  }

  const threads = Array.from({ length: options.threads }, (_, thread) => runThread(thread));
  const all = Promise.all([...threads, runDdl()]);
  // Told by `stop`; until then nobody waits for it.
  all.catch(() => stopped.abort());
  return {
    acknowledged,
    counts,
    stop: async () => {
      stopped.abort();
      await all;
    },
  };
}

/** CONNECT: while the server starts; the others: while it dies. */
const LOST: ReadonlySet<string> = new Set(["CONNECT", "CONNECTION_LOST", "STOPPED"]);

async function retryTemporary(session: Session, statements: readonly string[]): Promise<void> {
  for (;;) {
    try {
      await session.execute(statements.join(";"));
      return;
    } catch (error) {
      if (!(error instanceof ReplicationError) || error.code !== "APPLY_TEMPORARY") throw error;
      await session.execute("ROLLBACK");
    }
  }
}

const KEYS = 400;

/** One to four changes of rows; unique keys come back soon after they were deleted. */
function smallChanges(prng: Prng): string[] {
  return Array.from({ length: prng.integer(1, 4) }, () => {
    const table = `rows${prng.integer(1, ROW_TABLES)}`;
    const k = prng.integer(1, KEYS);
    const text = "x".repeat(prng.integer(0, 90));
    switch (prng.integer(0, 3)) {
      case 0:
        return `DELETE FROM ${table} WHERE k=${k}`;
      case 1:
        return `UPDATE ${table} SET v='${text}', d=d+0.125 WHERE k BETWEEN ${k} AND ${k + 3}`;
      default:
        return (
          `REPLACE INTO ${table} (k, v, d, b, t) VALUES (${k}, '${text}', ${prng.integer(-999_999, 999_999)} / 8, ` +
          `UNHEX(SHA2('${k}', 256)), '2026-01-01 12:00:00' + INTERVAL ${k} SECOND)`
        );
    }
  });
}

/** Thousands of rows in, the oldest ones out. */
function largeChanges(prng: Prng, number: number): string[] {
  const inserts = Array.from({ length: LARGE_ROWS / LARGE_ROWS_PER_INSERT }, () => {
    const rows = Array.from(
      { length: LARGE_ROWS_PER_INSERT },
      () => `(${number}, '${"y".repeat(prng.integer(1, 180))}')`,
    );
    return `INSERT INTO large (batch, text) VALUES ${rows.join(",")}`;
  });
  return [...inserts, `DELETE FROM large WHERE batch < ${number - 600}`];
}

function ddl(prng: Prng): string {
  const table = `rows${prng.integer(1, ROW_TABLES)}`;
  const extra = `extra${prng.integer(1, 5)}`;
  const column = `added${prng.integer(1, 4)}`;
  const choices = [
    `ALTER TABLE ${table} ADD COLUMN ${column} INT NOT NULL DEFAULT ${prng.integer(1, 99)}`,
    `ALTER TABLE ${table} DROP COLUMN ${column}`,
    `CREATE TABLE ${extra} (id INT AUTO_INCREMENT PRIMARY KEY, text VARCHAR(30))`,
    `INSERT INTO ${extra} (text) VALUES ('a'), ('b')`,
    `DROP TABLE ${extra}`,
    "TRUNCATE TABLE scratch",
    "INSERT INTO scratch (text) VALUES ('a'), ('b'), ('c')",
    `RENAME TABLE ${extra} TO extra${prng.integer(6, 8)}`,
    "DROP TABLE IF EXISTS extra6, extra7, extra8",
  ];
  return choices[prng.integer(0, choices.length - 1)] ?? "TRUNCATE TABLE scratch";
}
