import { assert } from "../../base/assert.ts";
import type { BinlogFormat } from "../format.ts";
import type { GtidEvent } from "./gtid.ts";
export function decodeGtidTagged(_event: Buffer, _format: BinlogFormat): GtidEvent {
  return todo();
}

const todo = (): never => {
  assert(false, "not written yet");
};
