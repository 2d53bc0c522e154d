import { ByteReader } from "../../base/reader.ts";
import { contentEnd } from "../checksum.ts";
import type { BinlogFormat } from "../format.ts";
import { postHeaderLength } from "./body.ts";
import { decodeQueryStatus } from "./query-status.ts";
import type { QueryStatus } from "./query-status.ts";

export { QUERY_FLAG2 } from "./query-status.ts";
export type { QueryStatus } from "./query-status.ts";

export interface QueryEvent {
  kind: "query";
  threadId: number;
  executionSeconds: number;
  errorCode: number;
  schema: string;
  status: QueryStatus;
  /** The statement, in the character set `status.characterSetClient`: bytes, a view into the event. */
  sql: Buffer;
}

/** Before 5.0 there were no status variables, and two bytes less. */
const POST_HEADER_LENGTH = 13;
const OLD_POST_HEADER_LENGTH = 11;
const SCHEMA_LENGTH_OFFSET = 8;
const STATUS_LENGTH_OFFSET = 11;

/**
 * QUERY (2; Query_event, libbinlogevents/include/statement_events.h, 8.0):
 *
 *     u32 thread id; u32 execution seconds; u8 length of schema; u16 error code; u16 length of status variables; [fields of later versions]
 *     status variables; schema; 0; statement to the end
 */
export function decodeQuery(event: Buffer, format: BinlogFormat): QueryEvent {
  const postHeader = postHeaderLength(event, format, POST_HEADER_LENGTH);
  const reader = new ByteReader(event, format.headerLength, contentEnd(event, format));
  const body = reader.offset + postHeader;
  const threadId = reader.u32();
  const executionSeconds = reader.u32();
  const schemaLength = reader.u8();
  const errorCode = reader.u16();
  const statusLength = postHeader > OLD_POST_HEADER_LENGTH ? reader.u16() : 0;
  if (body < reader.offset) reader.fail("a query's fixed part is too short");
  reader.skip(body - reader.offset);
  if (reader.offset + statusLength > reader.end) reader.fail("a query's status variables run past its end");
  const status = decodeQueryStatus(reader, reader.offset + statusLength);
  const schema = reader.text(schemaLength);
  reader.skip(1);
  return { kind: "query", threadId, executionSeconds, errorCode, schema, status, sql: reader.rest() };
}

/** Where the statement's bytes begin, without decoding the rest; they end with the event's content. Allocates nothing. */
export function querySqlOffset(event: Buffer, format: BinlogFormat): number {
  const fixed = format.headerLength;
  const postHeader = postHeaderLength(event, format, POST_HEADER_LENGTH);
  const end = contentEnd(event, format);
  if (fixed + POST_HEADER_LENGTH > end)
    new ByteReader(event, Math.min(fixed, event.length), end).skip(POST_HEADER_LENGTH);
  const schemaLength = event[fixed + SCHEMA_LENGTH_OFFSET] as number;
  const statusLength = postHeader > OLD_POST_HEADER_LENGTH ? event.readUInt16LE(fixed + STATUS_LENGTH_OFFSET) : 0;
  const offset = fixed + postHeader + statusLength + schemaLength + 1;
  if (offset > end) new ByteReader(event, fixed, end).fail("a query has no room for its statement");
  return offset;
}
