import { open } from "node:fs/promises";
import { ReplicationError } from "../base/error.ts";
import type { Log } from "../base/log.ts";
import type { SourcePosition } from "../transaction/transaction.ts";
import { diskError, errnoOf } from "./disk.ts";
import { RelayFileEvents } from "./file-events.ts";
import { relayFileName, type RelayFiles } from "./files.ts";
import { countGtid, type GtidState, type RelayState } from "./state.ts";
import { TransactionScanner } from "./transaction-scanner.ts";

/** `transactionEnds`: where the last transaction of a file ends, 0 when it has none; for the last files, down to one that has a transaction. */
export interface Recovered {
  state: RelayState;
  transactionEnds: Map<number, number>;
}

/**
 * Brings a log that was left at any instant to an end between two transactions, and tells that end. Only the last file can be torn: every other one was whole and synced
 * before its successor began. A file whose own first events are torn is dropped.
 */
export async function recover(files: RelayFiles, log: Log): Promise<Recovered> {
  const scan = await recoverLast(files, log);
  if (scan === undefined) {
    return {
      state: { source: undefined, gtids: { kind: "none" }, end: { file: 0, offset: 0 } },
      transactionEnds: new Map(),
    };
  }
  const { source, gtids, end } = scan;
  const transactionEnds = new Map([[scan.file, scan.transactionEnd]]);
  for (const { number } of files.all.slice(0, -1).toReversed()) {
    if ([...transactionEnds.values()].some((offset) => offset > 0)) break;
    transactionEnds.set(number, (await scanFile(files, number)).transactionEnd);
  }
  return { state: { source, gtids, end: { file: scan.file, offset: end } }, transactionEnds };
}

async function recoverLast(files: RelayFiles, log: Log): Promise<Scan | undefined> {
  for (;;) {
    const last = files.last;
    if (last === undefined) return undefined;
    let scan: Scan;
    try {
      scan = await scanFile(files, last.number);
    } catch (error) {
      const reason = faultOf(error);
      log.warn("dropped the last relay file: it has no beginning", { file: relayFileName(last.number), reason });
      await files.remove([last.number]);
      continue;
    }
    if (scan.end < last.bytes) {
      log.warn("cut the end of the relay log back to the last complete transaction; the source sends the rest again", {
        file: relayFileName(scan.file),
        offset: scan.end,
        bytes: last.bytes - scan.end,
        reason: scan.fault ?? "the last transaction is not complete",
      });
      await cut(files, scan.file, scan.end);
    } else {
      await sync(files, scan.file);
    }
    return scan;
  }
}

/** What one file holds up to its last boundary, or up to its first fault. */
interface Scan {
  file: number;
  source: SourcePosition;
  gtids: GtidState;
  end: number;
  transactionEnd: number;
  fault: string | undefined;
}

/** Throws RELAY_LOG when the file has no whole prologue. */
async function scanFile(files: RelayFiles, number: number): Promise<Scan> {
  const file = await RelayFileEvents.open(files, number);
  const { source, gtids } = file.prologue;
  const scan: Scan = { file: number, source, gtids, end: file.start, transactionEnd: 0, fault: undefined };
  const scanner = new TransactionScanner(file.prologue);
  const bytes = files.find(number)?.bytes ?? 0;
  try {
    for (let at = file.start; at < bytes;) {
      const batch = await file.read(at, bytes);
      for (const [index, event] of batch.events.entries()) {
        const boundary = scanner.take(event);
        at = batch.ends[index] as number;
        if (boundary === "inside") continue;
        scan.source = scanner.tracker.source;
        scan.end = at;
        if (boundary === "outside") continue;
        countGtid(gtids, scanner.id);
        scan.transactionEnd = at;
      }
    }
  } catch (error) {
    scan.fault = faultOf(error);
  } finally {
    await file.close();
  }
  return scan;
}

/** What is wrong with the bytes. A disk that cannot be read is no such fault: nothing is thrown away then. */
function faultOf(error: unknown): string {
  if (!(error instanceof ReplicationError) || errnoOf(error.cause) !== undefined) throw error;
  return error.message;
}

/** A kill may have left it in the system's cache only, and the source will be told that we have it. */
async function sync(files: RelayFiles, number: number): Promise<void> {
  try {
    const handle = await open(files.path(number), "r+");
    try {
      await handle.datasync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw diskError(error, "the relay log cannot be synced", { file: relayFileName(number) });
  }
}

async function cut(files: RelayFiles, number: number, bytes: number): Promise<void> {
  try {
    const handle = await open(files.path(number), "r+");
    try {
      await handle.truncate(bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw diskError(error, "the relay log's torn end cannot be cut", { file: relayFileName(number), position: bytes });
  }
  files.cut(number, bytes);
}
