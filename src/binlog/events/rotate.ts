import type { BinlogFormat } from "../format.ts";
import { bodyReader } from "./body.ts";

export interface RotateEvent {
  kind: "rotate";
  file: string;
  position: number;
}

/**
 * The next file of the stream (libbinlogevents/include/control_events.h, 8.0): `u64 position; file name to the end`. Version 1 has no position: it is 4.
 * The last event of a file; also sent, artificial and with timestamp 0, when a stream begins.
 */
export function decodeRotate(event: Buffer, format: BinlogFormat): RotateEvent {
  const reader = bodyReader(event, format);
  const position = format.binlogVersion === 1 ? 4 : Number(reader.u64());
  return { kind: "rotate", position, file: reader.text(reader.remaining) };
}
