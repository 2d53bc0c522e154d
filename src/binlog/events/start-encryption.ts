import type { BinlogFormat } from "../format.ts";
import { bodyReader } from "./body.ts";

export interface StartEncryptionEvent {
  kind: "start-encryption";
  scheme: number;
  keyVersion: number;
  nonce: Buffer;
}

/** START_ENCRYPTION (164; sql/log_event.h, MariaDB 10.11): `u8 scheme; u32 key version; nonce 12`. All that follows it in the file is encrypted. */
export function decodeStartEncryption(event: Buffer, format: BinlogFormat): StartEncryptionEvent {
  const reader = bodyReader(event, format);
  return { kind: "start-encryption", scheme: reader.u8(), keyVersion: reader.u32(), nonce: reader.take(12) };
}
