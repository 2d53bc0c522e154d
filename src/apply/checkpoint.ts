import { createHash } from "node:crypto";
import { ReplicationError } from "../base/error.ts";
import type { SourcePosition } from "../transaction/transaction.ts";
import type { Session } from "../wire/session.ts";

/**
 * What the target holds of a channel: everything up to and including this point of the source. `gtids` is a GTID set (MySQL), a GTID position (MariaDB) or
 * empty. `transactions` counts the source's transactions since the channel began, across restarts.
 */
export interface Checkpoint {
  source: SourcePosition;
  gtids: string;
  transactions: bigint;
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
  if (!/^[\w:,.\- ]*$/.test(text)) throw new ReplicationError("CHECKPOINT", `not a GTID set: ${text.slice(0, 200)}`);
  return `'${text}'`;
};

/** `UPDATE` of one worker's row; it matches one row, or none when this engine is fenced. Part of the data's own transaction. */
export function checkpointUpdate(key: WorkerKey, checkpoint: Checkpoint): string {
  return (
    `UPDATE abreast.checkpoint SET transactions=${checkpoint.transactions},source_file=${literal(checkpoint.source.file)},` +
    `source_position=${checkpoint.source.position},gtids=${asciiLiteral(checkpoint.gtids)},intent=NULL ${whereWorker(key)}`
  );
}

export function intentUpdate(key: WorkerKey, intent: Intent): string {
  return `UPDATE abreast.checkpoint SET intent=${literal(JSON.stringify(intent))} ${whereWorker(key)}`;
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

export interface StoredCheckpoints {
  /** The furthest row; undefined while the channel has not begun. */
  checkpoint: Checkpoint | undefined;
  intent: Intent | undefined;
  workers: number[];
}

/** Reads the channel's rows, waiting for sessions of a dead engine that still hold them. */
export async function readCheckpoints(session: Session, channel: string): Promise<StoredCheckpoints> {
  const rows = await session.query(
    `SELECT worker, transactions, source_file, source_position, gtids, intent FROM abreast.checkpoint ` +
      `WHERE channel=${literal(channel)} ORDER BY transactions DESC FOR UPDATE`,
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
    intent,
    workers: rows.map((row) => Number(row["worker"])),
  };
}

/**
 * Makes the channel this engine's: every row gets its id, and rows for new workers are added. From this commit on an older engine can write nothing. All rows
 * say the same afterwards.
 */
export async function takeOver(
  session: Session,
  channel: string,
  engineId: string,
  workers: number,
  start: Checkpoint,
): Promise<void> {
  await session.execute("BEGIN");
  const { workers: present, intent } = await readCheckpoints(session, channel);
  for (let worker = 0; worker < workers; worker++) {
    if (present.includes(worker)) continue;
    await session.execute(
      `INSERT INTO abreast.checkpoint VALUES (${literal(channel)},${worker},'${engineId}',0,'',0,'',NULL)`,
    );
  }
  await session.execute(
    `UPDATE abreast.checkpoint SET engine='${engineId}',transactions=${start.transactions},source_file=${literal(start.source.file)},` +
      `source_position=${start.source.position},gtids=${asciiLiteral(start.gtids)},` +
      `intent=${intent === undefined ? "NULL" : literal(JSON.stringify(intent))} WHERE channel=${literal(channel)}`,
  );
  await session.execute("COMMIT");
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
