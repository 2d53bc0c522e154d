import type { MariadbGtidPosition } from "../gtid/mariadb.ts";
import type { RelayPosition, SourcePosition } from "../transaction/transaction.ts";
import { RelayFileEvents } from "./file-events.ts";
import type { RelayFile, RelayFiles } from "./files.ts";
import type { Prologue } from "./prologue.ts";
import { coversGtids, coversId, type GtidState } from "./state.ts";
import { TransactionScanner } from "./transaction-scanner.ts";

/** What is applied already: reading must begin at the transaction after it. */
export type LocateTarget = { source: SourcePosition } | { gtids: GtidState };

/**
 * The start of the first transaction that the target does not hold, in the newest file that does not begin after it. Undefined when the log begins later than that,
 * or ends before it.
 */
export async function locate(files: RelayFiles, target: LocateTarget): Promise<RelayPosition | undefined> {
  if ("gtids" in target && target.gtids.kind === "mariadb") return locatePosition(files, target.gtids.position);
  for (const { number, bytes } of [...files.all].toReversed()) {
    const file = await RelayFileEvents.open(files, number);
    try {
      if (!beginsWithin(file.prologue, target)) continue;
      return await locateIn(file, bytes, target, files.after(number));
    } finally {
      await file.close();
    }
  }
  return undefined;
}

function beginsWithin(prologue: Prologue, target: LocateTarget): boolean {
  // What a log that began at a file position does not know of GTIDs could be missing in the target.
  if ("gtids" in target) return prologue.gtids.kind !== "none" && coversGtids(target.gtids, prologue.gtids);
  return prologue.source.file === target.source.file && prologue.source.position <= target.source.position;
}

async function locateIn(
  file: RelayFileEvents,
  bytes: number,
  target: LocateTarget,
  after: RelayFile | undefined,
): Promise<RelayPosition | undefined> {
  const scanner = new TransactionScanner(file.prologue);
  let start = file.start;
  let reached = file.prologue.source.position;
  for (let at = file.start; at < bytes;) {
    const batch = await file.read(at, bytes);
    for (const [index, event] of batch.events.entries()) {
      const boundary = scanner.take(event);
      at = batch.ends[index] as number;
      if (boundary === "inside") continue;
      if (boundary === "end" && !isApplied(scanner, target)) return { file: file.number, offset: start };
      start = at;
      if (scanner.tracker.file === file.prologue.source.file) reached = scanner.tracker.position;
    }
  }
  if (after !== undefined) return { file: after.number, offset: 0 };
  if ("source" in target && target.source.position > reached) return undefined;
  return { file: file.number, offset: start };
}

/** Whether the transaction that just ended is in the target. */
function isApplied(scanner: TransactionScanner, target: LocateTarget): boolean {
  if ("gtids" in target) return coversId(target.gtids, scanner.id);
  return scanner.tracker.position <= target.source.position;
}

/**
 * The place at which the log's own account of GTIDs is this position. A MariaDB position tells only the last transaction of each domain, and sequences are not in order
 * when the server that writes has changed, so nothing less than passing it says what came before. From the oldest file on, since purging keeps it close behind the
 * position.
 */
async function locatePosition(files: RelayFiles, position: MariadbGtidPosition): Promise<RelayPosition | undefined> {
  for (const { number, bytes } of files.all) {
    const file = await RelayFileEvents.open(files, number);
    try {
      const { gtids } = file.prologue;
      if (gtids.kind !== "mariadb") continue;
      const start = await passPosition(file, bytes, gtids.position.clone(), position);
      if (start === undefined) continue;
      const after = start === bytes ? files.after(number) : undefined;
      return after === undefined ? { file: number, offset: start } : { file: after.number, offset: 0 };
    } finally {
      await file.close();
    }
  }
  return undefined;
}

/** Where the first transaction after the position begins in this file, its end when it ends there; undefined when it is nowhere in it. */
async function passPosition(
  file: RelayFileEvents,
  bytes: number,
  state: MariadbGtidPosition,
  position: MariadbGtidPosition,
): Promise<number | undefined> {
  const scanner = new TransactionScanner(file.prologue);
  let passed = state.equals(position);
  let start = file.start;
  for (let at = file.start; at < bytes;) {
    const batch = await file.read(at, bytes);
    for (const [index, event] of batch.events.entries()) {
      const boundary = scanner.take(event);
      at = batch.ends[index] as number;
      if (boundary === "inside") continue;
      if (boundary === "end") {
        if (passed) return start;
        const { id } = scanner;
        if (id.kind === "mariadb") {
          state.update(id.domainId, id.serverId, id.sequence);
          passed = state.equals(position);
        }
      }
      start = at;
    }
  }
  return passed ? start : undefined;
}
