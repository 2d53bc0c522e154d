import { eventServerId } from "../event.ts";
import type { BinlogFormat } from "../format.ts";
import { formatXaId } from "../xa-id.ts";
import { bodyReader } from "./body.ts";

export interface MariadbGtidEvent {
  kind: "mariadb-gtid";
  domainId: number;
  /** From the header. */
  serverId: number;
  sequence: bigint;
  /** FL_STANDALONE: one statement follows, without COMMIT. */
  standalone: boolean;
  transactional: boolean;
  allowParallel: boolean;
  waited: boolean;
  ddl: boolean;
  /** FL_GROUP_COMMIT_ID's number. */
  commitId: bigint | undefined;
  /** `X'31',X'',1` on both halves of an XA transaction. */
  xid: string | undefined;
  xa: "prepare" | "complete" | undefined;
  /** Two-phase ALTER: what half, and the sequence of the GTID that started it (on commit and rollback). */
  alter: "start" | "commit" | "rollback" | undefined;
  alterStartSequence: bigint | undefined;
  /** Engines that take part beside the first, when there are some. */
  extraEngines: number | undefined;
  /** Since 11.5: the connection that ran it on its first server. */
  threadId: number | undefined;
}

/** `flags2` (Gtid_log_event, sql/log_event.h, MariaDB 10.11). */
export const MARIADB_GTID_FLAG = {
  STANDALONE: 1,
  GROUP_COMMIT_ID: 2,
  TRANSACTIONAL: 4,
  ALLOW_PARALLEL: 8,
  WAITED: 16,
  DDL: 32,
  PREPARED_XA: 64,
  COMPLETED_XA: 128,
} as const;

/** `flags_extra`: the last one came with 11.5. */
const EXTRA_FLAG = { MULTI_ENGINE: 1, START_ALTER: 2, COMMIT_ALTER: 4, ROLLBACK_ALTER: 8, THREAD_ID: 16 } as const;

/** Where `flags2` stands behind the header: for the stream's grammar, which needs no more. */
export const MARIADB_GTID_FLAGS_OFFSET = 12;

/**
 * MARIADB_GTID (162; Gtid_log_event, sql/log_event.cc, MariaDB 11.8), filled up with zeros to 19 bytes:
 *
 *     u64 sequence; u32 domain; u8 flags2
 *     [u64 commit id]                                             FL_GROUP_COMMIT_ID
 *     [u32 format; u8 gtrid length; u8 bqual length; both]        FL_PREPARED_XA, FL_COMPLETED_XA
 *     [u8 flags_extra                                             since 10.5
 *       [u8 engines]  [u64 sequence of the ALTER's start]  [u32 thread id]]
 */
export function decodeMariadbGtid(event: Buffer, format: BinlogFormat): MariadbGtidEvent {
  const reader = bodyReader(event, format);
  const sequence = reader.u64();
  const domainId = reader.u32();
  const flags = reader.u8();
  const has = (flag: number): boolean => (flags & flag) !== 0;
  const commitId = has(MARIADB_GTID_FLAG.GROUP_COMMIT_ID) ? reader.u64() : undefined;
  let xid: string | undefined;
  if (has(MARIADB_GTID_FLAG.PREPARED_XA | MARIADB_GTID_FLAG.COMPLETED_XA)) {
    const formatId = reader.u32();
    const globalLength = reader.u8();
    const qualifierLength = reader.u8();
    xid = formatXaId(formatId, reader.take(globalLength + qualifierLength), globalLength);
  }
  const extra = reader.remaining > 0 ? reader.u8() : 0;
  const extraEngines = (extra & EXTRA_FLAG.MULTI_ENGINE) !== 0 ? reader.u8() : undefined;
  const ended = (extra & (EXTRA_FLAG.COMMIT_ALTER | EXTRA_FLAG.ROLLBACK_ALTER)) !== 0;
  const alterStartSequence = ended ? reader.u64() : undefined;
  return {
    kind: "mariadb-gtid",
    domainId,
    serverId: eventServerId(event),
    sequence,
    standalone: has(MARIADB_GTID_FLAG.STANDALONE),
    transactional: has(MARIADB_GTID_FLAG.TRANSACTIONAL),
    allowParallel: has(MARIADB_GTID_FLAG.ALLOW_PARALLEL),
    waited: has(MARIADB_GTID_FLAG.WAITED),
    ddl: has(MARIADB_GTID_FLAG.DDL),
    commitId,
    xid,
    xa: has(MARIADB_GTID_FLAG.PREPARED_XA) ? "prepare" : has(MARIADB_GTID_FLAG.COMPLETED_XA) ? "complete" : undefined,
    alter: alterHalf(extra),
    alterStartSequence,
    extraEngines,
    threadId: (extra & EXTRA_FLAG.THREAD_ID) !== 0 ? reader.u32() : undefined,
  };
}

function alterHalf(extra: number): MariadbGtidEvent["alter"] {
  if ((extra & EXTRA_FLAG.START_ALTER) !== 0) return "start";
  if ((extra & EXTRA_FLAG.COMMIT_ALTER) !== 0) return "commit";
  return (extra & EXTRA_FLAG.ROLLBACK_ALTER) !== 0 ? "rollback" : undefined;
}
