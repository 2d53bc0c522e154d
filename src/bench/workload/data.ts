import type { ServerAddress } from "../../base/server-url.ts";
import { Session } from "../../wire/session.ts";
import { SqlError } from "../../wire/sql-error.ts";
import type { Workload } from "./workload.ts";

const TABLE_EXISTS = 1050;
const UNKNOWN_SCHEMA = 1049;
const UNKNOWN_TABLE = 1146;

const HINTS: Readonly<Record<number, string>> = {
  [TABLE_EXISTS]: "remove the tables of an earlier load first: abreast bench load … cleanup",
  [UNKNOWN_SCHEMA]: "make the tables first, as many and as large: abreast bench load … prepare",
  [UNKNOWN_TABLE]: "make the tables first, as many and as large: abreast bench load … prepare",
};

/** The same error; what a load stumbles over when its tables are there or not, with the remedy. */
export function withRemedy(error: unknown): unknown {
  if (!(error instanceof SqlError)) return error;
  const { code, message, sqlCode, sqlState, where, cause } = error;
  const hint = HINTS[sqlCode] ?? error.hint;
  return new SqlError(code, message, sqlCode, sqlState, { where, cause, ...(hint === undefined ? {} : { hint }) });
}

/** Makes the schemas that are missing, and fills each with tables and rows of its own. */
export async function prepareData(
  address: ServerAddress,
  schema: string | readonly string[],
  workload: Workload,
  seed: number,
): Promise<void> {
  const session = await Session.connect(address);
  try {
    for (const [index, each] of [schema].flat().entries()) {
      await session.execute(`CREATE DATABASE IF NOT EXISTS \`${each}\`; USE \`${each}\``);
      for (const statement of workload.preparation(seed + index)) await session.execute(statement);
    }
  } catch (error) {
    throw withRemedy(error);
  } finally {
    await session.close();
  }
}

/** Drops these tables in these schemas, where they are there. The schemas stay, for they may be somebody's. */
export async function cleanUpData(
  address: ServerAddress,
  schemas: readonly string[],
  tables: readonly string[],
): Promise<void> {
  const session = await Session.connect(address);
  try {
    for (const schema of schemas) {
      for (const table of tables) {
        await session.execute(`DROP TABLE IF EXISTS \`${schema}\`.\`${table}\``).catch((error: unknown) => {
          if (!(error instanceof SqlError) || error.sqlCode !== UNKNOWN_SCHEMA) throw error;
        });
      }
    }
  } finally {
    await session.close();
  }
}
