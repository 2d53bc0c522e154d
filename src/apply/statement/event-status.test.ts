import { expect, test } from "vitest";
import { eventStatusEdits } from "./event-status.ts";
import { lex, replaceRanges } from "./lexer.ts";
import { serverKind } from "./target.ts";

function translated(sql: string, version = "9.7.0"): string {
  const server = { ...serverKind(version), collations: new Set<string>() };
  const context = { ansiQuotes: false, noBackslashEscapes: false, characterSet: "utf8mb4", server };
  const bytes = Buffer.from(sql);
  return replaceRanges(bytes, eventStatusEdits([...lex(bytes, context)], server)).toString();
}

test.each([
  [
    "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO SELECT 1",
    "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DISABLE ON REPLICA DO SELECT 1",
  ],
  [
    "CREATE DEFINER=`a`@`%` EVENT IF NOT EXISTS d.`do` ON SCHEDULE AT NOW() + INTERVAL 1 DAY ON COMPLETION PRESERVE ENABLE COMMENT 'DO' DO BEGIN SELECT 1; END",
    "CREATE DEFINER=`a`@`%` EVENT IF NOT EXISTS d.`do` ON SCHEDULE AT NOW() + INTERVAL 1 DAY ON COMPLETION PRESERVE DISABLE ON REPLICA COMMENT 'DO' DO BEGIN SELECT 1; END",
  ],
  [
    "CREATE EVENT d.enable ON SCHEDULE EVERY 1 DAY COMMENT 'c' DO SELECT 1",
    "CREATE EVENT d.enable ON SCHEDULE EVERY 1 DAY DISABLE ON REPLICA COMMENT 'c' DO SELECT 1",
  ],
  [
    "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DISABLE ON SLAVE DO CALL p()",
    "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DISABLE ON REPLICA DO CALL p()",
  ],
  ["ALTER EVENT e ENABLE", "ALTER EVENT e DISABLE ON REPLICA"],
  ["ALTER EVENT e DISABLE COMMENT 'x'", "ALTER EVENT e DISABLE ON REPLICA COMMENT 'x'"],
])("an event that is created, or switched on or off, does not run on the target: %s", (sql, wanted) => {
  expect(translated(sql)).toBe(wanted);
});

test("older servers and MariaDB say SLAVE", () => {
  for (const version of ["5.6.51", "8.1.0", "10.11.8-MariaDB"]) {
    expect(translated("ALTER EVENT e ENABLE", version)).toBe("ALTER EVENT e DISABLE ON SLAVE");
  }
});

test.each([
  "ALTER EVENT e COMMENT 'ENABLE'",
  "ALTER EVENT e DO SET @enable=1",
  "DROP EVENT e",
  "CREATE TABLE event(id INT) COMMENT 'x'",
  "CREATE PROCEDURE event() BEGIN DO 1; END",
  "ALTER TABLE t ENABLE KEYS",
])("other statements stay as they are: %s", (sql) => {
  expect(translated(sql)).toBe(sql);
});
