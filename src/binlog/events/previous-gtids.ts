import { GtidSet } from "../../gtid/mysql.ts";
import type { BinlogFormat } from "../format.ts";
import { bodyReader } from "./body.ts";

export interface PreviousGtidsEvent {
  kind: "previous-gtids";
  set: GtidSet;
}

/** PREVIOUS_GTIDS (35): every GTID in the files before this one, as `GtidSet.decode` reads them. Second event of a file, since 5.6. */
export function decodePreviousGtids(event: Buffer, format: BinlogFormat): PreviousGtidsEvent {
  return { kind: "previous-gtids", set: GtidSet.decode(bodyReader(event, format).rest()) };
}
