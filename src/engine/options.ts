import type { Log } from "../base/log.ts";
import type { ServerAddress } from "../base/server-url.ts";
import type { PolicyName } from "../schedule/policies/policies.ts";
import type { CopiedTable } from "./table-filter.ts";

/** Everything an engine needs to know. The command line, environment and options file all end in this (cli/config.ts has the defaults and their reasons). */
export interface EngineOptions {
  source: ServerAddress;
  target: ServerAddress;
  /** Names this stream on the target: one engine per channel and target. */
  channel: string;
  /** Relay log, control socket and engine state live here. */
  folder: string;
  /** `uuid:1-5,…`, `0-1-100,…`, `binlog.000003:4711` or `now`; used only when the target has no checkpoint of this channel yet. */
  startFrom: string | undefined;
  serverId: number;
  workers: number;
  policy: PolicyName;
  dependency: "graph" | "low-water-mark";
  /** Of the writeset policies. */
  writesetHistory: number;
  writesetHash: "xxhash64" | "murmur32";
  commitOrder: "preserve" | "relaxed";
  gtid: "own" | "preserve";
  semiSync: boolean;
  /** Limits of one packed run. */
  packTransactionsMax: number;
  packBytesMax: number;
  packRowsMax: number;
  packMsMax: number;
  /** Above this a transaction is streamed from the relay log instead of being held in memory. */
  transactionBytesInMemoryMax: number;
  relayFileBytesMax: number;
  relayTotalBytesMax: number;
  transactionRetries: number;
  /** What becomes of rows that are missing or already there. */
  onConflict: "stop" | "skip" | "overwrite";
  /** Transactions to pass over, by GTID, or by `file:position` of where they start or end. */
  skip: readonly string[];
  heartbeatMs: number;
  /** Stop by itself once this source position (GTID set, GTID position or file:position) is applied, or when caught up with the source's end at start. */
  until: string | undefined;
  /** From an initial copy that was interrupted: tables whose rows are newer than where the stream begins. */
  copiedTables?: readonly CopiedTable[];
  log: Log;
}

/** Whether a backlog is packed into runs that commit in the source's order. */
export const isPacked = ({ gtid, commitOrder, packTransactionsMax }: EngineOptions): boolean =>
  gtid === "own" && commitOrder === "preserve" && packTransactionsMax > 1;
