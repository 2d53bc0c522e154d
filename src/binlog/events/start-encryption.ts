import { assert } from "../../base/assert.ts";
import type { BinlogFormat } from "../format.ts";
export interface StartEncryptionEvent {
  kind: "start-encryption";
  scheme: number;
  keyVersion: number;
  nonce: Buffer;
}
export function decodeStartEncryption(_event: Buffer, _format: BinlogFormat): StartEncryptionEvent {
  return todo();
}

const todo = (): never => {
  assert(false, "not written yet");
};
