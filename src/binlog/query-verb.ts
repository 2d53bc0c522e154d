/**
 * What a query event's text does to the transaction around it. `statement` is everything else. The words BEGIN, COMMIT, ROLLBACK and XA are written by the server itself,
 * in upper case; SAVEPOINT and ROLLBACK TO may be the client's own text in old files.
 */
export type QueryVerb =
  | "begin"
  | "commit"
  | "rollback"
  | "savepoint"
  | "xa-start"
  | "xa-end"
  | "xa-commit"
  | "xa-rollback"
  /** A comment that MariaDB sends in place of an event that the replica would not understand (Query_log_event::dummy_event, sql/log_event.cc). */
  | "dummy"
  | "statement";

const SPACE = 0x20;
const HASH = 0x23;

/** Classifies the text in `[from, to)`. Allocates nothing. */
export function queryVerb(bytes: Buffer, from: number, to: number): QueryVerb {
  switch ((bytes[from] ?? 0) & 0xdf) {
    case 0x42: // B
      return isAlone(bytes, from, to, "BEGIN") ? "begin" : "statement";
    case 0x43: // C
      return isAlone(bytes, from, to, "COMMIT") ? "commit" : "statement";
    case 0x52: // R
      if (isAlone(bytes, from, to, "ROLLBACK")) return "rollback";
      return startsWith(bytes, from, to, "ROLLBACK TO ") || startsWith(bytes, from, to, "RELEASE SAVEPOINT ")
        ? "savepoint"
        : "statement";
    case 0x53: // S
      return startsWith(bytes, from, to, "SAVEPOINT ") ? "savepoint" : "statement";
    case 0x58: // X
      return startsWith(bytes, from, to, "XA ") ? xaVerb(bytes, from + 3, to) : "statement";
    case HASH & 0xdf:
      return bytes[from] === HASH && startsWith(bytes, from, to, "# DUMMY EVENT ") ? "dummy" : "statement";
    default:
      return "statement";
  }
}

function xaVerb(bytes: Buffer, from: number, to: number): QueryVerb {
  if (startsWith(bytes, from, to, "START ") || startsWith(bytes, from, to, "BEGIN ")) return "xa-start";
  if (startsWith(bytes, from, to, "END ")) return "xa-end";
  if (startsWith(bytes, from, to, "COMMIT ")) return "xa-commit";
  return startsWith(bytes, from, to, "ROLLBACK ") ? "xa-rollback" : "statement";
}

/** Upper-case `word` at the start, whatever the case of the text. */
function startsWith(bytes: Buffer, from: number, to: number, word: string): boolean {
  if (to - from < word.length) return false;
  for (let i = 0; i < word.length; i++) {
    const byte = bytes[from + i] as number;
    const upper = byte >= 0x61 && byte <= 0x7a ? byte - SPACE : byte;
    if (upper !== word.charCodeAt(i)) return false;
  }
  return true;
}

/** The word and nothing else, but for white space, a semicolon or a comment behind it. */
function isAlone(bytes: Buffer, from: number, to: number, word: string): boolean {
  if (!startsWith(bytes, from, to, word)) return false;
  let at = from + word.length;
  while (at < to && (bytes[at] as number) <= SPACE) at++;
  if (at === to) return true;
  return bytes[at] === 0x3b || (bytes[at] === 0x2f && bytes[at + 1] === 0x2a);
}
