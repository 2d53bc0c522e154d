import { expect, test } from "vitest";
import { factsOf } from "../../../test/helpers/target-facts.ts";
import type { QueryStatus } from "../../binlog/events/query.ts";
import { ContextState, sessionContextSql, type StatementContext } from "./context.ts";
import type { TargetFacts } from "./target.ts";

const MYSQL_97 = factsOf("9.7.4");
const MYSQL_56 = factsOf("5.6.24");
const MARIADB_1011 = factsOf("10.11.18-MariaDB");
const MARIADB_118 = factsOf("11.8.9-MariaDB");

const DEFINITION = {
  connectionCollation: false,
  serverCollation: false,
  definition: true,
  shown: "CREATE TABLE t(a INT)",
};

function context(source: TargetFacts, status: QueryStatus, more: Partial<StatementContext> = {}): StatementContext {
  return { source, timestamp: 1_700_000_000, flags: 0, threadId: 5, schema: "", status, ...more };
}

/** All that is set for one statement in a new session, by variable. */
function settings(source: TargetFacts, target: TargetFacts, status: QueryStatus): Map<string, string> {
  const [set = ""] = sessionContextSql(context(source, status), DEFINITION, new ContextState(), target);
  const pairs = set.replace("SET ", "").matchAll(/(\w+)=('[^']*'|[^,]*)/g);
  return new Map([...pairs].map(([, variable = "", value = ""]) => [variable, value]));
}

const UTF8MB4: QueryStatus = { characterSetClient: 255, collationConnection: 255, collationServer: 255 };

test("only what differs from the last statement is set again", () => {
  const state = new ContextState();
  const first = context(MYSQL_97, { flags2: 0, sqlMode: 0n, ...UTF8MB4 }, { schema: "d" });
  const all = sessionContextSql(first, DEFINITION, state, MYSQL_97);
  expect(all).toHaveLength(2);
  expect(all[0]).toBe("USE `d`");
  expect(sessionContextSql(first, DEFINITION, state, MYSQL_97)).toEqual([]);
  const later = { ...first, timestamp: 1_700_000_001, status: { ...first.status, microseconds: 42 } };
  expect(sessionContextSql(later, DEFINITION, state, MYSQL_97)).toEqual(["SET TIMESTAMP=1700000001.000042"]);
  state.forgetAfterRows();
  expect(sessionContextSql(later, DEFINITION, state, MYSQL_97)).toEqual([
    "SET TIMESTAMP=1700000001.000042,foreign_key_checks=1,unique_checks=1",
  ]);
  state.forget();
  expect(sessionContextSql(first, DEFINITION, state, MYSQL_97)).toEqual(all);
});

test("a schema's name beyond ASCII is read in UTF-8, and an event that says so has none", () => {
  const state = new ContextState();
  sessionContextSql(context(MYSQL_97, { characterSetClient: 8 }), DEFINITION, state, MYSQL_97);
  const about = context(MYSQL_97, { characterSetClient: 8 }, { schema: "dä" });
  expect(sessionContextSql(about, DEFINITION, state, MYSQL_97)).toEqual([
    "SET character_set_client=utf8mb4",
    "USE `dä`",
    "SET character_set_client=latin1",
  ]);
  expect(sessionContextSql({ ...about, schema: "x", flags: 8 }, DEFINITION, state, MYSQL_97)).toEqual([]);
});

test("modes that a target does not have are left out, those that matter are refused", () => {
  const noAutoCreateUser = 1n << 28n;
  const strict = 1n << 21n;
  expect(settings(MYSQL_56, MYSQL_97, { sqlMode: noAutoCreateUser | strict }).get("sql_mode")).toBe(
    "'STRICT_TRANS_TABLES'",
  );
  expect(settings(MARIADB_1011, MARIADB_1011, { sqlMode: noAutoCreateUser | strict }).get("sql_mode")).toBe(
    "'STRICT_TRANS_TABLES,NO_AUTO_CREATE_USER'",
  );
  // MySQL rounds fractions of seconds, MariaDB cuts them.
  expect(settings(MYSQL_97, MARIADB_1011, { sqlMode: 0n }).get("sql_mode")).toBe("'TIME_ROUND_FRACTIONAL'");
  expect(settings(MARIADB_1011, MYSQL_97, { sqlMode: 0n }).get("sql_mode")).toBe("'TIME_TRUNCATE_FRACTIONAL'");
  expect(settings(MYSQL_97, MYSQL_97, { sqlMode: 1n << 32n }).get("sql_mode")).toBe("'TIME_TRUNCATE_FRACTIONAL'");
  expect(() => settings(MARIADB_1011, MYSQL_97, { sqlMode: 1n << 32n })).toThrow(
    "the target has no sql_mode EMPTY_STRING_IS_NULL, in which the source ran: CREATE TABLE t(a INT)",
  );
  expect(() => settings(MARIADB_1011, MYSQL_97, { sqlMode: 1n << 9n })).toThrow("ORACLE");
});

test("ANSI of an old server does not bring ONLY_FULL_GROUP_BY along", () => {
  const ansi = (1n << 18n) | 0xfn;
  expect(settings(MYSQL_56, MYSQL_97, { sqlMode: ansi }).get("sql_mode")).not.toMatch(/\bANSI\b/);
  expect(settings(MYSQL_97, MYSQL_97, { sqlMode: ansi | (1n << 5n) }).get("sql_mode")).toMatch(/\bANSI\b/);
});

test("flags become variables, those of MariaDB on MariaDB alone", () => {
  const flags2 = 0x4000 | 0x400_0000 | 0x1000_0000;
  const mysql = settings(MARIADB_1011, MYSQL_97, { flags2 });
  expect([mysql.get("sql_auto_is_null"), mysql.get("foreign_key_checks"), mysql.get("unique_checks")]).toEqual([
    "1",
    "0",
    "1",
  ]);
  expect(mysql.has("sql_if_exists")).toBe(false);
  expect(settings(MARIADB_1011, MARIADB_1011, { flags2 }).get("sql_if_exists")).toBe("1");
});

test("defaults of definitions are those of the source, also where its events do not say them", () => {
  const old = settings(MYSQL_56, MYSQL_97, {});
  expect(old.get("explicit_defaults_for_timestamp")).toBe("0");
  expect(old.get("default_collation_for_utf8mb4")).toBe("utf8mb4_general_ci");
  expect(old.get("restrict_fk_on_non_standard_key")).toBe("0");
  expect(old.get("sql_generate_invisible_primary_key")).toBe("0");
  expect(old.get("sql_require_primary_key")).toBe("0");
  expect(settings(MYSQL_97, MYSQL_97, {}).has("explicit_defaults_for_timestamp")).toBe(false);
  expect(settings(MARIADB_1011, MYSQL_97, { flags2: 0x100_0000 }).get("explicit_defaults_for_timestamp")).toBe("1");
  expect(settings(MYSQL_97, MARIADB_118, { defaultCollationForUtf8mb4: 309 }).get("character_set_collations")).toMatch(
    /^'utf8mb4=utf8mb4_nopad_bin'$/,
  );
  expect(settings(MYSQL_97, MYSQL_56, {}).has("explicit_defaults_for_timestamp")).toBe(false);
});

test("collations are the target's equals", () => {
  const mariadb = settings(MYSQL_97, MARIADB_1011, UTF8MB4);
  expect(mariadb.get("character_set_client")).toBe("utf8mb4");
  expect(mariadb.get("collation_connection")).toBe("utf8mb4_uca1400_nopad_ai_ci");
  expect(mariadb.get("collation_server")).toBe("utf8mb4_uca1400_nopad_ai_ci");
  expect(settings(MYSQL_97, MYSQL_56, { characterSetClient: 33 }).get("collation_connection")).toBe("utf8_general_ci");
});

test("a collation without an equal is refused where the statement depends on it, and else any of its character set will do", () => {
  const about = context(MYSQL_97, UTF8MB4);
  const run = (needs: typeof DEFINITION): string[] => sessionContextSql(about, needs, new ContextState(), MYSQL_56);
  const [set] = run(DEFINITION);
  expect(set).toContain("character_set_client=utf8mb4,collation_connection=utf8mb4_bin");
  expect(set).not.toContain("collation_server");
  const message = "the target has no collation equal to utf8mb4_0900_ai_ci, in which the source ran: CREATE";
  expect(() => run({ ...DEFINITION, connectionCollation: true })).toThrow(message);
  expect(() => run({ ...DEFINITION, serverCollation: true })).toThrow(message);
  expect(() =>
    sessionContextSql(context(MYSQL_97, { characterSetClient: 248 }), DEFINITION, new ContextState(), MARIADB_1011),
  ).toThrow("the target has no character set equal to gb18030");
});

test("what decides about definitions is not set for a statement inside a transaction, where the server would refuse it", () => {
  const change = { ...DEFINITION, connectionCollation: true, definition: false };
  const [set = ""] = sessionContextSql(
    context(MYSQL_56, { characterSetClient: 33, collationConnection: 33, collationServer: 8 }),
    change,
    new ContextState(),
    MYSQL_97,
  );
  expect(set).toContain("TIMESTAMP=");
  expect(set).not.toContain("explicit_defaults_for_timestamp");
});
