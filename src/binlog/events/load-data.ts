import type { BinlogFormat } from "../format.ts";
import { bodyReader } from "./body.ts";
import { decodeQuery } from "./query.ts";
import type { QueryEvent } from "./query.ts";

export interface BeginLoadQueryEvent {
  kind: "begin-load-query";
  fileId: number;
  data: Buffer;
}

export interface AppendBlockEvent {
  kind: "append-block";
  fileId: number;
  data: Buffer;
}

export interface DeleteFileEvent {
  kind: "delete-file";
  fileId: number;
}

/** A query event whose text has the file's name at `[fileNameFrom, fileNameTo)` of `sql`: from LOAD's `INFILE` up to `INTO`, to be replaced. */
export interface ExecuteLoadQueryEvent extends Omit<QueryEvent, "kind"> {
  kind: "execute-load-query";
  fileId: number;
  fileNameFrom: number;
  fileNameTo: number;
  duplicates: "error" | "ignore" | "replace";
}

const DUPLICATES = ["error", "ignore", "replace"] as const;
/** Where a query event's own fields end in the post-header. */
const QUERY_POST_HEADER_LENGTH = 13;

/**
 * LOAD DATA in statement format (libbinlogevents/include/load_data_events.h, 8.0): BEGIN_LOAD_QUERY (17), any number of APPEND_BLOCK (9), then
 * EXECUTE_LOAD_QUERY (18), or DELETE_FILE (11) when it failed. The first two are `u32 file id; data to the end`.
 */
export function decodeBeginLoadQuery(event: Buffer, format: BinlogFormat): BeginLoadQueryEvent {
  const reader = bodyReader(event, format);
  return { kind: "begin-load-query", fileId: reader.u32(), data: reader.rest() };
}

export function decodeAppendBlock(event: Buffer, format: BinlogFormat): AppendBlockEvent {
  const reader = bodyReader(event, format);
  return { kind: "append-block", fileId: reader.u32(), data: reader.rest() };
}

export function decodeDeleteFile(event: Buffer, format: BinlogFormat): DeleteFileEvent {
  return { kind: "delete-file", fileId: bodyReader(event, format).u32() };
}

/** A query event with `u32 file id; u32 from; u32 to; u8 what to do with duplicates` at the end of its post-header. */
export function decodeExecuteLoadQuery(event: Buffer, format: BinlogFormat): ExecuteLoadQueryEvent {
  const query = decodeQuery(event, format);
  const reader = bodyReader(event, format);
  reader.skip(QUERY_POST_HEADER_LENGTH);
  const fileId = reader.u32();
  const fileNameFrom = reader.u32();
  const fileNameTo = reader.u32();
  const code = reader.u8();
  if (fileNameFrom > fileNameTo || fileNameTo > query.sql.length)
    reader.fail("LOAD DATA's file name is outside of its text");
  const duplicates = DUPLICATES[code] ?? reader.fail(`LOAD DATA treats duplicates in the unknown way ${code}`);
  return { ...query, kind: "execute-load-query", fileId, fileNameFrom, fileNameTo, duplicates };
}
