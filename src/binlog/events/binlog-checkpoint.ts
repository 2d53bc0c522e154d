import type { BinlogFormat } from "../format.ts";
import { bodyReader } from "./body.ts";

export interface BinlogCheckpointEvent {
  kind: "binlog-checkpoint";
  file: string;
}

/**
 * BINLOG_CHECKPOINT (161; sql/log_event.cc, MariaDB 10.11): `u32 length; file name`, the oldest file that the server's crash recovery still needs. Means nothing to
 * a replica.
 */
export function decodeBinlogCheckpoint(event: Buffer, format: BinlogFormat): BinlogCheckpointEvent {
  const reader = bodyReader(event, format);
  return { kind: "binlog-checkpoint", file: reader.text(reader.u32()) };
}
