import { expect, test } from "vitest";
import { useServer } from "../../test/helpers/servers.ts";
import { testCoarseCollations, testCollations, testWritesets } from "../../test/helpers/writeset-cases.ts";
import { writesetsOf } from "../../test/helpers/writesets.ts";

const server = useServer("mariadb-10.11", { options: ["--log-bin-compress=OFF"] });

testWritesets(server, { virtualKnown: true });

testCollations(server, [
  "utf8mb4_general_ci",
  "utf8mb4_unicode_ci",
  "utf8mb4_unicode_nopad_ci",
  "utf8mb4_uca1400_ai_ci",
  "utf8mb4_uca1400_nopad_ai_ci",
  "utf8mb4_bin",
  "utf8mb4_nopad_bin",
  "utf8mb4_czech_ci",
  "utf16_general_ci",
  "latin1_german2_ci",
  "latin1_swedish_ci",
  "latin1_swedish_nopad_ci",
]);

testCoarseCollations(server, [
  "utf8mb4_uca1400_as_cs",
  "utf8mb4_uca1400_as_ci",
  "utf8mb4_uca1400_nopad_as_ci",
  "utf8mb4_uca1400_polish_nopad_ai_cs",
  "utf8mb4_thai_520_w2",
]);

test("UUID and addresses are cut in the log; long unique keys and system versioning have hidden columns; periods are not compared as values", async () => {
  const sets = await writesetsOf(server(), [
    "USE w",
    "CREATE TABLE addresses(u UUID PRIMARY KEY, a INET6 NOT NULL UNIQUE, b INET4 NOT NULL UNIQUE)",
    "CREATE TABLE blobs(b BLOB NOT NULL UNIQUE, x INT)",
    "CREATE TABLE periods(id INT, s DATE, e DATE, PERIOD FOR p(s,e), UNIQUE(id, p WITHOUT OVERLAPS))",
    "CREATE TABLE versions(id INT PRIMARY KEY, x INT) WITH SYSTEM VERSIONING",
    "INSERT INTO addresses VALUES ('00000000-0000-0000-0000-000000000100','::','0.0.0.0')",
    "INSERT INTO blobs VALUES ('abc',1)",
    "DELETE FROM blobs",
    "INSERT INTO periods VALUES (1,'2026-01-01','2026-02-01')",
    "INSERT INTO periods VALUES (1,'2026-03-01','2026-04-01')",
    "INSERT INTO periods VALUES (2,'2026-03-01','2026-04-01')",
    "INSERT INTO versions VALUES (1,1)",
    "UPDATE versions SET x=2 WHERE id=1",
    "INSERT INTO versions VALUES (2,2)",
  ]);
  expect(sets.map(({ writes, opaque, fallback }) => [new Set(writes).size, opaque, fallback])).toEqual([
    [3, false, false],
    ...Array.from({ length: 8 }, () => [1, false, false]),
  ]);
  const hashes = sets.map(({ writes }) => writes[0]);
  expect(hashes[1]).toBe(hashes[2]);
  expect([hashes[3] === hashes[4], hashes[3] === hashes[5]]).toEqual([true, false]);
  expect([hashes[6] === hashes[7], hashes[6] === hashes[8]]).toEqual([true, false]);
});
