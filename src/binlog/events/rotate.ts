import { assert } from "../../base/assert.ts";
import type { BinlogFormat } from "../format.ts";
export interface RotateEvent {
  kind: "rotate";
  file: string;
  position: number;
}
export function decodeRotate(_event: Buffer, _format: BinlogFormat): RotateEvent {
  return todo();
}

const todo = (): never => {
  assert(false, "not written yet");
};
