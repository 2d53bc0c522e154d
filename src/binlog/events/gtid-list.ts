import { decodeGtidListBody } from "../../gtid/mariadb.ts";
import type { MariadbGtid } from "../../gtid/mariadb.ts";
import type { BinlogFormat } from "../format.ts";
import { bodyReader } from "./body.ts";

export interface GtidListEvent {
  kind: "gtid-list";
  /** As in the event: several servers of one domain each have an entry, the newest of a domain last. */
  gtids: MariadbGtid[];
  /** FLAG_UNTIL_REACHED 0x1000_0000 and FLAG_IGN_GTIDS 0x2000_0000, set in those that a source sends, not in files. */
  flags: number;
}

/** GTID_LIST (163): MariaDB's counterpart of PREVIOUS_GTIDS, the last GTID of each domain and server before this file. */
export function decodeGtidList(event: Buffer, format: BinlogFormat): GtidListEvent {
  return { kind: "gtid-list", ...decodeGtidListBody(bodyReader(event, format).rest()) };
}
