import type { RowDataPacket } from "mysql2/promise";
import type { OfflineWritesetsOptions } from "../../src/inspect/keys/writesets.ts";
import { OfflineWritesets } from "../../src/inspect/keys/writesets.ts";
import type { SandboxServer } from "../../src/sandbox/start.ts";
import { parseSchemaDump, type Schema } from "../../src/schema/dump.ts";
import type { Writeset } from "../../src/schedule/writeset.ts";
import type { Transaction } from "../../src/transaction/transaction.ts";
import { withConnection } from "./servers.ts";
import { conflict, transactionsOf } from "./writesets.ts";

/** The schema's tables, by the texts of SHOW CREATE TABLE. */
export async function dumpedSchema(server: SandboxServer, schema: string): Promise<Schema> {
  return withConnection(server, async (connection) => {
    const [tables] = await connection.query<RowDataPacket[]>(`SHOW TABLES FROM ${schema}`);
    let dump = `USE ${schema};\n`;
    for (const row of tables) {
      const [[made]] = await connection.query<RowDataPacket[]>(`SHOW CREATE TABLE ${schema}.${Object.values(row)[0]}`);
      dump += `${made?.["Create Table"]};\n`;
    }
    return parseSchemaDump(dump);
  });
}

/** The row transactions that the server logs for the statements. */
export async function rowTransactions(server: SandboxServer, statements: readonly string[]): Promise<Transaction[]> {
  return (await transactionsOf(server, statements)).filter(({ kind }) => kind !== "ddl");
}

/** `2w` two hashes changed, `1r` one relied on; which were in conflict, `0-2`; and where the keys came from. */
export function offline(
  transactions: readonly Transaction[],
  options: OfflineWritesetsOptions,
): { told: string[]; conflicts: string[]; from: string[] } {
  const writesets = new OfflineWritesets(options);
  const sets = transactions.map((transaction) => writesets.of(transaction));
  return {
    told: sets.map(tell),
    conflicts: conflictsOf(sets),
    from: writesets.keysFrom().map(({ table, from }) => `${table}: ${from}`),
  };
}

export function conflictsOf(sets: readonly Writeset[]): string[] {
  return sets.flatMap((a, i) => sets.flatMap((b, j) => (i < j && conflict(a, b) ? [`${i}-${j}`] : [])));
}

function tell({ writes, reads, fallback, opaque }: Writeset): string {
  const parts = [`${writes.length}w`];
  if (reads.length > 0) parts.push(`${reads.length}r`);
  if (fallback) parts.push("fallback");
  if (opaque) parts.push("opaque");
  return parts.join(" ");
}
