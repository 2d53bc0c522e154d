import { assert } from "../../base/assert.ts";
import type { BinlogFormat } from "../format.ts";
import type { QueryStatus } from "./query.ts";
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
/** A query event whose text has the file's name at `[fileNameFrom, fileNameTo)` of `sql`, to be replaced. */
export interface ExecuteLoadQueryEvent {
  kind: "execute-load-query";
  fileId: number;
  fileNameFrom: number;
  fileNameTo: number;
  duplicates: "error" | "ignore" | "replace";
  threadId: number;
  executionSeconds: number;
  errorCode: number;
  schema: string;
  status: QueryStatus;
  sql: Buffer;
}
export function decodeBeginLoadQuery(_event: Buffer, _format: BinlogFormat): BeginLoadQueryEvent {
  return todo();
}
export function decodeAppendBlock(_event: Buffer, _format: BinlogFormat): AppendBlockEvent {
  return todo();
}
export function decodeDeleteFile(_event: Buffer, _format: BinlogFormat): DeleteFileEvent {
  return todo();
}
export function decodeExecuteLoadQuery(_event: Buffer, _format: BinlogFormat): ExecuteLoadQueryEvent {
  return todo();
}

const todo = (): never => {
  assert(false, "not written yet");
};
