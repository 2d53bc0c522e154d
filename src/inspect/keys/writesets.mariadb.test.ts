import { beforeAll, expect, test } from "vitest";
import { dumpedSchema, offline, rowTransactions } from "../../../test/helpers/offline-writesets.ts";
import { query, useServer } from "../../../test/helpers/servers.ts";

const server = useServer("mariadb-10.11");

beforeAll(async () => {
  await query(server(), "CREATE DATABASE w DEFAULT CHARACTER SET utf8mb4");
});

const load = (table: string): string[] => [
  "USE w",
  `CREATE TABLE ${table}(name VARCHAR(20) PRIMARY KEY, n INT)`,
  `INSERT INTO ${table} VALUES ('Ann',1)`,
  `INSERT INTO ${table} VALUES ('Bob',1)`,
  `UPDATE ${table} SET n=2 WHERE name='ann'`,
  `DELETE FROM ${table} WHERE name='bob'`,
  `INSERT INTO ${table} VALUES ('BOB',5)`,
];

test("without metadata and schema the first column is guessed, by its bytes; a dump tells all", async () => {
  const transactions = await rowTransactions(server(), load("plain"));
  const guessed = offline(transactions, { schema: undefined });
  expect(guessed.from).toEqual(["w.plain: guess"]);
  expect(guessed.conflicts).toEqual(["0-2", "1-3"]);
  const dumped = offline(transactions, { schema: await dumpedSchema(server(), "w") });
  expect(dumped.from).toEqual(["w.plain: schema"]);
  expect(dumped.conflicts).toEqual(["0-2", "1-3", "1-4", "3-4"]);
});

test("a log with all metadata tells primary keys and collations", async () => {
  const transactions = await rowTransactions(server(), ["SET GLOBAL binlog_row_metadata=FULL", ...load("told")]);
  const { from, conflicts } = offline(transactions, { schema: undefined });
  expect(from).toEqual(["w.told: log"]);
  expect(conflicts).toEqual(["0-2", "1-3", "1-4", "3-4"]);
});
