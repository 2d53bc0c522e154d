import { expect, test } from "vitest";
import type { Writeset } from "../schedule/writeset.ts";
import { useServer } from "../../test/helpers/servers.ts";
import { testCollations, testWritesets } from "../../test/helpers/writeset-cases.ts";
import { conflict, writesetsOf } from "../../test/helpers/writesets.ts";

const server = useServer("mysql-9.7", { options: ["--restrict-fk-on-non-standard-key=OFF"] });

testWritesets(server, { virtualKnown: true });

testCollations(server, [
  "utf8mb4_0900_ai_ci",
  "utf8mb4_0900_as_ci",
  "utf8mb4_0900_as_cs",
  "utf8mb4_0900_bin",
  "utf8mb4_general_ci",
  "utf8mb4_unicode_ci",
  "utf8mb4_unicode_520_ci",
  "utf8mb4_bin",
  "utf8mb4_czech_ci",
  "utf8mb4_cs_0900_ai_ci",
  "utf8mb4_hungarian_ci",
  "utf8mb4_da_0900_as_cs",
  "utf8mb4_ja_0900_as_cs_ks",
  "utf8mb4_tr_0900_ai_ci",
  "utf16_general_ci",
  "utf32_unicode_ci",
  "utf16_bin",
  "latin1_german2_ci",
  "latin1_swedish_ci",
  "latin1_general_cs",
  "latin1_bin",
]);

test("a key on an expression is told by its other columns, if any; an invisible one is a key like others", async () => {
  const sets = await writesetsOf(server(), [
    "USE w",
    "CREATE TABLE fx(id INT PRIMARY KEY, a INT, UNIQUE((a+1)))",
    "CREATE TABLE fy(id INT PRIMARY KEY, a INT, b INT, UNIQUE(b,(a+1)))",
    "CREATE TABLE inv(id INT PRIMARY KEY, a INT, UNIQUE(a) INVISIBLE)",
    "SET SESSION sql_generate_invisible_primary_key=ON",
    "CREATE TABLE gipk(a INT)",
    "INSERT INTO fx VALUES (1,1)",
    "INSERT INTO fx VALUES (2,7)",
    "INSERT INTO fy VALUES (1,1,1)",
    "INSERT INTO fy VALUES (2,2,2)",
    "UPDATE fy SET a=5 WHERE b=1",
    "INSERT INTO inv VALUES (1,1)",
    "SET SESSION show_gipk_in_create_table_and_information_schema=OFF",
    "INSERT INTO gipk VALUES (1)",
  ]);
  expect(sets.map(({ writes, opaque, fallback }) => [writes.length, opaque, fallback])).toEqual([
    [2, false, false],
    [2, false, false],
    [2, false, false],
    [2, false, false],
    [2, false, false],
    [2, false, false],
    [1, false, false],
  ]);
  const [fx1, fx2, fy1, fy2, fy3] = sets as [Writeset, Writeset, Writeset, Writeset, Writeset];
  expect([conflict(fx1, fx2), conflict(fy1, fy2), conflict(fy1, fy3)]).toEqual([true, false, true]);
});

test("an update of a part of a JSON document is walked over", async () => {
  const sets = await writesetsOf(server(), [
    "USE w",
    `CREATE TABLE j(id INT PRIMARY KEY, d JSON, v VARCHAR(9) AS (d->>'$.a') STORED UNIQUE)`,
    `INSERT INTO j(id,d) VALUES (1,'{"a":"x","b":"${"long".repeat(50)}"}')`,
    "SET SESSION binlog_row_value_options=PARTIAL_JSON, binlog_row_image=FULL",
    "UPDATE j SET d=JSON_SET(d,'$.b','y')",
    "UPDATE j SET d=JSON_SET(d,'$.a','y')",
  ]);
  expect(sets.map(({ writes, opaque, fallback }) => [writes.length, opaque, fallback])).toEqual([
    [2, false, false],
    [2, false, false],
    [3, false, false],
  ]);
});
