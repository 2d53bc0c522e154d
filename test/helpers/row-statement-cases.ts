import { describe, expect, test } from "vitest";
import type { ServerFlavour } from "../../src/sandbox/flavours.ts";
import type { SandboxServer } from "../../src/sandbox/start.ts";
import type { Table } from "../../src/schema/catalog.ts";
import { quoteName } from "../../src/schema/names.ts";
import { allTypes, type TypesOf } from "./all-types.ts";
import { binlogFiles } from "./assemble.ts";
import { contents, runAll } from "./replay.ts";
import { printed, runWithClient, tablesOf } from "./row-statements.ts";
import { useServer } from "./servers.ts";

/** Rows of a binlog that a server of this kind wrote become statements that this kind of server takes, forward and backward. */
export function describeRowStatements(flavour: ServerFlavour, of: TypesOf): void {
  describe(flavour, () => {
    const source = useServer(flavour);
    const copy = useServer(flavour);

    test("a log's statements, run on an empty server, give the same rows of every type, and their undoing the rows before", async () => {
      await runAll(source(), allTypes(of));
      const tables = await tablesOf(source());
      const { sql, outcome } = await printed("rows", await binlogFiles(source()), { tables });
      expect(outcome).toMatchObject({ obstacles: new Map(), asComments: 0, missing: undefined });
      await runWithClient(copy(), sql);
      const before = await contents(source(), "types");
      expect(await contents(copy(), "types")).toEqual(before);

      await changeEverything(source(), tables);
      const after = await contents(source(), "types");
      expect(after).not.toEqual(before);
      const changes = (await binlogFiles(source())).slice(-1);
      await runWithClient(copy(), (await printed("rows", changes, { tables })).sql);
      expect(await contents(copy(), "types")).toEqual(after);

      const undo = await printed("undo", changes, { tables });
      expect(undo.outcome.asComments).toBe(0);
      expect(undo.outcome.rows).toBeGreaterThan(50);
      await runWithClient(source(), undo.sql);
      expect(await contents(source(), "types")).toEqual(before);
    });
  });
}

const LENIENT = "SET SESSION sql_mode='NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES', time_zone='+05:00'";

/** Deletes every row, puts back what was saved, and gives every column NULL and another row's value; in a binlog file of its own. */
async function changeEverything(server: SandboxServer, tables: readonly Table[]): Promise<void> {
  const statements: string[] = [];
  const saving = ["CREATE DATABASE saved"];
  for (const { schema, name, columns, keys } of tables) {
    if (schema !== "types") continue;
    const [table, saved] = [`types.${quoteName(name)}`, `saved.${quoteName(name)}`];
    const stored = columns.filter(({ generated }) => generated === "no");
    const names = stored.map((column) => quoteName(column.name)).join(",");
    saving.push(`CREATE TABLE ${saved} LIKE ${table}`, `INSERT INTO ${saved} (${names}) SELECT ${names} FROM ${table}`);
    const unique = new Set(keys.filter((key) => key.unique).flatMap((key) => key.columns.map((column) => column.name)));
    const free = stored.filter((column) => !unique.has(column.name)).map((column) => quoteName(column.name));
    statements.push("BEGIN", `DELETE FROM ${table}`, `INSERT INTO ${table} (${names}) SELECT ${names} FROM ${saved}`);
    for (const column of free) {
      statements.push(`UPDATE ${table} SET ${column}=NULL`, "COMMIT", "BEGIN");
      statements.push(`UPDATE ${table} SET ${column}=(SELECT ${column} FROM ${saved} LIMIT 1)`);
    }
    statements.push("COMMIT", `DELETE FROM ${table} LIMIT 1`);
  }
  await runAll(server, [LENIENT, ...saving, "FLUSH BINARY LOGS", ...statements]);
}
