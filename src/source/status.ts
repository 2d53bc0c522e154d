import type { ReplicationError } from "../base/error.ts";
import type { SourcePosition } from "../transaction/transaction.ts";
import type { SourceFacts } from "./facts.ts";

/** In the words of SHOW REPLICA STATUS (stages in `sql/mysqld.cc`, 8.0.26). */
export type ReceiverState =
  | "Connecting to source"
  | "Checking source version"
  | "Registering replica on source"
  | "Requesting binlog dump"
  | "Waiting for source to send event"
  | "Queueing source event to the relay log"
  | "Waiting for the replica SQL thread to free enough relay log space"
  | "Waiting for disk space"
  | "Waiting to reconnect after a failed source event read"
  | "Reconnecting after a failed source event read"
  | "Stopped";

/** Counters are since the receiver was made; times are by our clock, 0 before the first. */
export interface ReceiverStatus {
  state: ReceiverState;
  /** Undefined until the source has answered once. */
  facts: SourceFacts | undefined;
  /** After the last event received, whether its transaction is complete or not. */
  position: SourcePosition | undefined;
  /** GTIDs of complete transactions received, as the server writes them; empty without GTIDs. */
  gtids: string;
  transactions: number;
  events: number;
  bytes: number;
  heartbeats: number;
  reconnects: number;
  /** The source waits for our acknowledgements on the present stream. */
  semiSync: boolean;
  acknowledgements: number;
  lastEventAtMs: number;
  /** The last sign of life: heartbeats count. */
  lastPacketAtMs: number;
  lastError: ReplicationError | undefined;
  lastErrorAtMs: number;
}
