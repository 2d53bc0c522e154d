import { decodeGtidListBody } from "../../gtid/mariadb.ts";
import type { MariadbGtid } from "../../gtid/mariadb.ts";
import type { BinlogFormat } from "../format.ts";
import { bodyReader } from "./body.ts";

export interface GtidListEvent {
  kind: "gtid-list";
  /** As in the event: several servers of one domain each have an entry, the newest of a domain last. */
  gtids: MariadbGtid[];
  /** GTID_LIST_FLAG. */
  flags: number;
}

/** GTID_LIST (163): MariaDB's counterpart of PREVIOUS_GTIDS, the last GTID of each domain and server before this file. */
export function decodeGtidList(event: Buffer, format: BinlogFormat): GtidListEvent {
  return { kind: "gtid-list", ...decodeGtidListBody(bodyReader(event, format).rest()) };
}
