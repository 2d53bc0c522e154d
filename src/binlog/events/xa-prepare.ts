import type { BinlogFormat } from "../format.ts";
import { formatXaId } from "../xa-id.ts";
import { bodyReader } from "./body.ts";

export interface XaPrepareEvent {
  kind: "xa-prepare";
  /** XA COMMIT … ONE PHASE: committed, not only prepared. */
  onePhase: boolean;
  /** As the server writes it: `X'31',X'',1`. */
  xid: string;
}

/**
 * XA_PREPARE (38; XA_prepare_event, libbinlogevents/include/control_events.h, 8.0; MariaDB since 10.5): the end of a transaction's first half.
 *
 *     u8 one phase; u32 format; u32 gtrid length; u32 bqual length; both
 */
export function decodeXaPrepare(event: Buffer, format: BinlogFormat): XaPrepareEvent {
  const reader = bodyReader(event, format);
  const onePhase = reader.u8() !== 0;
  const formatId = reader.u32();
  const globalLength = reader.u32();
  const qualifierLength = reader.u32();
  // MAXGTRIDSIZE and MAXBQUALSIZE (sql/xa.h).
  if (globalLength > 64 || qualifierLength > 64) reader.fail("an XA identifier is longer than 64 bytes");
  return {
    kind: "xa-prepare",
    onePhase,
    xid: formatXaId(formatId, reader.take(globalLength + qualifierLength), globalLength),
  };
}
