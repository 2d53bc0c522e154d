import { assert } from "../../base/assert.ts";
import type { BinlogFormat } from "../format.ts";
export interface RandEvent {
  kind: "rand";
  seed1: bigint;
  seed2: bigint;
}
export function decodeRand(_event: Buffer, _format: BinlogFormat): RandEvent {
  return todo();
}

const todo = (): never => {
  assert(false, "not written yet");
};
