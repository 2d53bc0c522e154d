import { assert } from "../../base/assert.ts";
import type { BinlogFormat } from "../format.ts";
export interface UserVarEvent {
  kind: "user-var";
  name: Buffer;
  /** `null` has no bytes. `integer`: 8 bytes little-endian; `real`: a double; `decimal`: precision, scale, then the packed number. */
  type: "null" | "string" | "real" | "integer" | "decimal";
  collation: number;
  unsigned: boolean;
  value: Buffer;
  /** MariaDB: the data type's name where it is one of its own (INET6…). */
  dataType: string | undefined;
}
export function decodeUserVar(_event: Buffer, _format: BinlogFormat): UserVarEvent {
  return todo();
}

const todo = (): never => {
  assert(false, "not written yet");
};
