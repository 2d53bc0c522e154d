import { assert } from "../../base/assert.ts";
import type { BinlogFormat } from "../format.ts";
import type { GtidSet } from "../../gtid/mysql.ts";
export interface PreviousGtidsEvent {
  kind: "previous-gtids";
  set: GtidSet;
}
export function decodePreviousGtids(_event: Buffer, _format: BinlogFormat): PreviousGtidsEvent {
  return todo();
}

const todo = (): never => {
  assert(false, "not written yet");
};
