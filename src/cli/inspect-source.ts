import type { ServerAddress } from "../base/server-url.ts";
import type { Bound } from "../inspect/input/range.ts";
import { readTables } from "../schema/catalog.ts";
import type { Schema } from "../schema/dump.ts";
import { readForeignKeys } from "../schema/key-catalog.ts";
import { Session } from "../wire/session.ts";
import { readConfig, serverAddress } from "./config.ts";
import { type LiveBinlog, liveBinlog } from "./live-binlog.ts";
import { onStopSignals } from "./stop-signals.ts";

/** A server whose binlog, or whose tables, are looked at. */
export interface InspectSource {
  /** Ctrl-C, or nobody reads the output, once the binlog is read: the reading is to end. */
  signal: AbortSignal;
  /** Names and keys as the server has them now. */
  schema(): Promise<Schema>;
  /** @throws ReplicationError CONFIG: `from` is a position of no file */
  open(from: Bound | undefined): LiveBinlog;
}

const OPTIONS = ["source", "sourcePassword", "sourcePasswordFile"] as const;
const EXIT_AT_ONCE = 3;

/** By flag or environment, the password from where it is kept. @throws ReplicationError CONFIG */
export function inspectSource(flags: Record<string, unknown>, follow: boolean): InspectSource {
  const config = readConfig(OPTIONS, { flags, environment: process.env, folder: process.cwd() });
  const source = serverAddress(config as Parameters<typeof serverAddress>[0], "source");
  const stop = new AbortController();
  return {
    signal: stop.signal,
    schema: () => readSchema(source),
    open(from) {
      onStopSignals(
        () => stop.abort(),
        () => {},
        EXIT_AT_ONCE,
      );
      // Nobody reads what comes of it.
      process.stdout.once("error", () => stop.abort());
      return liveBinlog({ source, from, follow, signal: stop.signal });
    },
  };
}

async function readSchema(source: ServerAddress): Promise<Schema> {
  const session = await Session.connect(source, { programName: "abreast inspect" });
  try {
    return { tables: await readTables(session), foreignKeys: await readForeignKeys(session) };
  } finally {
    await session.close();
  }
}
