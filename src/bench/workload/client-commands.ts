/** Commands of the client protocol as a load sends them (Protocol::COM_QUERY, COM_STMT_PREPARE, COM_STMT_EXECUTE). */
export const QUERY = Buffer.of(0x03);
export const PREPARE = Buffer.of(0x16);
const EXECUTE = 0x17;

/** MYSQL_TYPE_LONGLONG and MYSQL_TYPE_VAR_STRING, both without the unsigned flag. */
const LONGLONG = 0x08;
const VAR_STRING = 0xfd;

const FIXED_BYTES = 10;
const LENGTH_BYTES_MAX = 9;

/** COM_STMT_EXECUTE without cursor, none of the values NULL. Text goes out as UTF-8. `withTypes`: the first execution tells the types of the values, the others rely on it. */
export function executePayload(statementId: number, values: readonly (number | string)[], withTypes: boolean): Buffer {
  let bytes = FIXED_BYTES + (values.length >> 3) + 2 + 2 * values.length;
  for (const value of values) {
    bytes += typeof value === "number" ? 8 : LENGTH_BYTES_MAX + Buffer.byteLength(value);
  }
  const payload = Buffer.allocUnsafe(bytes);
  payload[0] = EXECUTE;
  payload.writeUInt32LE(statementId, 1);
  payload[5] = 0;
  payload.writeUInt32LE(1, 6);
  if (values.length === 0) return payload.subarray(0, FIXED_BYTES);
  const nullBytes = (values.length + 7) >> 3;
  payload.fill(0, FIXED_BYTES, FIXED_BYTES + nullBytes);
  let at = FIXED_BYTES + nullBytes;
  payload[at++] = withTypes ? 1 : 0;
  if (withTypes) {
    for (const value of values) {
      payload[at++] = typeof value === "number" ? LONGLONG : VAR_STRING;
      payload[at++] = 0;
    }
  }
  for (const value of values)
    at = typeof value === "number" ? writeInt64(payload, value, at) : writeText(payload, value, at);
  return payload.subarray(0, at);
}

function writeInt64(payload: Buffer, value: number, at: number): number {
  payload.writeInt32LE(value | 0, at);
  payload.writeInt32LE(Math.floor(value / 2 ** 32), at + 4);
  return at + 8;
}

/** Length-encoded. */
function writeText(payload: Buffer, text: string, at: number): number {
  const length = Buffer.byteLength(text);
  if (length < 251) {
    payload[at] = length;
    return at + 1 + payload.write(text, at + 1);
  }
  payload[at] = 0xfd;
  payload.writeUIntLE(length, at + 1, 3);
  return at + 4 + payload.write(text, at + 4);
}
