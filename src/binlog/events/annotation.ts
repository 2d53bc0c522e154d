import { eventType } from "../event.ts";
import { EVENT_TYPE } from "../event-type.ts";
import type { BinlogFormat } from "../format.ts";
import { bodyReader } from "./body.ts";

/** The statement behind row events: MySQL's ROWS_QUERY (29), MariaDB's ANNOTATE_ROWS (160). */
export interface AnnotationEvent {
  kind: "annotation";
  sql: Buffer;
}

/** The text, to the end. MySQL puts a byte before it: the length, useless beyond 255 (Rows_query_event, libbinlogevents/include/rows_event.h, 8.0). */
export function decodeAnnotation(event: Buffer, format: BinlogFormat): AnnotationEvent {
  const reader = bodyReader(event, format);
  if (eventType(event) === EVENT_TYPE.ROWS_QUERY) reader.u8();
  return { kind: "annotation", sql: reader.rest() };
}
