import { assert } from "../../base/assert.ts";
import type { BinlogFormat } from "../format.ts";
export interface TransactionPayloadEvent {
  kind: "transaction-payload";
  compression: "zstd" | "none";
  uncompressedBytes: number;
  /** Still compressed; a view. */
  payload: Buffer;
}
export function decodeTransactionPayload(_event: Buffer, _format: BinlogFormat): TransactionPayloadEvent {
  return todo();
}
/** The events inside, in order; they carry no checksum whatever the format says. `bytesMax` guards memory. */
export function payloadEvents(_payload: TransactionPayloadEvent, _bytesMax?: number): Buffer[] {
  return todo();
}

const todo = (): never => {
  assert(false, "not written yet");
};
