import { closeSync, openSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { Scanner } from "./scanner.ts";
import type { ThreadAnswer, ThreadSetting, ThreadTask } from "./threads.ts";
import { UnitScan } from "./unit-scan.ts";

/** A thread that scans units of files as it is told, one after the other, until it is ended. */
const { schema, verifyChecksums } = workerData as ThreadSetting;
const scan = new UnitScan(new Scanner({ schema, verifyChecksums }));
let open: { path: string; descriptor: number } | undefined;

function descriptorOf(path: string): number {
  if (open?.path !== path) {
    if (open !== undefined) closeSync(open.descriptor);
    open = { path, descriptor: openSync(path, "r") };
  }
  return open.descriptor;
}

parentPort?.on("message", ({ number, file, path, unit }: ThreadTask) => {
  const part = scan.scan(descriptorOf(path), file, unit);
  parentPort?.postMessage({ number, part } satisfies ThreadAnswer, []);
});
