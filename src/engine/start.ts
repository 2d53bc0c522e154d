import { createHash } from "node:crypto";
import path from "node:path";
import { type Checkpoint, type Intent, takeOver } from "../apply/checkpoint.ts";
import { assert } from "../base/assert.ts";
import { ReplicationError } from "../base/error.ts";
import { GtidSet } from "../gtid/mysql.ts";
import { RelayLog } from "../relay/relay-log.ts";
import { connectSource } from "../source/connect.ts";
import { readNow, type SourceNow } from "../source/now.ts";
import { parseStartPoint, type StartPoint } from "../source/start-point.ts";
import type { RelayPosition } from "../transaction/transaction.ts";
import { AppliedAhead } from "./ahead.ts";
import type { EngineOptions } from "./options.ts";
import { type Goal, gtidText, parseGtids, type Progress } from "./progress.ts";
import type { Target } from "./target.ts";

/** Where the source has not told a file yet: GTIDs alone say where to begin. */
const NO_FILE = { file: "", position: 0 };

export interface Start {
  progress: Progress;
  /** Applied beyond `progress`, by a former engine that applied out of order. */
  ahead: AppliedAhead;
  intent: Intent | undefined;
}

/**
 * How far the target is: what it says itself (its checkpoint; with preserved GTIDs its executed set), or, for a new channel, what the options say. The source is
 * asked only when a new channel starts at `now`, so that a relay log can be applied while the source is down.
 * @throws ReplicationError CHECKPOINT, CONFIG, those of connecting to the source
 */
export async function findStart(options: EngineOptions, target: Target, engineId: string): Promise<Start> {
  if (options.gtid === "preserve") {
    return { progress: await executedOnTarget(target, options), ahead: AppliedAhead.parse([]), intent: undefined };
  }
  const stored = await target.claim(engineId);
  const { checkpoint, intent } = stored;
  const progress = checkpoint === undefined ? await newChannel(options) : progressOf(checkpoint);
  const ahead = AppliedAhead.parse(stored.ahead).beyond(progress);
  if (ahead.size > 0n) tellGaps(options, ahead.size);
  if (checkpoint !== undefined && options.startFrom !== undefined) {
    options.log.info(
      `the channel goes on from its checkpoint; --start-from ${options.startFrom} is for a new channel`,
      {
        channel: options.channel,
        checkpoint: `${checkpoint.source.file}:${checkpoint.source.position}`,
      },
    );
  }
  // A start that somebody gave is no checkpoint before the source has accepted it: a wrong one can be corrected. `now` comes from the source itself, and must not move.
  const isKnown = checkpoint !== undefined || options.startFrom === "now";
  await takeOver(
    target.session,
    { channel: options.channel, engineId, workers: options.workers },
    {
      source: isKnown ? progress.source : NO_FILE,
      gtids: isKnown ? gtidText(progress.gtids) : "",
      transactions: progress.transactions,
    },
    ahead.toString(),
  );
  return { progress, ahead, intent };
}

const progressOf = ({ source, gtids, transactions }: Checkpoint): Progress => ({
  source,
  gtids: parseGtids(gtids),
  transactions,
});

/** Said at the start, and looked for by the tests that kill engines. */
export const GAPS_FOUND = "on the target without all of those before them";

function tellGaps({ log, channel }: EngineOptions, transactions: bigint | undefined): void {
  const which = transactions === 1n ? "1 transaction is" : `${transactions ?? "some"} transactions are`;
  log.info(`${which} ${GAPS_FOUND}: what is there is not applied again`, { channel });
}

async function executedOnTarget(target: Target, options: EngineOptions): Promise<Progress> {
  if (!target.gtidModeOn) {
    throw new ReplicationError("CONFIG", "the target has gtid_mode other than ON: it cannot keep the source's GTIDs", {
      where: { server: target.session.server },
      hint: "use --gtid own, or set gtid_mode=ON on the target",
    });
  }
  const executed = ((await target.session.queryValue("SELECT @@GLOBAL.gtid_executed")) ?? "").replaceAll("\n", "");
  const set = GtidSet.parse(executed);
  if (set.entries().some(([, , intervals]) => intervals.length > 1)) tellGaps(options, undefined);
  options.log.info("the stream begins behind the GTIDs that the target has executed", { executed });
  return { source: NO_FILE, gtids: { kind: "mysql", set }, transactions: 0n };
}

async function newChannel(options: EngineOptions): Promise<Progress> {
  if (options.startFrom === undefined) {
    throw new ReplicationError("CHECKPOINT", `the target knows nothing of channel "${options.channel}"`, {
      hint: "copy the source's data with --init, or say where to begin with --start-from (GTIDs, file:position or now)",
    });
  }
  const start = parseStartPoint(options.startFrom);
  switch (start.kind) {
    case "mysql-gtid":
      return { source: NO_FILE, gtids: { kind: "mysql", set: start.set }, transactions: 0n };
    case "mariadb-gtid":
      return { source: NO_FILE, gtids: { kind: "mariadb", position: start.position }, transactions: 0n };
    case "file":
      return { source: { file: start.file, position: start.position }, gtids: { kind: "none" }, transactions: 0n };
    case "now": {
      const now = await askNow(options);
      return { source: now.source ?? NO_FILE, gtids: now.gtids, transactions: 0n };
    }
  }
}

async function askNow(options: EngineOptions): Promise<SourceNow> {
  const { session, facts } = await connectSource(options.source, options.serverId, options.log);
  try {
    return await readNow(session, facts);
  } finally {
    await session.close();
  }
}

/** `until`: a GTID set, a GTID position, file:position, or `now` for where the source is at this moment. */
export async function findGoal(options: EngineOptions): Promise<Goal | undefined> {
  if (options.until === undefined) return undefined;
  const until = parseStartPoint(options.until);
  if (until.kind === "file") return { source: until };
  if (until.kind === "mysql-gtid") return { gtids: { kind: "mysql", set: until.set } };
  if (until.kind === "mariadb-gtid") return { gtids: { kind: "mariadb", position: until.position } };
  const now = await askNow(options);
  return goalOf(now);
}

function goalOf(now: SourceNow): Goal {
  if (now.gtids.kind !== "none") {
    // A channel may go by file and position although its source has GTIDs.
    return { gtids: now.gtids, ...(now.source === undefined ? {} : { source: now.source }) };
  }
  assert(now.source !== undefined, "a source without GTIDs tells its file and position");
  return { source: now.source };
}

/**
 * Opens the relay log and finds where to read on. What it holds beyond the checkpoint is used (with semi-sync a source may have promised it to its clients);
 * a log that does not contain the checkpoint is of no use, and is emptied.
 */
export async function openRelay(
  options: EngineOptions,
  progress: Progress,
): Promise<{ relay: RelayLog; from: RelayPosition | undefined }> {
  const relay = await RelayLog.open({
    folder: path.join(options.folder, "relay"),
    fileBytesMax: options.relayFileBytesMax,
    totalBytesMax: options.relayTotalBytesMax,
    log: options.log,
  });
  try {
    if (relay.recovered.source === undefined && relay.recovered.gtids.kind === "none") {
      await relay.reset(progress.gtids);
      return { relay, from: undefined };
    }
    const from = await relay.locate(
      progress.gtids.kind === "none" ? { source: progress.source } : { gtids: progress.gtids },
    );
    if (from === undefined) {
      options.log.warn("the relay log does not contain the checkpoint: it is emptied and received again", {
        folder: options.folder,
      });
      await relay.reset(progress.gtids);
    }
    return { relay, from };
  } catch (error) {
    await relay.close();
    throw error;
  }
}

/** What the receiver asks for when the relay log has nothing to go on from. */
export function receiverStart({ source, gtids }: Progress): StartPoint {
  if (gtids.kind === "mysql") return { kind: "mysql-gtid", set: gtids.set };
  if (gtids.kind === "mariadb") return { kind: "mariadb-gtid", position: gtids.position };
  return { kind: "file", ...source };
}

/** The same in every run of this engine, so that the source ends a former stream of ours when we come back. */
export function replicaUuid(options: EngineOptions): string {
  const digits = createHash("sha256")
    .update(`${path.resolve(options.folder)}\0${options.channel}\0${options.serverId}`)
    .digest("hex");
  return [
    digits.slice(0, 8),
    digits.slice(8, 12),
    digits.slice(12, 16),
    digits.slice(16, 20),
    digits.slice(20, 32),
  ].join("-");
}
