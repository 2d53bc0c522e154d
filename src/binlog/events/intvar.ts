import { assert } from "../../base/assert.ts";
import type { BinlogFormat } from "../format.ts";
export interface IntvarEvent {
  kind: "intvar";
  variable: "last-insert-id" | "insert-id";
  value: bigint;
}
export function decodeIntvar(_event: Buffer, _format: BinlogFormat): IntvarEvent {
  return todo();
}

const todo = (): never => {
  assert(false, "not written yet");
};
