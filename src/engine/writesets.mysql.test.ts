import { beforeAll, describe, expect, test } from "vitest";
import { query, useServer } from "../../test/helpers/servers.ts";
import { conflict, equalTexts, writesetsOf } from "../../test/helpers/writesets.ts";

const server = useServer("mysql-9.7", { options: ["--binlog-row-image=FULL"] });

beforeAll(async () => {
  await query(server(), "CREATE DATABASE d");
});

describe("texts that the server calls equal have one hash, and no others", () => {
  const UNICODE = [
    ...["Abc", "aBC ", "abc", "abc  ", "ab", "ß", "ss", "SS", "s", "é", "e", "E", "è", "", " ", "a\u00a0", "a", "a\t"],
    ...[
      "ch",
      "c",
      "h",
      "cH",
      "Ch",
      "cx",
      "ča",
      "ca",
      "日本",
      "ニホン",
      "にほん",
      "👍",
      "👎",
      "Å",
      "A\u030a",
      "a\u0000",
      "ǆ",
      "dž",
      "ﬁ",
      "fi",
    ],
  ];
  test.each([
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
    "utf8mb4_ja_0900_as_cs_ks",
    "utf8mb4_tr_0900_ai_ci",
    "utf16_general_ci",
    "utf32_unicode_ci",
  ])("%s", async (collation) => {
    const type = `VARCHAR(30) CHARACTER SET ${collation.split("_")[0]} COLLATE ${collation}`;
    const { byHash, byServer } = await equalTexts(server(), { type }, UNICODE);
    expect(byHash).toEqual(byServer);
  });
});

test("rows with one integer key", async () => {
  await query(server(), "CREATE TABLE d.i(id INT PRIMARY KEY, k INT, KEY(k))");
  const [one, two, three, four] = await writesetsOf(server(), [
    "INSERT INTO d.i VALUES (1,1)",
    "INSERT INTO d.i VALUES (2,1)",
    "UPDATE d.i SET k=2 WHERE id=1",
    "UPDATE d.i SET id=3 WHERE id=2",
  ]);
  if (one === undefined || two === undefined || three === undefined || four === undefined) throw new Error("missing");
  expect([one, two, three, four].map(({ writes }) => writes.length)).toEqual([1, 1, 1, 2]);
  expect([conflict(one, two), conflict(one, three), conflict(two, four), conflict(one, four)]).toEqual([
    false,
    true,
    true,
    false,
  ]);
  expect([one, two, three, four].some(({ fallback, opaque }) => fallback || opaque)).toBe(false);
});
