import { expect, test } from "vitest";
import { ReplicationError } from "../base/error.ts";
import { RelayFlusher } from "./relay-flusher.ts";

test("a full disk is told when it begins and when it is over, each once, and what was appended is flushed then", async () => {
  const full = new ReplicationError("DISK_FULL", "ENOSPC");
  const told: string[] = [];
  let attempts = 0;
  const relay = {
    flush: async (): Promise<void> => {
      attempts += 1;
      if (attempts <= 2) throw full;
    },
    waitForRoom: async (): Promise<void> => {},
  };
  const flushed = new Promise<void>((resolve, reject) => {
    const flusher = new RelayFlusher(relay, {
      onState: (state) => told.push(state),
      onDiskFull: (error) => told.push(error === undefined ? "over" : error.message),
      onError: reject,
    });
    flusher.afterFlush(resolve);
  });
  await flushed;
  expect(attempts).toBe(3);
  expect(told).toEqual(["ENOSPC", "Waiting for disk space", "over", "Waiting for source to send event"]);
});
