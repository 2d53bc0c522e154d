import type { ServerKind } from "./target.ts";

/**
 * - `word`: keyword or bare identifier; `text` in upper case.
 * - `quoted`: an identifier in backticks (or double quotes under ANSI_QUOTES); `text` without its quotes.
 * - `string`: `text` with its quotes, introducers are words before it. `number`. `symbol`: one character.
 */
export interface Token {
  kind: "word" | "quoted" | "string" | "number" | "symbol";
  text: string;
  /** Of words and quoted identifiers: as written, without quotes. */
  name: string;
  /** Byte range in the statement. */
  from: number;
  to: number;
  /** How many parentheses are open around it. */
  depth: number;
}

export interface LexContext {
  ansiQuotes: boolean;
  noBackslashEscapes: boolean;
  /** The statement's character set: in some, the second byte of a character can look like a quote or a backslash. */
  characterSet: string;
  /** Whose executable comments are part of the statement: those that open with an exclamation mark, after an M for MariaDB alone. */
  server: ServerKind;
}

/** Character sets whose second bytes reach down into ASCII (strings/ctype-*.c). Their first bytes are all above 0x80. */
const WIDE = new Set(["big5", "cp932", "gbk", "gb18030", "sjis"]);

const BACKSLASH = 0x5c;

const isSpace = (byte: number): boolean => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);
const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39;
const isWordByte = (byte: number): boolean =>
  (byte >= 0x61 && byte <= 0x7a) ||
  (byte >= 0x41 && byte <= 0x5a) ||
  isDigit(byte) ||
  byte === 0x5f ||
  byte === 0x24 ||
  byte >= 0x80;

/**
 * Cuts a statement into tokens; comments and white space are left out. Works on bytes, so that a token's place is a place in the statement as it is sent, and
 * stops silently at an unclosed quote or comment: the server will say what is wrong with it.
 */
export function* lex(sql: Buffer, context: LexContext): Generator<Token, undefined> {
  const wide = WIDE.has(context.characterSet);
  const end = sql.length;
  let at = 0;
  let depth = 0;
  const token = (kind: Token["kind"], from: number, to: number, name = ""): Token => {
    const raw = sql.toString("latin1", from, to);
    return { kind, from, to, depth, name, text: kind === "word" ? raw.toUpperCase() : kind === "quoted" ? name : raw };
  };
  while (at < end) {
    const byte = sql[at] as number;
    const next = sql[at + 1];
    if (isSpace(byte)) {
      at++;
    } else if (byte === 0x23 || (byte === 0x2d && next === 0x2d && isSpaceOrEnd(sql[at + 2]))) {
      at = lineEnd(sql, at);
    } else if (byte === 0x2f && next === 0x2a) {
      at = commentContent(sql, at, context.server);
    } else if (byte === 0x2a && next === 0x2f) {
      // The end of an executable comment.
      at += 2;
    } else if (byte === 0x60 || (byte === 0x22 && context.ansiQuotes)) {
      const to = quoteEnd(sql, at, wide, false);
      const name = sql.toString("latin1", at + 1, to - 1);
      const quote = String.fromCharCode(byte);
      yield token("quoted", at, to, name.replaceAll(quote + quote, quote));
      at = to;
    } else if (byte === 0x27 || byte === 0x22) {
      const to = quoteEnd(sql, at, wide, !context.noBackslashEscapes);
      yield token("string", at, to);
      at = to;
    } else if (isWordByte(byte)) {
      let to = at;
      while (to < end && isWordByte(sql[to] as number)) to += wide && (sql[to] as number) >= 0x81 ? 2 : 1;
      to = Math.min(to, end);
      const kind = isDigit(byte) && /^\d+$/.test(sql.toString("latin1", at, to)) ? "number" : "word";
      yield token(kind, at, to, sql.toString("latin1", at, to));
      at = to;
    } else {
      if (byte === 0x29) depth--;
      yield token("symbol", at, at + 1);
      if (byte === 0x28) depth++;
      at++;
    }
  }
  return undefined;
}

const isSpaceOrEnd = (byte: number | undefined): boolean => byte === undefined || byte <= 0x20;

function lineEnd(sql: Buffer, at: number): number {
  const newline = sql.indexOf(0x0a, at);
  return newline === -1 ? sql.length : newline + 1;
}

/** Where lexing goes on: after a plain comment, or inside one that the server executes. */
function commentContent(sql: Buffer, at: number, server: ServerKind): number {
  const opening = /^\/\*(M?!)(\d{5,6})?/.exec(sql.toString("latin1", at, at + 10));
  if (opening !== null && executes(server, opening[1] === "M!", Number(opening[2] ?? 0))) {
    return at + opening[0].length;
  }
  const close = sql.indexOf("*/", at + 2, "latin1");
  return close === -1 ? sql.length : close + 2;
}

/** MariaDB leaves out what MySQL says to 5.7 and later alone, unless the number is one of its own (sql/sql_lex.cc, MariaDB 10.11). */
function executes(server: ServerKind, forMariadbOnly: boolean, wanted: number): boolean {
  const { major, minor, patch } = server.version;
  if (forMariadbOnly && server.flavour !== "mariadb") return false;
  if (server.flavour === "mariadb" && !forMariadbOnly && wanted >= 50700 && wanted <= 99999) return false;
  return wanted <= major * 10_000 + minor * 100 + patch;
}

/** The byte after the closing quote. A doubled quote is one of the text. */
function quoteEnd(sql: Buffer, from: number, wide: boolean, backslash: boolean): number {
  const quote = sql[from] as number;
  let at = from + 1;
  while (at < sql.length) {
    const byte = sql[at] as number;
    if (wide && byte >= 0x81) at += 2;
    else if (backslash && byte === BACKSLASH) at += 2;
    else if (byte !== quote) at++;
    else if (sql[at + 1] === quote) at += 2;
    else return at + 1;
  }
  return sql.length;
}

/** A statement with some byte ranges replaced; ranges in ascending order, not overlapping. */
export function replaceRanges(sql: Buffer, edits: readonly { from: number; to: number; text: string }[]): Buffer {
  if (edits.length === 0) return sql;
  const parts: Buffer[] = [];
  let at = 0;
  for (const { from, to, text } of edits) {
    parts.push(sql.subarray(at, from), Buffer.from(text, "latin1"));
    at = to;
  }
  parts.push(sql.subarray(at));
  return Buffer.concat(parts);
}
