import { assert } from "../../base/assert.ts";
import type { BinlogFormat } from "../format.ts";
/** GTID (33), ANONYMOUS_GTID (34) and GTID_TAGGED (42) alike. */
export interface GtidEvent {
  kind: "gtid";
  /** True: uuid is all zeros and gno 0. */
  anonymous: boolean;
  uuid: string;
  /** "" without one. */
  tag: string;
  gno: bigint;
  /** FLAG_MAY_HAVE_SBR. */
  mayHaveStatements: boolean;
  lastCommitted: number;
  sequenceNumber: number;
  /** Microseconds since 1970; 0 when the server is too old to tell. `original` equals `immediate` on the server where it was born. */
  originalCommitUs: number;
  immediateCommitUs: number;
  /** Bytes of the whole transaction in the binlog, this event included; 0 when not told. */
  transactionLength: number;
  /** 80034 for 8.0.34; 0 when not told, 999999 when unknown to the source. */
  originalServerVersion: number;
  immediateServerVersion: number;
  commitGroupTicket: bigint | undefined;
}
export function decodeGtid(_event: Buffer, _format: BinlogFormat): GtidEvent {
  return todo();
}

const todo = (): never => {
  assert(false, "not written yet");
};
