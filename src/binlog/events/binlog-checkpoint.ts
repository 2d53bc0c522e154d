import { assert } from "../../base/assert.ts";
import type { BinlogFormat } from "../format.ts";
export interface BinlogCheckpointEvent {
  kind: "binlog-checkpoint";
  file: string;
}
export function decodeBinlogCheckpoint(_event: Buffer, _format: BinlogFormat): BinlogCheckpointEvent {
  return todo();
}

const todo = (): never => {
  assert(false, "not written yet");
};
