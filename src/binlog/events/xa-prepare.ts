import { assert } from "../../base/assert.ts";
import type { BinlogFormat } from "../format.ts";
export interface XaPrepareEvent {
  kind: "xa-prepare";
  onePhase: boolean;
  /** As the server writes it: `X'31',X'',1`. */
  xid: string;
}
export function decodeXaPrepare(_event: Buffer, _format: BinlogFormat): XaPrepareEvent {
  return todo();
}

const todo = (): never => {
  assert(false, "not written yet");
};
