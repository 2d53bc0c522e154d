import { createHash } from "node:crypto";
import { ReplicationError } from "../base/error.ts";
import type { SourcePosition } from "../transaction/transaction.ts";
import type { Session } from "../wire/session.ts";

/**
 * What the target holds of a channel: everything up to and including this point of the source, its low-water mark. `gtids` is a GTID set (MySQL), a GTID position
 * (MariaDB) or empty. `transactions` counts the source's transactions since the channel began, across restarts.
 */
export interface Checkpoint {
  source: SourcePosition;
  gtids: string;
  transactions: bigint;
}

/**
 * What a worker writes of itself together with a run. `low`: what is certain when this commits. `ahead`: which transactions above it this worker has applied, in a text that
 * only who reads the source's stream understands. `last`: the number of the run's last transaction, which no other run of this worker has.
 */
export interface WorkerCheckpoint {
  low: Checkpoint;
  ahead: string;
  last: bigint;
}

/**
 * A statement that commits by itself was about to run: the one after so many `transactions` (a decimal number), and what the schema looked like before.
 * It says something only while the checkpoint still counts that many.
 */
export interface Intent {
  after: string;
  fingerprint: string;
}

/**
 * The checkpoint lives in the target, one row per worker, and is written in the transaction whose data it speaks of: both are there or neither. The row
 * also carries the engine's id: an engine whose id is no longer there has lost the channel to another one, changes no row, and stops (FENCED).
 */
export const CHECKPOINT_DDL = [
  "CREATE DATABASE IF NOT EXISTS abreast DEFAULT CHARACTER SET utf8",
  `CREATE TABLE IF NOT EXISTS abreast.checkpoint (
  channel VARCHAR(64) CHARACTER SET utf8 COLLATE utf8_bin NOT NULL,
  worker SMALLINT UNSIGNED NOT NULL,
  engine CHAR(36) CHARACTER SET ascii NOT NULL COMMENT 'the engine that may write this row',
  transactions BIGINT UNSIGNED NOT NULL COMMENT 'source transactions applied since the channel began',
  source_file VARCHAR(512) CHARACTER SET utf8 COLLATE utf8_bin NOT NULL,
  source_position BIGINT UNSIGNED NOT NULL,
  gtids LONGTEXT CHARACTER SET ascii NOT NULL COMMENT 'executed GTIDs of the source',
  intent TEXT CHARACTER SET utf8 NULL COMMENT 'a statement with an implicit commit that is being run',
  ahead LONGTEXT CHARACTER SET ascii NOT NULL COMMENT 'applied by this worker beyond that',
  last BIGINT UNSIGNED NOT NULL COMMENT 'the last transaction of this worker',
  PRIMARY KEY (channel, worker)
) ENGINE=InnoDB COMMENT='Abreast: what is applied of each channel; one row per worker, the highest transactions counts'`,
  `CREATE TABLE IF NOT EXISTS abreast.xa_prepared (
  channel VARCHAR(64) CHARACTER SET utf8 COLLATE utf8_bin NOT NULL,
  xid VARCHAR(300) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  part INT UNSIGNED NOT NULL,
  format TEXT CHARACTER SET utf8 NOT NULL,
  events LONGBLOB NOT NULL,
  PRIMARY KEY (channel, xid, part)
) ENGINE=InnoDB COMMENT='Abreast: prepared XA transactions of the source that wait for its XA COMMIT or XA ROLLBACK'`,
] as const;

/** A string as an SQL literal that is right under every sql_mode and connection character set. */
export function literal(text: string): string {
  return text === "" ? "''" : `CONVERT(X'${Buffer.from(text, "utf8").toString("hex")}' USING utf8)`;
}

const asciiLiteral = (text: string): string => {
  if (!/^[\w:,.\-# ]*$/.test(text)) throw new ReplicationError("CHECKPOINT", `not a GTID set: ${text.slice(0, 200)}`);
  return `'${text}'`;
};

/** Only what is missing: also a CREATE … IF NOT EXISTS of something that is there takes a GTID of the target's own. */
export async function makeCheckpointTables(session: Session): Promise<void> {
  const tables = await session.query(
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema='abreast'",
  );
  const present = new Set(tables.map(({ name }) => name));
  if (!present.has("checkpoint") || !present.has("xa_prepared")) {
    for (const sql of CHECKPOINT_DDL) await session.execute(sql);
  }
  await addCheckpointColumns(session);
}

/** The columns for gaps came with version 0.2. */
async function addCheckpointColumns(session: Session): Promise<void> {
  const columns = await session.query("SHOW COLUMNS FROM abreast.checkpoint LIKE 'ahead'");
  if (columns.length > 0) return;
  await session.execute(
    "ALTER TABLE abreast.checkpoint ADD COLUMN ahead LONGTEXT CHARACTER SET ascii NOT NULL COMMENT 'applied by this worker beyond that', " +
      "ADD COLUMN last BIGINT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'the last transaction of this worker'",
  );
}

/** A row that no worker writes: what a former engine's workers had applied beyond the low-water mark, and who has the channel. */
const KEEPER = 65_535;

const assignLow = ({ transactions, source, gtids }: Checkpoint): string =>
  `transactions=${transactions},source_file=${literal(source.file)},source_position=${source.position},gtids=${asciiLiteral(gtids)}`;

/** `UPDATE` of one worker's row; it matches one row, or none when this engine is fenced. Part of the data's own transaction. */
export function checkpointUpdate(key: WorkerKey, { low, ahead, last }: WorkerCheckpoint): string {
  return `UPDATE abreast.checkpoint SET ${assignLow(low)},ahead=${asciiLiteral(ahead)},last=${last},intent=NULL ${whereWorker(key)}`;
}

/** Also says that everything up to `low` is there: a statement that commits by itself runs behind all before it. */
export function intentUpdate(key: WorkerKey, intent: Intent, low: Checkpoint): string {
  return `UPDATE abreast.checkpoint SET ${assignLow(low)},ahead='',intent=${literal(JSON.stringify(intent))} ${whereWorker(key)}`;
}

/** Whether the worker's last commit was the one with this checkpoint. */
export async function isWritten(session: Session, key: WorkerKey, { last }: WorkerCheckpoint): Promise<boolean> {
  return (await session.queryValue(`SELECT last FROM abreast.checkpoint ${whereWorker(key)}`)) === String(last);
}

/** One row as long as this engine may write. */
export const ownRowQuery = (key: WorkerKey): string => `SELECT 1 FROM abreast.checkpoint ${whereWorker(key)}`;

export interface WorkerKey {
  channel: string;
  worker: number;
  engineId: string;
}

const whereWorker = (key: WorkerKey): string =>
  `WHERE channel=${literal(key.channel)} AND worker=${key.worker} AND engine='${key.engineId}'`;

/** Every worker that ever had a row in this channel. */
export async function readWorkers(session: Session, channel: string): Promise<number[]> {
  const rows = await session.query(`SELECT worker FROM abreast.checkpoint WHERE channel=${literal(channel)}`);
  return rows.map((row) => Number(row["worker"]));
}

export interface StoredCheckpoints {
  /** The furthest row; undefined while the channel has not begun. */
  checkpoint: Checkpoint | undefined;
  /** What is applied beyond it, or below: the `ahead` of every row. */
  ahead: string[];
  intent: Intent | undefined;
  workers: number[];
}

/** Reads the channel's rows, waiting for sessions of a dead engine that still hold them. */
export async function readCheckpoints(session: Session, channel: string): Promise<StoredCheckpoints> {
  const rows = await session.query(
    // Every column: a table of version 0.1 has no `ahead`.
    `SELECT * FROM abreast.checkpoint WHERE channel=${literal(channel)} ` +
      // In relaxed order the first commits of a new channel may come before its first transaction: their rows know where it began, the others do not.
      "ORDER BY transactions DESC, source_file='' AND gtids='' FOR UPDATE",
  );
  const first = rows[0];
  const intents = rows.flatMap((row) => (row["intent"] ? [JSON.parse(row["intent"]) as Intent] : []));
  const intent = intents.find((candidate) => candidate.after === first?.["transactions"]);
  return {
    checkpoint:
      first === undefined || (first["source_file"] === "" && first["gtids"] === "")
        ? undefined
        : {
            source: { file: String(first["source_file"]), position: Number(first["source_position"]) },
            gtids: first["gtids"] ?? "",
            transactions: BigInt(first["transactions"] ?? 0),
          },
    ahead: rows.flatMap((row) => row["ahead"] || []),
    intent,
    workers: rows.map((row) => Number(row["worker"])),
  };
}

/**
 * Makes the channel this engine's: from now on an older one changes no row. To be done before the rows are read, and waits for transactions that a dead engine has begun: what is
 * read afterwards stays.
 */
export async function fenceChannel(session: Session, channel: string, engineId: string): Promise<void> {
  await session.execute(`UPDATE abreast.checkpoint SET engine='${engineId}' WHERE channel=${literal(channel)}`);
}

/**
 * Begins: rows for new workers are added, all rows say `start` afterwards, and the keeper's what was applied beyond it.
 */
export async function takeOver(
  session: Session,
  { channel, engineId, workers }: { channel: string; engineId: string; workers: number },
  start: Checkpoint,
  ahead: string,
): Promise<void> {
  await session.execute("BEGIN");
  const { workers: present, intent } = await readCheckpoints(session, channel);
  for (const worker of [...Array(workers).keys(), KEEPER]) {
    if (!present.includes(worker)) await session.execute(insertRow(channel, worker, engineId));
  }
  await session.execute(
    `UPDATE abreast.checkpoint SET engine='${engineId}',${assignLow(start)},ahead='',last=0,` +
      `intent=${intent === undefined ? "NULL" : literal(JSON.stringify(intent))} WHERE channel=${literal(channel)}`,
  );
  await session.execute(
    `UPDATE abreast.checkpoint SET ahead=${asciiLiteral(ahead)} WHERE channel=${literal(channel)} AND worker=${KEEPER}`,
  );
  await session.execute("COMMIT");
}

const insertRow = (channel: string, worker: number, engineId: string): string =>
  `INSERT INTO abreast.checkpoint (channel,worker,engine,transactions,source_file,source_position,gtids,ahead,last) ` +
  `VALUES (${literal(channel)},${worker},'${engineId}',0,'',0,'','',0)`;

/**
 * Makes rows for more workers, while this engine has the channel.
 * @throws ReplicationError FENCED
 */
export async function addWorkerRows(
  session: Session,
  { channel, engineId, workers }: { channel: string; engineId: string; workers: number },
): Promise<void> {
  await session.execute("BEGIN");
  try {
    // Locked against one who takes over: rows with our id that come after it would let us write on.
    const keeper = { channel, engineId, worker: KEEPER };
    const isOurs = (await session.queryValue(`${ownRowQuery(keeper)} FOR UPDATE`)) === "1";
    if (!isOurs) throw fenced(channel);
    const present = new Set(await readWorkers(session, channel));
    for (let worker = 0; worker < workers; worker++) {
      if (!present.has(worker)) await session.execute(insertRow(channel, worker, engineId));
    }
    await session.execute("COMMIT");
  } catch (error) {
    if (!session.closed) await session.execute("ROLLBACK");
    throw error;
  }
}

export function fenced(channel: string): ReplicationError {
  return new ReplicationError("FENCED", `another engine took over channel "${channel}"`, {
    hint: "run one engine per channel; `abreast status` in the other one's folder shows it",
  });
}

/** Forgets the channel. What it applied stays. */
export async function forgetChannel(session: Session, channel: string): Promise<void> {
  for (const sql of CHECKPOINT_DDL) await session.execute(sql);
  for (const table of ["checkpoint", "xa_prepared"]) {
    await session.execute(`DELETE FROM abreast.${table} WHERE channel=${literal(channel)}`);
  }
}

/** The name of the lock that a session of this channel holds while it lives; `worker` undefined: the engine's own. At most 64 characters (MySQL 5.7+). */
export function lockName(channel: string, worker: number | undefined): string {
  const name = `abreast/${channel}${worker === undefined ? "" : `/${worker}`}`;
  return /^[\x20-\x7e]{1,64}$/.test(name)
    ? name
    : `abreast#${createHash("sha256").update(name).digest("hex").slice(0, 50)}`;
}
