import { assert } from "../../base/assert.ts";
import type { BinlogFormat } from "../format.ts";
/** The statement behind row events: MySQL's ROWS_QUERY (29), MariaDB's ANNOTATE_ROWS (160). */
export interface AnnotationEvent {
  kind: "annotation";
  sql: Buffer;
}
export function decodeAnnotation(_event: Buffer, _format: BinlogFormat): AnnotationEvent {
  return todo();
}

const todo = (): never => {
  assert(false, "not written yet");
};
