import type { BinlogFormat } from "../format.ts";
import { bodyReader } from "./body.ts";

export interface XidEvent {
  kind: "xid";
  xid: bigint;
}

/** XID (16): `u64` number of the transaction in the source's own two-phase commit, in the source's byte order. It ends a transaction by COMMIT. */
export function decodeXid(event: Buffer, format: BinlogFormat): XidEvent {
  return { kind: "xid", xid: bodyReader(event, format).u64() };
}
