import { ReplicationError } from "../../base/error.ts";
import { collationOnTarget } from "./collations.ts";
import { eventStatusEdits } from "./event-status.ts";
import { type LexContext, replaceRanges, type Token } from "./lexer.ts";
import { isMariadb, isMysql, type ServerKind, type TargetFacts } from "./target.ts";

export interface TranslateContext {
  source: ServerKind;
  target: TargetFacts;
  lex: LexContext;
  /** The account that ran it, where the event says so (Q_INVOKER). */
  invoker: { user: string; host: string } | undefined;
  /** What the source takes CHARACTER SET utf8mb4 without COLLATE for, where the target cannot be told so by a variable; undefined: nothing to do. */
  utf8mb4Collation: string | undefined;
  /** For error messages. */
  shown: string;
}

interface Edit {
  from: number;
  to: number;
  text: string;
}

/**
 * The statement as the target is to run it: usually the very same bytes, sometimes two statements for one. Only what certainly means the same is changed; what is
 * accepted by both servers but means something else is refused, before anything of it ran. What the target cannot parse is left to the target: it
 * says so without having done anything.
 * @throws ReplicationError UNSUPPORTED
 */
export function translateDdl(sql: Buffer, tokens: readonly Token[], context: TranslateContext): Buffer[] {
  const { source, target } = context;
  const edits: Edit[] = [
    ...invokerEdits(tokens, context),
    ...collationEdits(tokens, context),
    ...utf8mb4Edits(tokens, context),
    ...eventStatusEdits(tokens, target),
    ...dropEdits(tokens, source),
    ...statisticsEdits(tokens, context),
  ];
  if (!isMysql(target, 8, 0, 21)) edits.push(...startTransactionEdits(tokens));
  if (source.flavour !== target.flavour) edits.push(...engineEdits(tokens, context));
  if (source.flavour === "mariadb" && target.flavour === "mysql") {
    refuseConditionalClauses(tokens, context);
    edits.push(...mariadbOptionEdits(tokens));
    const replaced = orReplace(sql, tokens, context);
    if (replaced !== undefined) {
      edits.push(replaced.edit);
      return [replaced.drop, replaceRanges(sql, inOrder(edits))];
    }
  }
  if (source.flavour === "mysql" && target.flavour === "mariadb") edits.push(...encryptionEdits(tokens, context));
  return [replaceRanges(sql, inOrder(edits))];
}

/** Names of collations in a statement that is no DDL. */
export function translateDml(sql: Buffer, tokens: Iterable<Token>, context: TranslateContext): Buffer {
  return replaceRanges(sql, collationEdits([...tokens], context));
}

/** Whether a statement has to be looked at for `translateDml` at all. */
export function mentionsCollation(sql: Buffer): boolean {
  return /collate/i.test(sql.toString("latin1"));
}

const inOrder = (edits: Edit[]): Edit[] => edits.toSorted((a, b) => a.from - b.from);

function unsupported(what: string, context: TranslateContext, hint: string): ReplicationError {
  return new ReplicationError("UNSUPPORTED", `${what}: ${context.shown}`, { hint });
}

const serverName = ({ flavour, version }: ServerKind): string =>
  `${flavour === "mysql" ? "MySQL" : "MariaDB"} ${version.major}.${version.minor}.${version.patch}`;

const isWord = (token: Token | undefined, ...texts: string[]): boolean =>
  token?.kind === "word" && texts.includes(token.text);

const isSymbol = (token: Token | undefined, text: string): boolean => token?.kind === "symbol" && token.text === text;

/** The token after `i`, an equals sign left out: `ENGINE = x`, `ENGINE x`. */
const valueAt = (tokens: readonly Token[], i: number): Token | undefined =>
  isSymbol(tokens[i + 1], "=") ? tokens[i + 2] : tokens[i + 1];

const isAlterTable = (tokens: readonly Token[]): boolean =>
  isWord(tokens[0], "ALTER") && tokens.slice(1, 4).some((token) => isWord(token, "TABLE"));

const isCreateTable = (tokens: readonly Token[]): boolean =>
  isWord(tokens[0], "CREATE") && tokens.slice(1, 5).some((token) => isWord(token, "TABLE"));

/** In statements about accounts CURRENT_USER stands for one anywhere, elsewhere only as a DEFINER; in a routine's body it must stay. */
function invokerEdits(tokens: readonly Token[], { invoker, lex }: TranslateContext): Edit[] {
  if (invoker === undefined || invoker.user === "") return [];
  const account = `${quoted(invoker.user, lex)}@${quoted(invoker.host, lex)}`;
  const aboutAccounts =
    isWord(tokens[0], "GRANT", "REVOKE", "SET") || tokens.slice(1, 4).some((token) => isWord(token, "USER", "ROLE"));
  const edits: Edit[] = [];
  for (const [i, token] of tokens.entries()) {
    if (!isWord(token, "CURRENT_USER") || isSymbol(tokens[i - 1], ".")) continue;
    const isDefiner = isSymbol(tokens[i - 1], "=") && isWord(tokens[i - 2], "DEFINER");
    if (!aboutAccounts && !isDefiner) continue;
    const call = isSymbol(tokens[i + 1], "(") && isSymbol(tokens[i + 2], ")");
    edits.push({ from: token.from, to: call ? (tokens[i + 2] as Token).to : token.to, text: account });
  }
  // ALTER EVENT makes the one who runs it the event's definer, unless it names one.
  const verb = tokens[0];
  if (verb !== undefined && isWord(verb, "ALTER") && isWord(tokens[1], "EVENT")) {
    edits.push({ from: verb.to, to: verb.to, text: ` DEFINER=${account}` });
  }
  return edits;
}

/** Bytes, as the edits are: an account's name is UTF-8. */
function quoted(name: string, lex: LexContext): string {
  const bytes = Buffer.from(name, lex.characterSet.startsWith("utf8") ? "utf8" : "latin1").toString("latin1");
  const escaped = lex.noBackslashEscapes ? bytes : bytes.replaceAll("\\", "\\\\");
  return `'${escaped.replaceAll("'", "''")}'`;
}

/** COLLATE name, and CHARACTER SET name. */
function collationEdits(tokens: readonly Token[], context: TranslateContext): Edit[] {
  const { source, target } = context;
  const edits: Edit[] = [];
  for (const [i, token] of tokens.entries()) {
    if (isWord(token, "COLLATE")) {
      const value = valueAt(tokens, i);
      const name = value === undefined ? "" : nameIn(value);
      if (value === undefined || name === "" || isWord(value, "DEFAULT", "BINARY")) continue;
      const equal = collationOnTarget(name, source, target) ?? contextual(name, source, target);
      if (equal === undefined) {
        throw unsupported(`${serverName(target)} has no collation equal to ${name}`, context, COLLATION_HINT);
      }
      if (equal !== name.toLowerCase()) edits.push({ from: value.from, to: value.to, text: equal });
    } else if (isCharacterSet(tokens, i)) {
      const value = valueAt(tokens, i);
      const name = value === undefined ? "" : nameIn(value).toLowerCase();
      if (value === undefined || !/^[a-z][a-z0-9]+$/.test(name) || isWord(value, "DEFAULT", "BINARY")) continue;
      if (collationOnTarget(`${name}_bin`, source, target) === undefined) {
        throw unsupported(`${serverName(target)} has no character set ${name}`, context, COLLATION_HINT);
      }
    }
  }
  return edits;
}

const COLLATION_HINT =
  "use character sets and collations that both servers know, or make this change on the target by hand and start behind it";

const nameIn = (token: Token): string => (token.kind === "string" ? token.text.slice(1, -1) : token.name);

/** MariaDB's `uca1400_ai_ci` fits several character sets; MySQL has no such thing. */
function contextual(name: string, source: ServerKind, target: TargetFacts): string | undefined {
  const lower = name.toLowerCase();
  return source.flavour === "mariadb" && isMariadb(target, 10, 10, 1) && lower.startsWith("uca1400_")
    ? lower
    : undefined;
}

/** The last word of CHARACTER SET, CHARSET, CHAR SET. */
const isCharacterSet = (tokens: readonly Token[], i: number): boolean =>
  isWord(tokens[i], "CHARSET") || (isWord(tokens[i], "SET") && isWord(tokens[i - 1], "CHARACTER", "CHAR"));

/** Says what utf8mb4 without COLLATE means, in definitions of columns, tables and schemas. */
function utf8mb4Edits(tokens: readonly Token[], context: TranslateContext): Edit[] {
  const { utf8mb4Collation, source, target } = context;
  if (utf8mb4Collation === undefined || !definesCharacterSets(tokens)) return [];
  const edits: Edit[] = [];
  for (const [i, token] of tokens.entries()) {
    const value = isCharacterSet(tokens, i) && token.depth <= 1 ? valueAt(tokens, i) : undefined;
    if (value === undefined || nameIn(value).toLowerCase() !== "utf8mb4" || hasCollate(tokens, tokens.indexOf(value)))
      continue;
    const equal = collationOnTarget(utf8mb4Collation, source, target);
    if (equal === undefined) {
      throw unsupported(
        `utf8mb4 means ${utf8mb4Collation} on the source, and ${serverName(target)} has no equal of it`,
        context,
        COLLATION_HINT,
      );
    }
    edits.push({ from: value.to, to: value.to, text: ` COLLATE ${equal}` });
  }
  return edits;
}

const definesCharacterSets = (tokens: readonly Token[]): boolean =>
  isAlterTable(tokens) ||
  isCreateTable(tokens) ||
  (isWord(tokens[0], "CREATE", "ALTER") && tokens.slice(1, 4).some((token) => isWord(token, "DATABASE", "SCHEMA")));

/** Whether COLLATE follows in the same definition: up to the next comma of the same depth, or right after it. */
function hasCollate(tokens: readonly Token[], from: number): boolean {
  const { depth } = tokens[from] as Token;
  for (let i = from + 1; i < tokens.length; i++) {
    const token = tokens[i] as Token;
    if (token.depth < depth) return false;
    if (token.depth > depth) continue;
    if (isWord(token, "COLLATE")) return true;
    if (isSymbol(token, ",")) return isWord(tokens[isWord(tokens[i + 1], "DEFAULT") ? i + 2 : i + 1], "COLLATE");
  }
  return false;
}

/** `… START TRANSACTION`, MySQL 8.0.21's mark of an atomic CREATE TABLE … SELECT. */
function startTransactionEdits(tokens: readonly Token[]): Edit[] {
  const [start, transaction] = tokens.slice(-2);
  if (start === undefined || transaction === undefined || !isCreateTable(tokens)) return [];
  if (!isWord(start, "START") || !isWord(transaction, "TRANSACTION")) return [];
  return [{ from: start.from, to: transaction.to, text: "" }];
}

/**
 * MariaDB, and MySQL before 8.0, drop those tables of a list that are there, tell the client of the others (1051), and log the whole list. A server with atomic DDL would
 * drop none of them. The servers' own replicas drop what is there too (MariaDB: slave_ddl_exec_mode=IDEMPOTENT, its default).
 */
function dropEdits(tokens: readonly Token[], source: ServerKind): Edit[] {
  if (!dropsOnlyWhatIsThere(tokens, source)) return [];
  const kind = tokens[isWord(tokens[1], "TEMPORARY") ? 2 : 1] as Token;
  return [{ from: kind.to, to: kind.to, text: " IF EXISTS" }];
}

/** Whether it is a DROP of tables, views or accounts without IF EXISTS that the source logs also when not all of its list was there. */
export function dropsOnlyWhatIsThere(tokens: readonly Token[], source: ServerKind): boolean {
  if (!isWord(tokens[0], "DROP") || isMysql(source, 8)) return false;
  const at = isWord(tokens[1], "TEMPORARY") ? 2 : 1;
  return isWord(tokens[at], "TABLE", "TABLES", "VIEW", "SEQUENCE", "USER", "ROLE") && !isWord(tokens[at + 1], "IF");
}

/** Statistics that the target does not have (PERSISTENT FOR, UPDATE HISTOGRAM) are no data: it makes those that it knows. */
function statisticsEdits(tokens: readonly Token[], { target }: TranslateContext): Edit[] {
  const last = tokens.at(-1);
  if (last === undefined || !isWord(tokens[0], "ANALYZE")) return [];
  const own = tokens.find((token, i) =>
    isMysql(target, 8)
      ? isWord(token, "PERSISTENT") && isWord(tokens[i + 1], "FOR")
      : isWord(token, "UPDATE", "DROP") && isWord(tokens[i + 1], "HISTOGRAM"),
  );
  return own === undefined ? [] : [{ from: own.from, to: last.to, text: "" }];
}

const ENGINES_OF_BOTH = new Set(
  "INNODB MYISAM MEMORY HEAP CSV ARCHIVE BLACKHOLE FEDERATED MERGE MRG_MYISAM DEFAULT".split(" "),
);

/** Without NO_ENGINE_SUBSTITUTION the target would silently take another engine. */
function engineEdits(tokens: readonly Token[], context: TranslateContext): Edit[] {
  if (!isCreateTable(tokens) && !isAlterTable(tokens)) return [];
  for (const [i, token] of tokens.entries()) {
    const value = isWord(token, "ENGINE") && token.depth === 0 ? valueAt(tokens, i) : undefined;
    if (value === undefined) continue;
    const engine = nameIn(value);
    if (!ENGINES_OF_BOTH.has(engine.toUpperCase())) {
      throw unsupported(
        `${serverName(context.target)} has no storage engine ${engine}`,
        context,
        "convert the table to InnoDB on the source, or leave it out of the replication",
      );
    }
  }
  return [];
}

/** MariaDB's IF [NOT] EXISTS inside ALTER TABLE and on indexes: what it did on the source depends on what was there. */
function refuseConditionalClauses(tokens: readonly Token[], context: TranslateContext): void {
  const onIndex = isWord(tokens[0], "CREATE", "DROP") && tokens.slice(1, 4).some((token) => isWord(token, "INDEX"));
  if (!onIndex && !isAlterTable(tokens)) return;
  const conditional = tokens.some(
    (token, i) =>
      isWord(token, "IF") &&
      token.depth === 0 &&
      (isWord(tokens[i + 1], "EXISTS") || (isWord(tokens[i + 1], "NOT") && isWord(tokens[i + 2], "EXISTS"))),
  );
  if (!conditional) return;
  throw unsupported(
    `${serverName(context.target)} knows no IF [NOT] EXISTS in ALTER TABLE or on an index`,
    context,
    "make this change on the target by hand (without IF [NOT] EXISTS) and start behind it",
  );
}

/** Aria's table options, which every engine of MariaDB accepts and only Aria heeds. */
function mariadbOptionEdits(tokens: readonly Token[]): Edit[] {
  if (!isCreateTable(tokens) && !isAlterTable(tokens)) return [];
  const edits: Edit[] = [];
  for (const [i, token] of tokens.entries()) {
    if (!isWord(token, "PAGE_CHECKSUM", "TRANSACTIONAL") || token.depth !== 0) continue;
    const value = valueAt(tokens, i);
    if (value === undefined || !(value.kind === "number" || isWord(value, "DEFAULT"))) continue;
    edits.push(withoutOption(tokens, i, value));
  }
  return edits;
}

/** Takes an option out, with the comma that parts it from its neighbour. */
function withoutOption(tokens: readonly Token[], i: number, value: Token): Edit {
  const after = tokens[tokens.indexOf(value) + 1];
  const before = tokens[i - 1];
  const token = tokens[i] as Token;
  if (after !== undefined && isSymbol(after, ",")) return { from: token.from, to: after.to, text: "" };
  if (before !== undefined && isSymbol(before, ",")) return { from: before.from, to: value.to, text: "" };
  return { from: token.from, to: value.to, text: "" };
}

/** CREATE OR REPLACE of what MySQL only replaces when it is a view: DROP … IF EXISTS, then CREATE. */
function orReplace(
  sql: Buffer,
  tokens: readonly Token[],
  context: TranslateContext,
): { drop: Buffer; edit: Edit } | undefined {
  if (!isWord(tokens[0], "CREATE") || !isWord(tokens[1], "OR") || !isWord(tokens[2], "REPLACE")) return undefined;
  const at = tokens.findIndex((token) =>
    isWord(
      token,
      "TABLE",
      "DATABASE",
      "SCHEMA",
      "PROCEDURE",
      "FUNCTION",
      "TRIGGER",
      "EVENT",
      "VIEW",
      "INDEX",
      "USER",
      "ROLE",
    ),
  );
  const kind = tokens[at];
  const name = tokens[at + 1];
  if (kind === undefined || name === undefined || isWord(kind, "VIEW")) return undefined;
  if (isWord(kind, "INDEX", "USER", "ROLE")) {
    throw unsupported(
      `${serverName(context.target)} has no CREATE OR REPLACE ${kind.text}`,
      context,
      "make this change on the target by hand and start behind it",
    );
  }
  const qualified = isSymbol(tokens[at + 2], ".") ? tokens[at + 3] : undefined;
  const temporary = tokens.slice(0, at).some((token) => isWord(token, "TEMPORARY")) ? "TEMPORARY " : "";
  const drop = Buffer.concat([
    Buffer.from(`DROP ${temporary}${kind.text} IF EXISTS `),
    sql.subarray(name.from, (qualified ?? name).to),
  ]);
  return { drop, edit: { from: (tokens[1] as Token).from, to: (tokens[2] as Token).to, text: "" } };
}

/** MySQL's ENCRYPTION='N' is no encryption. */
function encryptionEdits(tokens: readonly Token[], context: TranslateContext): Edit[] {
  if (!definesCharacterSets(tokens)) return [];
  const edits: Edit[] = [];
  for (const [i, token] of tokens.entries()) {
    if (!isWord(token, "ENCRYPTION") || token.depth !== 0) continue;
    const value = valueAt(tokens, i);
    if (value === undefined || value.kind !== "string") continue;
    if (!/^n?$/i.test(nameIn(value))) {
      throw unsupported(
        `${serverName(context.target)} has no ENCRYPTION='Y'`,
        context,
        "make this change on the target by hand, with its own encryption, and start behind it",
      );
    }
    const first = isWord(tokens[i - 1], "DEFAULT") ? i - 1 : i;
    edits.push(withoutOption(tokens, first, value));
  }
  return edits;
}

/** What utf8mb4 without COLLATE means to a server that is not told otherwise by a variable. */
export function fixedUtf8mb4Collation(target: ServerKind): string | undefined {
  if (isMysql(target, 8, 0, 11) || isMariadb(target, 11, 2)) return undefined;
  return "utf8mb4_general_ci";
}

/** For messages: one line, no passwords, not too long. */
export function showStatement(sql: Buffer, tokens: readonly Token[]): string {
  const secrets = tokens.filter(
    (token, i) =>
      token.kind === "string" && (isWord(tokens[i - 1], "BY", "AS", "PASSWORD", "USING") || isPasswordCall(tokens, i)),
  );
  const safe = replaceRanges(
    sql,
    secrets.map(({ from, to }) => ({ from, to, text: "'***'" })),
  );
  // Of a statement of megabytes its beginning is enough; white space may make it shorter.
  const line = safe
    .toString("utf8", 0, 4 * SHOWN_LENGTH_MAX)
    .replaceAll(/\s+/g, " ")
    .trim();
  return line.length <= SHOWN_LENGTH_MAX ? line : `${line.slice(0, SHOWN_LENGTH_MAX)}…`;
}

const SHOWN_LENGTH_MAX = 500;

/** PASSWORD('x'), and SET PASSWORD [FOR user] = 'x'. */
const isPasswordCall = (tokens: readonly Token[], i: number): boolean =>
  (isSymbol(tokens[i - 1], "(") && isWord(tokens[i - 2], "PASSWORD", "OLD_PASSWORD")) ||
  (isSymbol(tokens[i - 1], "=") && isWord(tokens[0], "SET"));
