import { expect, test } from "vitest";
import { type DefinitionServer, translateDefinition } from "./translate.ts";

const M56 = server("mysql", 5, 6, ["utf8_general_ci", "utf8mb4_general_ci", "latin1_swedish_ci"], {
  utf8mb3: "utf8_general_ci",
  utf8mb4: "utf8mb4_general_ci",
  latin1: "latin1_swedish_ci",
});
const M97 = server(
  "mysql",
  9,
  7,
  ["utf8mb3_general_ci", "utf8mb4_general_ci", "utf8mb4_0900_ai_ci", "latin1_swedish_ci"],
  {
    utf8mb3: "utf8mb3_general_ci",
    utf8mb4: "utf8mb4_0900_ai_ci",
    latin1: "latin1_swedish_ci",
  },
);
const MARIADB = server(
  "mariadb",
  10,
  11,
  ["utf8mb4_general_ci", "utf8mb4_uca1400_nopad_ai_ci", "utf8mb4_nopad_bin", "latin1_swedish_ci"],
  {
    utf8mb4: "utf8mb4_general_ci",
    latin1: "latin1_swedish_ci",
  },
);

test("between servers of one series nothing changes", () => {
  const statement = "CREATE TABLE `t` (`a` varchar(9) CHARACTER SET utf8mb4) DEFAULT CHARSET=utf8";
  expect(translateDefinition(statement, M56, { ...M56 })).toEqual({ statement, warnings: [] });
});

test("a default collation that the target has another of is written out", () => {
  expect(
    translateDefinition(
      "CREATE TABLE `t` (`a` varchar(9) CHARACTER SET utf8 NOT NULL, `b` text CHARACTER SET latin1 COLLATE latin1_swedish_ci) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4",
      M56,
      M97,
    ),
  ).toEqual({
    statement:
      "CREATE TABLE `t` (`a` varchar(9) CHARACTER SET utf8mb3 COLLATE utf8mb3_general_ci NOT NULL, `b` text CHARACTER SET latin1 COLLATE latin1_swedish_ci) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE utf8mb4_general_ci",
    warnings: [],
  });
});

test("a collation that the target lacks becomes the nearest one, with a warning", () => {
  const { statement, warnings } = translateDefinition(
    "`a` text COLLATE utf8mb4_0900_bin) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci",
    M97,
    MARIADB,
  );
  expect(statement).toBe(
    "`a` text COLLATE utf8mb4_nopad_bin) DEFAULT CHARSET=utf8mb4 COLLATE utf8mb4_uca1400_nopad_ai_ci",
  );
  expect(warnings).toHaveLength(2);
  expect(translateDefinition("COLLATE=utf8mb4_uca1400_nopad_ai_ci", MARIADB, M97).statement).toBe(
    "COLLATE utf8mb4_0900_ai_ci",
  );
});

test("MariaDB's newer collations have a nearest one in each of their character sets", () => {
  const to = { ...M97, collations: new Set([...M97.collations, "utf16_unicode_520_ci", "ucs2_bin"]) };
  for (const [given, nearest] of [
    ["utf8mb4_uca1400_ai_ci", "utf8mb4_0900_ai_ci"],
    ["utf16_uca1400_ai_ci", "utf16_unicode_520_ci"],
    ["ucs2_uca1400_nopad_as_cs", "ucs2_bin"],
  ]) {
    expect(translateDefinition(`COLLATE ${given}`, MARIADB, to).statement).toBe(`COLLATE ${nearest}`);
  }
});

test("one that has no near relative keeps its name, for the target to refuse", () => {
  expect(translateDefinition("COLLATE utf8mb4_zh_0900_as_cs", M97, MARIADB).statement).toBe(
    "COLLATE utf8mb4_zh_0900_as_cs",
  );
});

test("strings, comments and names are left as they are", () => {
  const statement = "`CHARSET=utf8mb4` int COMMENT 'COLLATE utf8mb4_0900_ai_ci, it''s \\' CHARACTER SET utf8mb4'";
  expect(translateDefinition(statement, M97, MARIADB).statement).toBe(statement);
});

test("what MySQL hides in comments is said in MariaDB's words, or warned about", () => {
  const { statement, warnings } = translateDefinition(
    "`a` int /*!80023 INVISIBLE */, KEY `k` (`a`) /*!80000 INVISIBLE */, CHECK (`a` > 1) /*!80016 NOT ENFORCED */ /*!50100 PARTITION BY KEY () */",
    M97,
    MARIADB,
  );
  expect(statement).toBe(
    "`a` int INVISIBLE, KEY `k` (`a`) IGNORED, CHECK (`a` > 1) /*!80016 NOT ENFORCED */ /*!50100 PARTITION BY KEY () */",
  );
  expect(warnings).toEqual(["MariaDB has no NOT ENFORCED"]);
});

function server(
  flavour: "mysql" | "mariadb",
  major: number,
  minor: number,
  collations: string[],
  defaults: Record<string, string>,
): DefinitionServer {
  return {
    flavour,
    major,
    minor,
    collations: new Set(collations),
    defaultCollations: new Map(Object.entries(defaults)),
  };
}
