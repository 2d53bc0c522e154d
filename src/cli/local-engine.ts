import type { EngineOptions } from "../engine/options.ts";
import { readConfig } from "./config.ts";

/** What an engine on local servers gets besides its places: what `replicate` would run with, by its defaults, environment and options file. */
export function localEngineSettings(): Omit<
  EngineOptions,
  "source" | "target" | "folder" | "startFrom" | "until" | "commitOrder" | "gtid" | "log"
> {
  const { values } = readConfig(
    [
      "workers",
      "policy",
      "dependency",
      "writesetHistory",
      "writesetHash",
      "packTransactions",
      "packBytes",
      "packRows",
      "packTime",
      "transactionMemory",
      "relayFileSize",
      "relayTotalSize",
      "transactionRetries",
      "onConflict",
      "heartbeat",
    ],
    { flags: {}, environment: process.env, folder: process.cwd() },
  );
  return {
    channel: "local",
    serverId: 3,
    workers: values.workers,
    policy: values.policy,
    dependency: values.dependency,
    writesetHistory: values.writesetHistory,
    writesetHash: values.writesetHash,
    semiSync: false,
    packTransactionsMax: values.packTransactions,
    packBytesMax: values.packBytes,
    packRowsMax: values.packRows,
    packMsMax: values.packTime,
    transactionBytesInMemoryMax: values.transactionMemory,
    relayFileBytesMax: values.relayFileSize,
    relayTotalBytesMax: values.relayTotalSize,
    transactionRetries: values.transactionRetries,
    onConflict: values.onConflict,
    skip: [],
    heartbeatMs: values.heartbeat,
  };
}
