import { assert } from "../../base/assert.ts";
import type { BinlogFormat } from "../format.ts";
export interface HeartbeatEvent {
  kind: "heartbeat";
  file: string;
  /** Version 2 carries 64 bits; version 1 the header's 32. */
  position: number;
}
/** Types 27 and 41. */
export function decodeHeartbeat(_event: Buffer, _format: BinlogFormat): HeartbeatEvent {
  return todo();
}

const todo = (): never => {
  assert(false, "not written yet");
};
