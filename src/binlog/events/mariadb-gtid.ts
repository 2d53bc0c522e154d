import { assert } from "../../base/assert.ts";
import type { BinlogFormat } from "../format.ts";
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
  /** 11.x: engines that take part beside the first, and the thread's pseudo id (FL_EXTRA_THREAD_ID). */
  extraEngines: number | undefined;
  threadId: number | undefined;
}
export function decodeMariadbGtid(_event: Buffer, _format: BinlogFormat): MariadbGtidEvent {
  return todo();
}

const todo = (): never => {
  assert(false, "not written yet");
};
