import { assert } from "../../base/assert.ts";
import type { BinlogFormat } from "../format.ts";
import type { MariadbGtid } from "../../gtid/mariadb.ts";
export interface GtidListEvent {
  kind: "gtid-list";
  /** As in the event: several servers of one domain each have an entry, the newest of a domain last. */
  gtids: MariadbGtid[];
  /** FLAG_UNTIL_REACHED, FLAG_IGN_GTIDS. */
  flags: number;
}
export function decodeGtidList(_event: Buffer, _format: BinlogFormat): GtidListEvent {
  return todo();
}

const todo = (): never => {
  assert(false, "not written yet");
};
