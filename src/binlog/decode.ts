import { assert } from "../base/assert.ts";
import type { BinlogFormat } from "./format.ts";
import type { AnnotationEvent } from "./events/annotation.ts";
import type { BinlogCheckpointEvent } from "./events/binlog-checkpoint.ts";
import type { FormatDescriptionEvent } from "./events/format-description.ts";
import type { GtidListEvent } from "./events/gtid-list.ts";
import type { GtidEvent } from "./events/gtid.ts";
import type { HeartbeatEvent } from "./events/heartbeat.ts";
import type { IncidentEvent } from "./events/incident.ts";
import type { IntvarEvent } from "./events/intvar.ts";
import type {
  AppendBlockEvent,
  BeginLoadQueryEvent,
  DeleteFileEvent,
  ExecuteLoadQueryEvent,
} from "./events/load-data.ts";
import type { MariadbGtidEvent } from "./events/mariadb-gtid.ts";
import type { PreviousGtidsEvent } from "./events/previous-gtids.ts";
import type { QueryEvent } from "./events/query.ts";
import type { RandEvent } from "./events/rand.ts";
import type { RotateEvent } from "./events/rotate.ts";
import type { RowsEvent } from "./events/rows.ts";
import type { StartEncryptionEvent } from "./events/start-encryption.ts";
import type { TableMapEvent } from "./events/table-map.ts";
import type { TransactionPayloadEvent } from "./events/transaction-payload.ts";
import type { UserVarEvent } from "./events/user-var.ts";
import type { XaPrepareEvent } from "./events/xa-prepare.ts";
import type { XidEvent } from "./events/xid.ts";

/** `stop` and `opaque` carry no fields: opaque events are framed and named only. */
export type DecodedEvent =
  | AnnotationEvent
  | AppendBlockEvent
  | BeginLoadQueryEvent
  | BinlogCheckpointEvent
  | DeleteFileEvent
  | ExecuteLoadQueryEvent
  | FormatDescriptionEvent
  | GtidEvent
  | GtidListEvent
  | HeartbeatEvent
  | IncidentEvent
  | IntvarEvent
  | MariadbGtidEvent
  | PreviousGtidsEvent
  | QueryEvent
  | RandEvent
  | RotateEvent
  | RowsEvent
  | StartEncryptionEvent
  | TableMapEvent
  | TransactionPayloadEvent
  | UserVarEvent
  | XaPrepareEvent
  | XidEvent
  | { kind: "stop" }
  | { kind: "opaque"; type: number; name: string; body: Buffer };

/** Any event, for tools that look at all of them; MariaDB's compressed ones are unpacked first. Callers in a hurry use the single decoders. */
export function decodeEvent(_event: Buffer, _format: BinlogFormat): DecodedEvent {
  assert(false, "not written yet");
}
