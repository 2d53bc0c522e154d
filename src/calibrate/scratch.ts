import { checkpointUpdate, type WorkerKey } from "../apply/checkpoint.ts";
import { ReplicationError } from "../base/error.ts";
import type { Session } from "../wire/session.ts";
import type { LoggedTable } from "./events.ts";

/** The one schema that a calibration touches: made at its beginning, dropped at its end. */
export const SCRATCH = "abreast_calibration";

export const ROWS: LoggedTable = { id: 1, schema: SCRATCH, name: "calibration_rows", textBytesMax: 4_000 };

const TABLES = [ROWS.name, "checkpoint"];

const ROWS_TABLE =
  `CREATE TABLE ${SCRATCH}.${ROWS.name} (id INT PRIMARY KEY, k INT NOT NULL, ` +
  `text VARCHAR(${ROWS.textBytesMax}) NOT NULL, INDEX (k)) ENGINE=InnoDB DEFAULT CHARACTER SET latin1`;

/** As abreast.checkpoint, as far as a run's statement knows it. */
const CHECKPOINT = `CREATE TABLE ${SCRATCH}.checkpoint (
  channel VARCHAR(64) CHARACTER SET utf8 COLLATE utf8_bin NOT NULL,
  worker SMALLINT UNSIGNED NOT NULL,
  engine CHAR(36) CHARACTER SET ascii NOT NULL,
  transactions BIGINT UNSIGNED NOT NULL,
  source_file VARCHAR(512) CHARACTER SET utf8 COLLATE utf8_bin NOT NULL,
  source_position BIGINT UNSIGNED NOT NULL,
  gtids LONGTEXT CHARACTER SET ascii NOT NULL,
  intent TEXT CHARACTER SET utf8 NULL,
  ahead LONGTEXT CHARACTER SET ascii NOT NULL,
  last BIGINT UNSIGNED NOT NULL,
  PRIMARY KEY (channel, worker)
) ENGINE=InnoDB`;

/**
 * `onMade`: from now on there is something to be dropped.
 * @throws ReplicationError CONFIG when there is a schema of that name that is not ours; ACCESS_DENIED
 */
export async function makeScratch(session: Session, keys: readonly WorkerKey[], onMade: () => void): Promise<void> {
  await dropFormer(session);
  await session.execute(`CREATE DATABASE ${SCRATCH}`);
  onMade();
  await session.execute(ROWS_TABLE);
  await session.execute(CHECKPOINT);
  const rows = keys.map(
    ({ channel, worker, engineId }) => `('${channel}',${worker},'${engineId}',0,'',0,'',NULL,'',0)`,
  );
  await session.execute(`INSERT INTO ${SCRATCH}.checkpoint VALUES ${rows.join(",")}`);
}

/** What the session changes from now on is in no binlog. @returns false: the account may not do that */
export async function leaveBinlogOut(session: Session): Promise<boolean> {
  try {
    await session.execute("SET SESSION sql_log_bin=0");
    return true;
  } catch (error) {
    if (error instanceof ReplicationError && error.code === "ACCESS_DENIED") return false;
    throw error;
  }
}

/** That a calibration was killed is no reason to refuse the next one. */
async function dropFormer(session: Session): Promise<void> {
  const tables = await session.query(
    `SELECT table_name AS name FROM information_schema.tables WHERE table_schema='${SCRATCH}'`,
  );
  if (tables.some(({ name }) => !TABLES.includes(name ?? ""))) {
    throw new ReplicationError("CONFIG", `the schema ${SCRATCH} holds tables that no calibration made`, {
      where: { server: session.server },
      hint: "calibrating drops this schema: give it another name first",
    });
  }
  await session.execute(`DROP DATABASE IF EXISTS ${SCRATCH}`);
}

export async function dropScratch(session: Session): Promise<void> {
  await session.execute(`DROP DATABASE IF EXISTS ${SCRATCH}`);
}

/** What an engine writes with each run, in the scratch schema. */
export function scratchCheckpoint(key: WorkerKey, number: number): string {
  const position = { source: { file: "binlog.000001", position: 4 + 1_000 * number }, transactions: BigInt(number) };
  const gtids = `3e11fa47-71ca-11e1-9e33-c80aa9429562:1-${number}`;
  return checkpointUpdate(key, { low: { ...position, gtids }, ahead: "", last: BigInt(number) }).replace(
    "abreast.checkpoint",
    `${SCRATCH}.checkpoint`,
  );
}
