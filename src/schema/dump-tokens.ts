/**
 * - `word`: a keyword, a bare identifier or a number; `text` as written. `name`: an identifier in backticks, or in double quotes under ANSI_QUOTES, without them.
 * - `string`: `text` with its quotes, as written. `symbol`: one character. `delimiter`: the end of a statement.
 */
export interface DumpToken {
  kind: "word" | "name" | "string" | "symbol" | "delimiter";
  text: string;
  /** Where it lies in the dump. */
  from: number;
  to: number;
}

const WORD = /[\p{L}\p{N}_$@]+/uy;
const SPACE = /\s+/y;
/** What a client understands, and no server: one line. */
const DELIMITER = /delimiter[ \t]+(\S+)[^\n]*/iy;

/**
 * The tokens of a dump, one after the other. Comments and white space are left out; what servers execute of a comment, whatever version it is for, is text like any
 * other: a dump has nothing in such comments that a server without it would have to do otherwise.
 */
export class DumpTokens {
  readonly #sql: string;
  #at = 0;
  #delimiter = ";";
  #stop = stopOf(";");
  #atStart = true;

  constructor(sql: string) {
    this.#sql = sql;
  }

  /** undefined: the end. */
  next(): DumpToken | undefined {
    const sql = this.#sql;
    for (;;) {
      this.#skipSpace();
      if (this.#at >= sql.length) return undefined;
      if (!this.#takeDelimiterLine()) break;
    }
    const from = this.#at;
    if (sql.startsWith(this.#delimiter, from)) {
      this.#atStart = true;
      return this.#token("delimiter", from, from + this.#delimiter.length);
    }
    this.#atStart = false;
    const character = sql[from] as string;
    if (character === "`" || character === '"' || character === "'") {
      return this.#token(character === "`" ? "name" : "string", from, this.#quoteEnd(from, character));
    }
    WORD.lastIndex = from;
    return WORD.test(sql) ? this.#token("word", from, WORD.lastIndex) : this.#token("symbol", from, from + 1);
  }

  /** Goes on behind the statement that the last token belongs to, without making tokens of it: the rows of a dump are most of it. */
  skipStatement(): void {
    const sql = this.#sql;
    const stop = this.#stop;
    for (stop.lastIndex = this.#at; ;) {
      const found = stop.exec(sql);
      if (found === null) {
        this.#at = sql.length;
        return;
      }
      const [text] = found;
      this.#at = found.index;
      if (text === this.#delimiter) {
        this.#at += text.length;
        break;
      }
      // The text of SHOW CREATE TABLE may stand alone, without a delimiter.
      if (text === "\n" && this.#delimiter === ";") break;
      if (text === "'" || text === '"' || text === "`") this.#at = this.#quoteEnd(found.index, text);
      else if (text === "#" || text === "--" || text === "/*") {
        this.#skipSpace();
        if (this.#at === found.index) this.#at += text.length;
      } else this.#at += text.length;
      stop.lastIndex = this.#at;
    }
    this.#atStart = true;
  }

  #token(kind: DumpToken["kind"], from: number, to: number): DumpToken {
    this.#at = to;
    const raw = this.#sql.slice(from, to);
    return { kind, from, to, text: kind === "name" ? unquoted(raw) : raw };
  }

  #skipSpace(): void {
    const sql = this.#sql;
    for (;;) {
      SPACE.lastIndex = this.#at;
      if (SPACE.test(sql)) this.#at = SPACE.lastIndex;
      else if (sql.startsWith("/*", this.#at)) this.#at = commentContent(sql, this.#at);
      else if (sql.startsWith("*/", this.#at)) this.#at += 2;
      else if (sql[this.#at] === "#" || /^--(?:\s|$)/.test(sql.slice(this.#at, this.#at + 3))) {
        this.#at = endOf(sql, "\n", this.#at);
      } else return;
    }
  }

  #takeDelimiterLine(): boolean {
    if (!this.#atStart) return false;
    DELIMITER.lastIndex = this.#at;
    const line = DELIMITER.exec(this.#sql);
    if (line === null) return false;
    this.#delimiter = line[1] as string;
    this.#stop = stopOf(this.#delimiter);
    this.#at = DELIMITER.lastIndex;
    return true;
  }

  /** A doubled quote is one of the text; a backslash takes the next character with it, except in names. */
  #quoteEnd(from: number, quote: string): number {
    const sql = this.#sql;
    let at = from + 1;
    for (;;) {
      const close = sql.indexOf(quote, at);
      if (close === -1) return sql.length;
      if (quote !== "`") {
        let backslashes = 0;
        while (close - backslashes > at && sql[close - backslashes - 1] === "\\") backslashes++;
        if (backslashes % 2 === 1) {
          at = close + 1;
          continue;
        }
      }
      if (sql[close + 1] !== quote) return close + 1;
      at = close + 2;
    }
  }
}

/** A name without its quotes, of either kind. */
function unquoted(raw: string): string {
  const quote = raw[0] as string;
  return raw.slice(1, -1).replaceAll(quote + quote, quote);
}

/** Behind a comment, or at the beginning of what a server executes of it: `!` and a version, with an M for MariaDB alone. */
function commentContent(sql: string, at: number): number {
  const opening = /^\/\*M?!(?:\d{5,6})?/.exec(sql.slice(at, at + 12));
  return opening === null ? endOf(sql, "*/", at + 2) : at + opening[0].length;
}

function endOf(sql: string, text: string, from: number): number {
  const at = sql.indexOf(text, from);
  return at === -1 ? sql.length : at + text.length;
}

/** What may end a statement, or hide its end. */
const stopOf = (delimiter: string): RegExp =>
  new RegExp(`['"\`#]|--|/\\*|\\*/|${escaped(delimiter)}|\\n(?=\\s*(?:Create Table: )?CREATE\\s)`, "gi");

const escaped = (text: string): string => text.replaceAll(/[^\w\s]/g, String.raw`\$&`);

/** An identifier, in whatever quotes; "" behind the end. */
export function nameAt(tokens: readonly DumpToken[], at: number): string {
  const token = tokens[at];
  if (token === undefined) return "";
  return token.kind === "string" ? unquoted(token.text) : token.text;
}

/** The keyword in upper case, if there is one at this place. */
export function wordAt(tokens: readonly DumpToken[], at: number): string | undefined {
  const token = tokens[at];
  return token?.kind === "word" ? token.text.toUpperCase() : undefined;
}

/** Behind the parenthesis that closes the one at `at`. */
export function skipGroup(tokens: readonly DumpToken[], at: number): number {
  let depth = 0;
  for (let index = at; index < tokens.length; index++) {
    const { kind, text } = tokens[index] as DumpToken;
    if (kind !== "symbol") continue;
    if (text === "(") depth++;
    if (text === ")" && --depth === 0) return index + 1;
  }
  return tokens.length;
}

/** The parts between the commas that are in no parentheses. */
export function splitAtCommas(tokens: readonly DumpToken[]): DumpToken[][] {
  const parts: DumpToken[][] = [[]];
  let depth = 0;
  for (const token of tokens) {
    const symbol = token.kind === "symbol" ? token.text : "";
    if (symbol === "(") depth++;
    if (symbol === ")") depth--;
    if (symbol === "," && depth === 0) parts.push([]);
    else parts.at(-1)?.push(token);
  }
  return parts.filter((part) => part.length > 0);
}
