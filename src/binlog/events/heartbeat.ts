import { eventEndPosition, eventType } from "../event.ts";
import { EVENT_TYPE } from "../event-type.ts";
import type { BinlogFormat } from "../format.ts";
import { bodyReader } from "./body.ts";

export interface HeartbeatEvent {
  kind: "heartbeat";
  file: string;
  /** Version 2 carries 64 bits; version 1 the header's 32. */
  position: number;
}

/** Fields of version 2 (libbinlogevents/include/codecs/binary.h, 8.0.26). */
const FIELD = { END: 0, FILE: 1, POSITION: 2 } as const;

/**
 * HEARTBEAT (27) and HEARTBEAT_V2 (41): a source that has nothing to send says where it is. Never in a file. Version 1 is the file name; version 2, sent to
 * replicas that ask for it, is a list of `lenenc field; lenenc length; value` that ends in field 0.
 */
export function decodeHeartbeat(event: Buffer, format: BinlogFormat): HeartbeatEvent {
  const reader = bodyReader(event, format);
  if (eventType(event) === EVENT_TYPE.HEARTBEAT) {
    return { kind: "heartbeat", file: reader.text(reader.remaining), position: eventEndPosition(event) };
  }
  const result: HeartbeatEvent = { kind: "heartbeat", file: "", position: 0 };
  while (reader.remaining > 0) {
    const field = reader.lenenc();
    if (field === FIELD.END) break;
    const length = reader.lenenc();
    const next = reader.offset + length;
    if (field === FIELD.FILE) result.file = reader.text(length);
    else if (field === FIELD.POSITION) result.position = reader.lenenc();
    reader.skip(next - reader.offset);
  }
  return result;
}
