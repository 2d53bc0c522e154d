import type { BinlogFormat } from "../format.ts";
import { bodyReader } from "./body.ts";

export interface IntvarEvent {
  kind: "intvar";
  variable: "last-insert-id" | "insert-id";
  value: bigint;
}

/** INTVAR (5; libbinlogevents/include/statement_events.h, 8.0): `u8 1 or 2; u64 value`, for the statement that follows. */
export function decodeIntvar(event: Buffer, format: BinlogFormat): IntvarEvent {
  const reader = bodyReader(event, format);
  const code = reader.u8();
  if (code !== 1 && code !== 2) reader.fail(`an Intvar sets the unknown variable ${code}`);
  return { kind: "intvar", variable: code === 1 ? "last-insert-id" : "insert-id", value: reader.u64() };
}
