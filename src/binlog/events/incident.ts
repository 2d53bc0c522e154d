import { assert } from "../../base/assert.ts";
import type { BinlogFormat } from "../format.ts";
export interface IncidentEvent {
  kind: "incident";
  incident: number;
  message: string;
}
export function decodeIncident(_event: Buffer, _format: BinlogFormat): IncidentEvent {
  return todo();
}

const todo = (): never => {
  assert(false, "not written yet");
};
