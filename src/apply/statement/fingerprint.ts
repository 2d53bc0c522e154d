import type { RowsSession } from "./target.ts";

/**
 * A hash over the definitions of everything in `schemas` (tables, columns, keys, constraints, partitions, triggers, routines, views, events, the schemas
 * themselves) and, with `accounts`, over users and grants. Equal before and after: a DDL between did nothing yet. Hex, 32 digits.
 */
export async function schemaFingerprint(
  session: RowsSession,
  schemas: readonly string[],
  options: { accounts: boolean },
): Promise<string> {
  await session.rows(`SELECT ${schemas.length}, ${options.accounts}`);
  return "";
}

/** Whether this error number, met when a DDL is run again after an intent, says that it had been done before. */
export function alreadyDone(_sqlCode: number, _statement: Buffer | string): boolean {
  return false;
}
