import type { BinlogFormat } from "../format.ts";
import { bodyReader } from "./body.ts";

export interface UserVarEvent {
  kind: "user-var";
  name: Buffer;
  /** `null` has no bytes. `integer`: 8 bytes little-endian; `real`: a double; `decimal`: precision, scale, then the packed number. */
  type: "null" | "string" | "real" | "integer" | "decimal";
  /** Collation id of a string's bytes. */
  collation: number;
  unsigned: boolean;
  value: Buffer;
  /** MariaDB: the data type's name where it is one of its own (`inet6`). */
  dataType: string | undefined;
}

/** Item_result: 3 is a row, which no variable holds. */
const TYPES = ["string", "real", "integer", undefined, "decimal"] as const;

/** What follows the value: MySQL a byte of flags, MariaDB since 10.11 a list of these (sql/log_event_data_type.h); 0 and 1 mean the same in both. */
const CHUNK = { SIGNED: 0, UNSIGNED: 1, DATA_TYPE_NAME: 2 } as const;

/**
 * USER_VAR (14; libbinlogevents/include/statement_events.h, 8.0), for the statement that follows:
 *
 *     u32 length; name; u8 is NULL; when it is not: u8 type; u32 collation; u32 length; value; [chunks]
 */
export function decodeUserVar(event: Buffer, format: BinlogFormat): UserVarEvent {
  const reader = bodyReader(event, format);
  const name = reader.take(reader.u32());
  const result: UserVarEvent = {
    kind: "user-var",
    name,
    type: "null",
    collation: 63,
    unsigned: false,
    value: Buffer.alloc(0),
    dataType: undefined,
  };
  if (reader.u8() !== 0) return result;
  const code = reader.u8();
  result.type = TYPES[code] ?? reader.fail(`a user variable has the unknown type ${code}`);
  result.collation = reader.u32();
  result.value = reader.take(reader.u32());
  const { type, value } = result;
  if ((type === "integer" || type === "real") && value.length !== 8) {
    reader.fail(`a user variable's number has ${value.length} bytes`);
  }
  while (reader.remaining > 0) {
    const chunk = reader.u8();
    if (chunk === CHUNK.DATA_TYPE_NAME) result.dataType = reader.text(reader.lenenc(), "latin1");
    else if (chunk === CHUNK.UNSIGNED) result.unsigned = true;
    else if (chunk !== CHUNK.SIGNED) break;
  }
  return result;
}
