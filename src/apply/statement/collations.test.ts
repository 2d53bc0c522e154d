import { expect, test } from "vitest";
import { characterSetOf, collationName } from "../../schema/collation-names.ts";
import { characterSetOnTarget, collationIdOnTarget, collationOnTarget } from "./collations.ts";
import { factsOf } from "../../../test/helpers/target-facts.ts";

const MYSQL_97 = factsOf("9.7.4");
const MYSQL_56 = factsOf("5.6.24");
const MARIADB_1011 = factsOf("10.11.18-MariaDB");

test("ids have the names that SHOW COLLATION gives", () => {
  const names: [number, "mysql" | "mariadb", string | undefined][] = [
    [8, "mysql", "latin1_swedish_ci"],
    [33, "mysql", "utf8mb3_general_ci"],
    [45, "mariadb", "utf8mb4_general_ci"],
    [63, "mysql", "binary"],
    [224, "mysql", "utf8mb4_unicode_ci"],
    [247, "mysql", "utf8mb4_vietnamese_ci"],
    [255, "mysql", "utf8mb4_0900_ai_ci"],
    [309, "mysql", "utf8mb4_0900_bin"],
    [245, "mysql", "utf8mb4_croatian_ci"],
    [245, "mariadb", "utf8mb4_croatian_mysql561_ci"],
    [608, "mariadb", "utf8mb4_croatian_ci"],
    [1069, "mariadb", "utf8mb4_general_nopad_ci"],
    [1070, "mariadb", "utf8mb4_nopad_bin"],
    [2304, "mariadb", "utf8mb4_uca1400_ai_ci"],
    [2308, "mariadb", "utf8mb4_uca1400_nopad_ai_ci"],
    [2066, "mariadb", "utf8mb3_uca1400_latvian_as_ci"],
    [2308, "mysql", undefined],
    [9999, "mariadb", undefined],
  ];
  for (const [id, flavour, name] of names) expect([id, collationName(id, flavour)]).toEqual([id, name]);
  expect(characterSetOf("binary")).toBe("binary");
});

test("the same name is taken, in the target's spelling of utf8", () => {
  expect(collationIdOnTarget(33, MYSQL_97, MYSQL_56)).toBe("utf8_general_ci");
  expect(collationIdOnTarget(33, MYSQL_56, MYSQL_97)).toBe("utf8mb3_general_ci");
  expect(collationOnTarget("utf8_unicode_ci", MYSQL_56, MARIADB_1011)).toBe("utf8mb3_unicode_ci");
  expect(characterSetOnTarget(33, MYSQL_97, MYSQL_56)).toBe("utf8");
});

test("MySQL's UCA 9.0 collations and MariaDB's NO PAD ones of UCA 14.0 stand for each other", () => {
  const pairs = [
    ["utf8mb4_0900_ai_ci", "utf8mb4_uca1400_nopad_ai_ci"],
    ["utf8mb4_0900_as_cs", "utf8mb4_uca1400_nopad_as_cs"],
    ["utf8mb4_0900_bin", "utf8mb4_nopad_bin"],
    ["utf8mb4_es_trad_0900_as_cs", "utf8mb4_uca1400_spanish2_nopad_as_cs"],
    ["utf8mb4_de_pb_0900_ai_ci", "utf8mb4_uca1400_german2_nopad_ai_ci"],
  ] as const;
  for (const [mysql, mariadb] of pairs) {
    expect(collationOnTarget(mysql, MYSQL_97, MARIADB_1011)).toBe(mariadb);
    expect(collationOnTarget(mariadb, MARIADB_1011, MYSQL_97)).toBe(mysql);
  }
});

test("what only looks alike is not taken", () => {
  expect(collationOnTarget("utf8mb4_0900_ai_ci", MYSQL_97, MYSQL_56)).toBeUndefined();
  expect(collationOnTarget("utf8mb4_uca1400_ai_ci", MARIADB_1011, MYSQL_97)).toBeUndefined();
  expect(collationOnTarget("utf8mb4_croatian_ci", MYSQL_97, MARIADB_1011)).toBe("utf8mb4_croatian_mysql561_ci");
  expect(collationOnTarget("utf8mb4_croatian_ci", MARIADB_1011, MYSQL_97)).toBeUndefined();
  expect(collationOnTarget("gb18030_bin", MYSQL_97, MARIADB_1011)).toBeUndefined();
});
