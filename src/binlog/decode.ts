import { eventType } from "./event.ts";
import { EVENT_TYPE, eventTypeName } from "./event-type.ts";
import { decodeAnnotation } from "./events/annotation.ts";
import type { AnnotationEvent } from "./events/annotation.ts";
import { decodeBinlogCheckpoint } from "./events/binlog-checkpoint.ts";
import type { BinlogCheckpointEvent } from "./events/binlog-checkpoint.ts";
import { bodyReader } from "./events/body.ts";
import { decodeFormatDescription } from "./events/format-description.ts";
import type { FormatDescriptionEvent } from "./events/format-description.ts";
import { decodeGtidList } from "./events/gtid-list.ts";
import type { GtidListEvent } from "./events/gtid-list.ts";
import { decodeGtid } from "./events/gtid.ts";
import type { GtidEvent } from "./events/gtid.ts";
import { decodeHeartbeat } from "./events/heartbeat.ts";
import type { HeartbeatEvent } from "./events/heartbeat.ts";
import { decodeIncident } from "./events/incident.ts";
import type { IncidentEvent } from "./events/incident.ts";
import { decodeIntvar } from "./events/intvar.ts";
import type { IntvarEvent } from "./events/intvar.ts";
import {
  decodeAppendBlock,
  decodeBeginLoadQuery,
  decodeDeleteFile,
  decodeExecuteLoadQuery,
} from "./events/load-data.ts";
import type {
  AppendBlockEvent,
  BeginLoadQueryEvent,
  DeleteFileEvent,
  ExecuteLoadQueryEvent,
} from "./events/load-data.ts";
import { decodeMariadbGtid } from "./events/mariadb-gtid.ts";
import type { MariadbGtidEvent } from "./events/mariadb-gtid.ts";
import { decodePreviousGtids } from "./events/previous-gtids.ts";
import type { PreviousGtidsEvent } from "./events/previous-gtids.ts";
import { decodeQuery } from "./events/query.ts";
import type { QueryEvent } from "./events/query.ts";
import { decodeRand } from "./events/rand.ts";
import type { RandEvent } from "./events/rand.ts";
import { decodeRotate } from "./events/rotate.ts";
import type { RotateEvent } from "./events/rotate.ts";
import { decodeRows, isRowsType } from "./events/rows.ts";
import type { RowsEvent } from "./events/rows.ts";
import { decodeStartEncryption } from "./events/start-encryption.ts";
import type { StartEncryptionEvent } from "./events/start-encryption.ts";
import { decodeTableMap } from "./events/table-map.ts";
import type { TableMapEvent } from "./events/table-map.ts";
import { decodeTransactionPayload } from "./events/transaction-payload.ts";
import type { TransactionPayloadEvent } from "./events/transaction-payload.ts";
import { decodeUserVar } from "./events/user-var.ts";
import type { UserVarEvent } from "./events/user-var.ts";
import { decodeXaPrepare } from "./events/xa-prepare.ts";
import type { XaPrepareEvent } from "./events/xa-prepare.ts";
import { decodeXid } from "./events/xid.ts";
import type { XidEvent } from "./events/xid.ts";
import { withoutChecksums } from "./checksum.ts";
import type { BinlogFormat } from "./format.ts";
import { isCompressed, uncompressEvent } from "./uncompress.ts";

/**
 * An event that is framed and named only: those of a transaction's edge in group replication, the LOAD DATA of before 5.0.3, row events of before 5.1's release, and types
 * that no table has.
 */
export interface OpaqueEvent {
  kind: "opaque";
  type: number;
  name: string;
  body: Buffer;
}

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
  | OpaqueEvent
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
  /** Nothing but a header: the server stopped in order. */
  | { kind: "stop" };

const DECODERS: Readonly<Record<number, (event: Buffer, format: BinlogFormat) => DecodedEvent>> = {
  [EVENT_TYPE.START_V3]: decodeFormatDescription,
  [EVENT_TYPE.QUERY]: decodeQuery,
  [EVENT_TYPE.STOP]: () => ({ kind: "stop" }),
  [EVENT_TYPE.ROTATE]: decodeRotate,
  [EVENT_TYPE.INTVAR]: decodeIntvar,
  [EVENT_TYPE.APPEND_BLOCK]: decodeAppendBlock,
  [EVENT_TYPE.DELETE_FILE]: decodeDeleteFile,
  [EVENT_TYPE.RAND]: decodeRand,
  [EVENT_TYPE.USER_VAR]: decodeUserVar,
  [EVENT_TYPE.FORMAT_DESCRIPTION]: decodeFormatDescription,
  [EVENT_TYPE.XID]: decodeXid,
  [EVENT_TYPE.BEGIN_LOAD_QUERY]: decodeBeginLoadQuery,
  [EVENT_TYPE.EXECUTE_LOAD_QUERY]: decodeExecuteLoadQuery,
  [EVENT_TYPE.TABLE_MAP]: decodeTableMap,
  [EVENT_TYPE.INCIDENT]: decodeIncident,
  [EVENT_TYPE.HEARTBEAT]: decodeHeartbeat,
  [EVENT_TYPE.ROWS_QUERY]: decodeAnnotation,
  [EVENT_TYPE.GTID]: decodeGtid,
  [EVENT_TYPE.ANONYMOUS_GTID]: decodeGtid,
  [EVENT_TYPE.PREVIOUS_GTIDS]: decodePreviousGtids,
  [EVENT_TYPE.XA_PREPARE]: decodeXaPrepare,
  [EVENT_TYPE.TRANSACTION_PAYLOAD]: decodeTransactionPayload,
  [EVENT_TYPE.HEARTBEAT_V2]: decodeHeartbeat,
  [EVENT_TYPE.GTID_TAGGED]: decodeGtid,
  [EVENT_TYPE.ANNOTATE_ROWS]: decodeAnnotation,
  [EVENT_TYPE.BINLOG_CHECKPOINT]: decodeBinlogCheckpoint,
  [EVENT_TYPE.MARIADB_GTID]: decodeMariadbGtid,
  [EVENT_TYPE.GTID_LIST]: decodeGtidList,
  [EVENT_TYPE.START_ENCRYPTION]: decodeStartEncryption,
};

/**
 * Any event, for tools that look at all of them; MariaDB's compressed ones are unpacked first. Callers in a hurry use the single decoders.
 * @throws ReplicationError CORRUPT_EVENT and nothing else, whatever the bytes are.
 */
export function decodeEvent(event: Buffer, format: BinlogFormat): DecodedEvent {
  const type = eventType(event);
  if (isCompressed(type)) return decodeEvent(uncompressEvent(event, format), withoutChecksums(format));
  if (isRowsType(type)) return decodeRows(event, format);
  const decode = DECODERS[type];
  if (decode !== undefined) return decode(event, format);
  return { kind: "opaque", type, name: eventTypeName(type, format.flavour), body: bodyReader(event, format).rest() };
}
