import { ReplicationError } from "../base/error.ts";
import { describeTable, NOT_SYSTEM_SCHEMA, quoteName, quoteTable, quoteText } from "../schema/names.ts";
import type { Session } from "../wire/session.ts";
import type { CopyState } from "./copy-state.ts";
import type { Inventory, SourceTable } from "./inventory.ts";
import { type DefinitionServer, translateCollation, translateDefinition } from "./translate.ts";

const NAMES_SHOWN_MAX = 10;

/** @throws ReplicationError NOT_EMPTY with what is there */
export async function expectEmptyTarget(session: Session): Promise<void> {
  const rows = await session.query(
    `SELECT CONCAT(TABLE_SCHEMA,'.',TABLE_NAME) AS name FROM information_schema.TABLES WHERE TABLE_SCHEMA ${NOT_SYSTEM_SCHEMA} UNION ALL ` +
      `SELECT CONCAT(LOWER(ROUTINE_TYPE),' ',ROUTINE_SCHEMA,'.',ROUTINE_NAME) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA ${NOT_SYSTEM_SCHEMA} UNION ALL ` +
      `SELECT CONCAT('event ',EVENT_SCHEMA,'.',EVENT_NAME) FROM information_schema.EVENTS WHERE EVENT_SCHEMA ${NOT_SYSTEM_SCHEMA}`,
  );
  if (rows.length === 0) return;
  const shown = rows.slice(0, NAMES_SHOWN_MAX).map((row) => row["name"]);
  const more = rows.length > shown.length ? ` and ${rows.length - shown.length} more` : "";
  throw new ReplicationError("NOT_EMPTY", `the target already has ${shown.join(", ")}${more}`, {
    where: { server: session.server },
    hint: "copy into an empty server; or drop these if they are not needed; or replicate without --init if they are a copy of the source",
  });
}

/** Removes the schemas that a copy made, with all that is in them, and forgets the copy. */
export async function dropCopied(session: Session, channel: string, state: CopyState): Promise<void> {
  for (const schema of state.schemas) await session.execute(`DROP DATABASE IF EXISTS ${quoteName(schema)}`);
  await session.execute(`DELETE FROM abreast.copy_state WHERE channel=${quoteText(channel)}`);
}

/** Also after a former attempt. Returns warnings. */
export async function createSchemasAndSequences(
  session: Session,
  inventory: Inventory,
  from: DefinitionServer,
  to: DefinitionServer,
): Promise<string[]> {
  const warnings = new Set<string>();
  await session.execute("SET NAMES utf8mb4");
  for (const { name, collation } of inventory.schemas) {
    const known = translateCollation(collation, to, warnings);
    const characterSet = `DEFAULT CHARACTER SET ${/^[a-z0-9]+/.exec(known)?.[0]} COLLATE ${known}`;
    await session.execute(`CREATE DATABASE IF NOT EXISTS ${quoteName(name)} ${characterSet}`);
    await session.execute(`ALTER DATABASE ${quoteName(name)} ${characterSet}`);
  }
  for (const sequence of inventory.sequences) {
    if (to.flavour !== "mariadb") {
      throw new ReplicationError(
        "UNSUPPORTED",
        `MySQL has no sequences, and the source has ${describeTable(sequence)}`,
        {
          hint: "drop it on the source, or use a MariaDB target",
        },
      );
    }
    const { statement } = translateDefinition(sequence.create, from, to);
    await session.execute(
      `USE ${quoteName(sequence.schema)};DROP SEQUENCE IF EXISTS ${quoteName(sequence.name)};${statement}`,
    );
    await session.query(`SELECT SETVAL(${quoteTable(sequence)},${sequence.next},0)`);
  }
  await session.execute("SET NAMES binary");
  return [...warnings];
}

/** The CREATE TABLE of each table in the target's words; adds to `warnings`. */
export function createTables(
  tables: readonly SourceTable[],
  from: DefinitionServer,
  to: DefinitionServer,
  warnings: string[],
): Map<SourceTable, string> {
  const seen = new Set(warnings);
  return new Map(
    tables.map((table) => {
      const translation = translateDefinition(table.create, from, to);
      for (const warning of translation.warnings) {
        if (!seen.has(warning)) warnings.push(`${describeTable(table)}: ${warning}`);
        seen.add(warning);
      }
      return [table, translation.statement];
    }),
  );
}
