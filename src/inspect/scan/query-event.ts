import { withoutChecksums, CHECKSUM_LENGTH } from "../../binlog/checksum.ts";
import { EVENT_TYPE } from "../../binlog/event-type.ts";
import { decodeExecuteLoadQuery } from "../../binlog/events/load-data.ts";
import { decodeQuery } from "../../binlog/events/query.ts";
import type { BinlogFormat } from "../../binlog/format.ts";
import type { StatementReport } from "../report.ts";
import { gtidText } from "../summary/gtid-name.ts";
import { isoTime } from "../summary/iso-time.ts";
import type { OpenTransaction } from "../summary/open-transaction.ts";
import type { PartBuilder } from "../summary/part-builder.ts";

const TEXT_MAX = 500;
/** Bytes of a statement that are looked at: comments may stand before its first word. */
const HEAD_BYTES = 4 * TEXT_MAX;
/** First words of what changes rows. Whatever else has a place in a binlog defines something. */
const CHANGES = new Set(["INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD", "CALL", "DO", "SELECT", "WITH", "MERGE"]);
const EXECUTION_SECONDS_OFFSET = 4;

/** Tells the part of a statement among the events of a transaction: DDL, or changes that were logged as a statement. Its context (variables, blocks of a file) is no statement. */
export function readStatement(
  bytes: Buffer,
  type: number,
  at: number,
  next: number,
  format: BinlogFormat,
  part: PartBuilder,
  open: OpenTransaction,
  file: string,
): void {
  if (type !== EVENT_TYPE.QUERY && type !== EVENT_TYPE.EXECUTE_LOAD_QUERY) return;
  const end = format.checksum === "crc32" ? next - CHECKSUM_LENGTH : next;
  const executionSeconds = bytes.readUInt32LE(at + format.headerLength + EXECUTION_SECONDS_OFFSET);
  // Statement-format logs have millions: their text is looked at only as far as their kind goes.
  const event = bytes.subarray(at, end);
  const plain = withoutChecksums(format);
  const query = type === EVENT_TYPE.QUERY ? decodeQuery(event, plain) : decodeExecuteLoadQuery(event, plain);
  const head = query.sql.toString("utf8", 0, Math.min(query.sql.length, HEAD_BYTES));
  const isChange = type === EVENT_TYPE.EXECUTE_LOAD_QUERY || CHANGES.has(firstWord(head));
  if (isChange && !part.wantsStatement(executionSeconds)) return;
  const statement: StatementReport = {
    gtid: gtidText(open),
    file,
    position: open.offset,
    at: isoTime(bytes.readUInt32LE(at) * 1_000_000),
    executionSeconds,
    schema: query.schema,
    text: head.length > TEXT_MAX ? `${head.slice(0, TEXT_MAX - 1)}…` : head,
  };
  if (isChange) part.statement(statement);
  else part.ddl(statement);
}

/** In upper case, behind white space, brackets and comments. */
function firstWord(text: string): string {
  return (
    /^(?:\s|\(|\/\*(?!!)[\s\S]*?\*\/|--[^\n]*\n|#[^\n]*\n)*(?:\/\*!\d*\s*)?([a-z]+)/i.exec(text)?.[1]?.toUpperCase() ??
    ""
  );
}
