import type { Token } from "./lexer.ts";

/** What a statement is to the protocol that applies it exactly once. */
export interface StatementClass {
  /** It commits what is open before it and commits itself: it cannot share a transaction with the checkpoint. */
  commits: boolean;
  /** Users, roles or grants change. */
  accounts: boolean;
  /**
   * When an engine was killed between the statement and its checkpoint:
   * - `repeat`: running it again leaves the same as running it once (TRUNCATE, GRANT, OR REPLACE, IF [NOT] EXISTS …).
   * - `tolerate`: it works on several objects and may be half done: once the fingerprint has changed, run it again and take "already done" errors for success.
   * - `compare`: the schema's fingerprint tells whether it had run; run again it could do harm (a swap by RENAME) or add something twice (ADD INDEX without a name).
   */
  resume: "repeat" | "tolerate" | "compare";
  /** CREATE TABLE … START TRANSACTION: an atomic CREATE TABLE … SELECT, as MySQL 8.0.21+ logs it. */
  opensTransaction: boolean;
  /** Names of schemas in the text: before a dot, or the object of CREATE, ALTER and DROP DATABASE. In the bytes of the statement's character set (latin1). */
  schemas: string[];
}

const WITHIN_TRANSACTION = new Set([
  ..."INSERT REPLACE UPDATE DELETE SELECT WITH VALUES TABLE CALL DO LOAD SAVEPOINT ROLLBACK RELEASE HANDLER SET".split(
    " ",
  ),
  ..."EXECUTE PREPARE DEALLOCATE".split(" "),
]);

const ALWAYS_REPEATABLE = new Set(
  "TRUNCATE ANALYZE OPTIMIZE REPAIR CHECK CHECKSUM FLUSH CACHE RESET GRANT SET".split(" "),
);

const SCHEMA_NAMES_MAX = 64;

/** The tokens of the statement proper: without the settings of MariaDB's `SET STATEMENT … FOR …` around it. */
export function* withoutSettings(tokens: Iterable<Token>): Generator<Token> {
  const held: Token[] = [];
  let state: "start" | "settings" | "proper" = "start";
  for (const token of tokens) {
    if (state === "proper") yield token;
    else if (state === "settings") {
      if (token.kind === "word" && token.text === "FOR" && token.depth === 0) state = "proper";
    } else {
      held.push(token);
      const [first, second] = held;
      if (first?.text === "SET" && (second === undefined || second.text === "STATEMENT")) {
        if (second !== undefined) state = "settings";
        continue;
      }
      yield* held;
      state = "proper";
    }
  }
  if (state === "start") yield* held;
}

/** Reads as many tokens as it needs: of a statement that changes rows, only the first ones. */
export function classify(tokens: Iterable<Token>): StatementClass {
  const list: Token[] = [];
  for (const token of tokens) {
    list.push(token);
    if (list.length === 1 && WITHIN_TRANSACTION.has(token.text) && token.text !== "SET") return inTransaction();
    // A statement that begins with a parenthesis is a query.
    if (list.length === 1 && token.kind === "symbol") return inTransaction();
    if (list.length === 3 && isTransactionalStart(list)) return inTransaction();
  }
  if (isTransactionalStart(list)) return inTransaction();
  const words = list.map((token) => (token.kind === "word" ? token.text : ""));
  return {
    commits: true,
    accounts: changesAccounts(words),
    resume: resumeOf(words),
    opensTransaction: words[0] === "CREATE" && words.at(-2) === "START" && words.at(-1) === "TRANSACTION",
    schemas: schemaNames(list),
  };
}

const inTransaction = (): StatementClass => ({
  commits: false,
  accounts: false,
  resume: "compare",
  opensTransaction: false,
  schemas: [],
});

/** SET of a variable (not of a password or role), and CREATE or DROP of a temporary table: they leave an open transaction alone. */
function isTransactionalStart(list: readonly Token[]): boolean {
  const [first, second, third, fourth] = list.map((token) => token.text);
  if (first === "SET") return second !== "PASSWORD" && second !== "DEFAULT";
  if (first !== "CREATE" && first !== "DROP") return false;
  return second === "TEMPORARY" || (second === "OR" && third === "REPLACE" && fourth === "TEMPORARY");
}

function changesAccounts(words: readonly string[]): boolean {
  const [first, second] = words;
  if (first === "GRANT" || first === "REVOKE" || first === "SET") return true;
  const object = second === "OR" ? words[3] : second;
  return (
    (first === "CREATE" || first === "ALTER" || first === "DROP" || first === "RENAME") &&
    (object === "USER" || object === "ROLE")
  );
}

/** The words that may stand between CREATE or DROP and the object's kind, and the kinds themselves: IF [NOT] EXISTS comes right after. */
const OBJECT_WORDS = new Set(
  (
    "OR REPLACE TEMPORARY DATABASE SCHEMA TABLE TABLES VIEW EVENT TRIGGER PROCEDURE FUNCTION AGGREGATE USER ROLE INDEX UNIQUE FULLTEXT SPATIAL " +
    "SEQUENCE SERVER PACKAGE BODY SPATIAL REFERENCE SYSTEM UNDO TABLESPACE"
  ).split(" "),
);

function resumeOf(words: readonly string[]): StatementClass["resume"] {
  const first = words[0] ?? "";
  if (ALWAYS_REPEATABLE.has(first)) return "repeat";
  switch (first) {
    case "CREATE":
      if (words[1] === "OR" || hasExistsClause(words)) return "repeat";
      return /^(USER|ROLE|SERVER|TABLESPACE|UNDO|LOGFILE|RESOURCE)$/.test(words[1] ?? "") || words.includes("SONAME")
        ? "tolerate"
        : "compare";
    case "DROP":
      if (hasExistsClause(words)) return "repeat";
      return words[1] === "INDEX" ? "compare" : "tolerate";
    case "REVOKE":
      return "tolerate";
    case "ALTER":
      return alterIsRepeatable(words) ? "repeat" : "compare";
    default:
      return "compare";
  }
}

function hasExistsClause(words: readonly string[]): boolean {
  let at = 1;
  // A DEFINER clause and ALGORITHM, SQL SECURITY come before the object's kind and hold names of their own.
  while (at < words.length && words[at] !== "IF" && (OBJECT_WORDS.has(words[at] ?? "") || at < definerEnd(words))) at++;
  return words[at] === "IF" && (words[at + 1] === "EXISTS" || words[at + 2] === "EXISTS");
}

function definerEnd(words: readonly string[]): number {
  const definer = words.indexOf("DEFINER");
  if (definer === -1 || definer > 8) return 0;
  const kind = words.findIndex((word, i) => i > definer && /^(VIEW|EVENT|TRIGGER|PROCEDURE|FUNCTION)$/.test(word));
  return kind === -1 ? 0 : kind;
}

/** What ALTER TABLE does beside rebuilding: done twice it fails, or adds a second one. */
const TABLE_CHANGES = new Set(
  (
    "ADD DROP CHANGE MODIFY ALTER CONVERT RENAME ORDER DISCARD IMPORT EXCHANGE REORGANIZE COALESCE TRUNCATE PARTITION REMOVE " +
    "ENABLE DISABLE"
  ).split(" "),
);

/** ALTER of anything but a table says all of what is to be; ALTER TABLE is the same twice when it only rebuilds. */
function alterIsRepeatable(words: readonly string[]): boolean {
  const rest = words.slice(1);
  if (rest.includes("RENAME") || rest.includes("TABLESPACE")) return false;
  if (!rest.includes("TABLE")) return true;
  return rest.some((word) => word === "FORCE" || word === "ENGINE") && !rest.some((word) => TABLE_CHANGES.has(word));
}

function schemaNames(list: readonly Token[]): string[] {
  const names = new Set<string>();
  for (const [i, token] of list.entries()) {
    const isName = token.kind === "word" || token.kind === "quoted";
    const beforeDot = list[i + 1]?.text === "." && list[i + 1]?.kind === "symbol" && list[i - 1]?.text !== ".";
    const afterDatabase = !EXISTS_CLAUSE.has(token.text) && isDatabaseObject(list, i);
    if (isName && (beforeDot || afterDatabase)) names.add(token.name);
    if (names.size >= SCHEMA_NAMES_MAX) break;
  }
  return [...names];
}

const EXISTS_CLAUSE = new Set(["IF", "NOT", "EXISTS"]);

/** The name after CREATE, ALTER or DROP DATABASE [IF [NOT] EXISTS]. */
function isDatabaseObject(list: readonly Token[], i: number): boolean {
  let at = i - 1;
  while (at > 1 && EXISTS_CLAUSE.has(list[at]?.text ?? "")) at--;
  return at <= 3 && list[at]?.kind === "word" && /^(DATABASE|SCHEMA)$/.test(list[at]?.text ?? "");
}
