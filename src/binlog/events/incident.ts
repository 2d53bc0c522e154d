import type { BinlogFormat } from "../format.ts";
import { bodyReader } from "./body.ts";

export interface IncidentEvent {
  kind: "incident";
  /** 1: events may be lost (LOST_EVENTS). */
  incident: number;
  message: string;
}

/** INCIDENT (26; libbinlogevents/include/control_events.h, 8.0): `u16 incident; u8 length; message`. The source's binlog may lack changes. */
export function decodeIncident(event: Buffer, format: BinlogFormat): IncidentEvent {
  const reader = bodyReader(event, format);
  const incident = reader.u16();
  return { kind: "incident", incident, message: reader.remaining > 0 ? reader.text(reader.u8()) : "" };
}
