import { assert } from "../../base/assert.ts";
import type { BinlogFormat } from "../format.ts";
export interface XidEvent {
  kind: "xid";
  xid: bigint;
}
export function decodeXid(_event: Buffer, _format: BinlogFormat): XidEvent {
  return todo();
}

const todo = (): never => {
  assert(false, "not written yet");
};
