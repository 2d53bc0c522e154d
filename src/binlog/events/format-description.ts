import { assert } from "../../base/assert.ts";
import type { BinlogFormat } from "../format.ts";
export interface FormatDescriptionEvent {
  kind: "format-description";
  format: BinlogFormat;
  /** Seconds; not 0 when the server wrote it at its start: temporary tables and an unfinished transaction before it are gone. */
  createdAt: number;
  /** The server had not closed the file when this was written (LOG_EVENT_BINLOG_IN_USE_F). */
  inUse: boolean;
}
/** Needs no format: it is what tells it. Accepts START_V3 (type 1) as well. */
export function decodeFormatDescription(_event: Buffer): FormatDescriptionEvent {
  return todo();
}

const todo = (): never => {
  assert(false, "not written yet");
};
