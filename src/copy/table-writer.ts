import { setTimeout as sleep } from "node:timers/promises";
import { ReplicationError } from "../base/error.ts";
import type { ServerAddress } from "../base/server-url.ts";
import { describeTable, quoteName } from "../schema/names.ts";
import type { StatementResult } from "../wire/text-result.ts";
import type { Session } from "../wire/session.ts";
import { SqlError } from "../wire/sql-error.ts";
import { committedRows, copyStateUpdate } from "./copy-state.ts";
import type { SourceTable } from "./inventory.ts";
import type { CopyPosition } from "./position.ts";
import { BACK_OFF_MS, openTargetSession } from "./target-session.ts";

/** Rows of one table on their way, as INSERT statements. */
export interface Batch {
  statement: Buffer;
  rows: number;
}

const TRIES_OF_ONE_BATCH_MAX = 10;
/** WARN_DATA_TRUNCATED: what an ENUM of index 0 gives; its value arrives all the same. */
const DATA_TRUNCATED = "1265";

/**
 * Writes the rows of one table after the other. Invariant: a batch and the count of rows up to it commit together, so after a lost connection the count says whether
 * the batch is there; without it, rows of a table without a key would come twice.
 */
export class TableWriter {
  readonly #address: ServerAddress;
  readonly #channel: string;
  readonly #number: number;
  readonly #signal: AbortSignal;
  #session: Session | undefined;

  /** `number`: of this writer among those of the channel. */
  constructor(address: ServerAddress, channel: string, number: number, signal: AbortSignal) {
    this.#address = address;
    this.#channel = channel;
    this.#number = number;
    this.#signal = signal;
  }

  /** Makes the table anew, empty, and marks it as begun. `create`: CREATE TABLE in the target's words. */
  async begin(table: SourceTable, create: string, position: CopyPosition): Promise<void> {
    await this.#retrying(async (session) => {
      await session.execute(copyStateUpdate(this.#key(table), "copying", position, 0));
      await session.execute(`USE ${quoteName(table.schema)}`);
      await session.execute(`DROP TABLE IF EXISTS ${quoteName(table.name)}`);
      try {
        await session.execute(`SET NAMES utf8mb4;${create}`);
      } catch (error) {
        if (!(error instanceof SqlError) || error.code === "CONNECTION_LOST") throw error;
        throw refusedTable(table, create, error);
      } finally {
        await session.execute("SET NAMES binary").catch(() => {});
      }
    });
  }

  /** Writes a batch, exactly once. `rowsBefore`: of this table, written before it. */
  async write(table: SourceTable, position: CopyPosition, batch: Batch, rowsBefore: number): Promise<void> {
    const key = this.#key(table);
    let isUncertain = false;
    await this.#retrying(async (session) => {
      if (isUncertain && (await committedRows(session, key)) !== rowsBefore) return;
      const update = copyStateUpdate(key, "copying", position, rowsBefore + batch.rows);
      isUncertain = true;
      const results = await session.execute([Buffer.from(`BEGIN;${update};`), batch.statement]);
      await checkWarnings(session, table, results.at(-1));
      await session.execute("COMMIT");
    });
  }

  async finish(table: SourceTable, position: CopyPosition, rows: number): Promise<void> {
    await this.#retrying(async (session) => {
      await session.execute(copyStateUpdate(this.#key(table), "done", position, rows));
    });
  }

  async close(): Promise<void> {
    await this.#session?.close();
  }

  destroy(): void {
    this.#session?.destroy();
  }

  #key(table: SourceTable): { channel: string; schema: string; table: string } {
    return { channel: this.#channel, schema: table.schema, table: table.name };
  }

  /** Opens a new session when one is lost; tries again what the target rolled back. */
  async #retrying(work: (session: Session) => Promise<void>): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      this.#signal.throwIfAborted();
      try {
        this.#session ??= await openTargetSession(this.#address, this.#channel, this.#number);
        await work(this.#session);
        return;
      } catch (error) {
        this.#signal.throwIfAborted();
        if (!(error instanceof ReplicationError)) throw error;
        const isLost = error.code === "CONNECTION_LOST" || error.code === "CONNECT";
        const triesMax = isLost ? BACK_OFF_MS.length : TRIES_OF_ONE_BATCH_MAX;
        if ((!isLost && error.code !== "APPLY_TEMPORARY") || attempt >= triesMax) throw error;
        if (isLost) {
          this.#session?.destroy();
          this.#session = undefined;
        } else {
          await this.#session?.execute("ROLLBACK").catch(() => {});
        }
        await sleep(BACK_OFF_MS[attempt], undefined, { signal: this.#signal });
      }
    }
  }
}

/** A value that the target took only in part is no copy. */
async function checkWarnings(session: Session, table: SourceTable, result: StatementResult | undefined): Promise<void> {
  if (result === undefined || result.warnings === 0) return;
  const enums = table.columns.filter((column) => column.dataType === "enum");
  for (const row of await session.query("SHOW WARNINGS")) {
    const isEmptyEnum =
      row["Code"] === DATA_TRUNCATED && enums.some((column) => row["Message"]?.includes(`'${column.name}'`));
    if (isEmptyEnum || row["Level"] === "Note") continue;
    throw new ReplicationError("APPLY", `the target changes a value of ${describeTable(table)}: ${row["Message"]}`, {
      where: { server: session.server, table: describeTable(table) },
      hint: "repair this value on the source, or make the column on the target wide enough by changing it on the source, then start again",
    });
  }
}

function refusedTable(table: SourceTable, create: string, error: SqlError): ReplicationError {
  return new ReplicationError(
    error.code === "ACCESS_DENIED" ? "ACCESS_DENIED" : "UNSUPPORTED",
    `the target refuses the definition of ${describeTable(table)}: ${error.message}\n${create}`,
    {
      where: { ...error.where, table: describeTable(table) },
      hint:
        error.code === "ACCESS_DENIED"
          ? "run abreast preflight: it names the missing grant"
          : "change the table on the source so that both servers know it, then start again",
      cause: error,
    },
  );
}
