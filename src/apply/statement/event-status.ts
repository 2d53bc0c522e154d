import type { Token } from "./lexer.ts";
import { isMysql, type ServerKind } from "./target.ts";

/**
 * What a server's own replica does to the source's events (`Event_parse_data::check_originator_id`, sql/event_parse_data.cc): they are there, but do not run. What they
 * do on the source comes through its binlog; run on the target too, it would be done twice. The status stands after the schedule and before COMMENT and DO.
 */
export function eventStatusEdits(
  tokens: readonly Token[],
  target: ServerKind,
): { from: number; to: number; text: string }[] {
  const creates = isWord(tokens[0], "CREATE");
  if (!creates && !isWord(tokens[0], "ALTER")) return [];
  const kind = tokens.findIndex((token) => isWord(token, "EVENT", "TABLE", "PROCEDURE", "FUNCTION", "TRIGGER", "VIEW"));
  if (!isWord(tokens[kind], "EVENT")) return [];
  const clauses = clausesAfter(tokens, kind);
  const disabled = isMysql(target, 8, 2) ? "DISABLE ON REPLICA" : "DISABLE ON SLAVE";
  const status = clauses.findIndex((token) => isWord(token, "ENABLE", "DISABLE"));
  const first = clauses[status];
  if (first !== undefined) {
    const last = isWord(clauses[status + 1], "ON") ? clauses[status + 2] : first;
    return [{ from: first.from, to: (last ?? first).to, text: disabled }];
  }
  // An ALTER that says nothing of it leaves it as it is.
  const next = clauses.find((token) => isWord(token, "COMMENT", "DO"));
  return creates && next !== undefined ? [{ from: next.from, to: next.from, text: `${disabled} ` }] : [];
}

/** What follows the event's name, up to and with the DO before its body. */
function clausesAfter(tokens: readonly Token[], kind: number): Token[] {
  let at = kind + 1;
  while (isWord(tokens[at], "IF", "NOT", "EXISTS")) at++;
  at += tokens[at + 1]?.text === "." ? 3 : 1;
  const body = tokens.findIndex((token, i) => i >= at && isWord(token, "DO"));
  return tokens.slice(at, body === -1 ? undefined : body + 1);
}

const isWord = (token: Token | undefined, ...texts: string[]): boolean =>
  token?.kind === "word" && token.depth === 0 && texts.includes(token.text);
