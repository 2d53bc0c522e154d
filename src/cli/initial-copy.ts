import { ReplicationError } from "../base/error.ts";
import type { Log } from "../base/log.ts";
import type { ServerAddress } from "../base/server-url.ts";
import { readCheckpoints } from "../apply/checkpoint.ts";
import { copyInitial } from "../copy/copy.ts";
import { readCopyState } from "../copy/copy-state.ts";
import { comesBefore, type CopyPosition } from "../copy/position.ts";
import type { CopyProgress } from "../copy/report.ts";
import type { EngineOptions } from "../engine/options.ts";
import { Session } from "../wire/session.ts";
import type { Options } from "./options.ts";

/** What an initial copy means for the engine: where the stream begins, and which tables are ahead of that. */
export type CopyOutcome = Pick<EngineOptions, "startFrom" | "copiedTables">;

export interface InitialCopy {
  source: ServerAddress;
  target: ServerAddress;
  channel: string;
  mode: Options["init"];
  log: Log;
  onProgress: (progress: CopyProgress) => void;
}

/**
 * Copies, goes on with a copy, or finds the one that was finished before: tables that are ahead matter until the stream has passed them, however often the
 * engine starts until then. Undefined when this channel has no copy, and nobody asked for one.
 * @throws ReplicationError those of copyInitial; CHECKPOINT when an unfinished copy is to be replicated into
 */
export async function initialCopy(copy: InitialCopy, signal: AbortSignal): Promise<CopyOutcome | undefined> {
  const known = await readKnown(copy.target, copy.channel);
  if (copy.mode !== "restart" && (known.hasCheckpoint || known.copy === "done")) {
    if (copy.mode)
      copy.log.info("--init has nothing to do: the channel goes on from where it is", { channel: copy.channel });
    return known.outcome;
  }
  if (copy.mode === false) {
    if (known.copy === "none") return undefined;
    throw new ReplicationError("CHECKPOINT", `the initial copy of channel "${copy.channel}" is not finished`, {
      hint: "go on with it: --init; or start over: --init=restart",
    });
  }
  const { channel, source, target, onProgress, log } = copy;
  const result = await copyInitial({ source, target, channel, restart: copy.mode === "restart", onProgress, signal });
  for (const warning of result.warnings) log.warn(warning);
  log.info("the initial copy is complete", { tables: result.tables, rows: result.rows });
  return { startFrom: positionText(result.position), copiedTables: result.tableFrom };
}

interface Known {
  copy: "none" | "unfinished" | "done";
  hasCheckpoint: boolean;
  outcome: CopyOutcome | undefined;
}

/** What the target has of this channel. */
async function readKnown(target: ServerAddress, channel: string): Promise<Known> {
  const session = await Session.connect(target);
  try {
    const tables = await session.query(
      "SELECT table_name AS name FROM information_schema.tables WHERE table_schema='abreast'",
    );
    const names = new Set(tables.map((row) => row["name"]));
    const stored = names.has("checkpoint") ? await readCheckpoints(session, channel) : undefined;
    const hasCheckpoint = stored?.checkpoint !== undefined;
    const state = names.has("copy_state") ? await readCopyState(session, channel) : undefined;
    if (state === undefined) return { copy: "none", hasCheckpoint, outcome: undefined };
    const { position } = state.summary;
    if (state.summary.state !== "done" || position === undefined) {
      return { copy: "unfinished", hasCheckpoint, outcome: undefined };
    }
    const copiedTables = state.tables.flatMap(({ schema, table, position: own }) =>
      own === undefined || !comesBefore(position, own) ? [] : [{ schema, table, position: own }],
    );
    return { copy: "done", hasCheckpoint, outcome: { startFrom: positionText(position), copiedTables } };
  } finally {
    await session.close();
  }
}

function positionText({ file, position, gtids }: CopyPosition): string {
  return gtids === "" ? `${file}:${position}` : gtids;
}
