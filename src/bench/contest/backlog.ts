import { constants } from "node:fs";
import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import type { ServerFlavour } from "../../sandbox/flavours.ts";
import { type SandboxServer, startServer } from "../../sandbox/start.ts";
import { Session } from "../../wire/session.ts";
import type { TemporaryFolder } from "../temporary-folder.ts";
import { prepareData } from "../workload/data.ts";
import { type LoadInterval, startLoad } from "../workload/load.ts";
import type { Workload } from "../workload/workload.ts";
import { checksumTables, gtidPosition } from "./server-facts.ts";

export interface BacklogOptions {
  /** Names its folders; `workload`'s name where it is not given. */
  name?: string;
  server: ServerFlavour;
  /** The source's data, and the copy that targets start from, are put in here. */
  folder: TemporaryFolder;
  /** More options of the source. */
  serverOptions?: readonly string[];
  workload: Workload;
  seed: number;
  /** Without it: until the workload has no more. */
  transactions?: number;
  threads: number;
  onProgress: (text: string) => void;
}

/** A running source with transactions that nobody has applied yet. */
export interface Backlog {
  source: SandboxServer;
  /** GTID set or position before the first and after the last transaction of the backlog. */
  from: string;
  until: string;
  transactions: number;
  /** By table name, of the source after the last transaction. */
  checksums: Map<string, string>;
  binlogBytes: number;
  /** Fills `folder` with the data that the source had before the backlog, as a server of its own. */
  copyStart(folder: string): Promise<void>;
  /** Of the source's data and of the copy. */
  folders: readonly string[];
}

export const SCHEMA = "sbtest";

/** The source is only quick at making the backlog: how it was written changes nothing in what is to be applied. */
const SOURCE_OPTIONS = ["--sync-binlog=0", "--innodb-flush-log-at-trx-commit=2"];

/**
 * The tables are made first, and the data folder of the cleanly stopped source is copied: so every target starts from the very same pages, in a second.
 */
export async function makeBacklog(options: BacklogOptions): Promise<Backlog> {
  const { server, folder, onProgress, workload, seed, transactions } = options;
  const name = options.name ?? workload.name;
  const start = join(folder.path, `${name}-start`);
  const source = await startServer({
    flavour: server,
    dataFolder: join(folder.path, `${name}-source`),
    serverId: 1,
    options: [...SOURCE_OPTIONS, ...(options.serverOptions ?? [])],
    onProgress,
  });
  folder.holds(source);
  onProgress(`source: making the tables of ${workload.name}`);
  await prepareData(source.address, SCHEMA, workload, seed);
  await source.stop({ keepData: true });
  await copyFolder(source.dataFolder, start);
  // Two servers of one replication must not have the same UUID.
  await rm(join(start, "auto.cnf"), { force: true });
  await source.restart();

  const session = await Session.connect(source.address);
  try {
    const from = await gtidPosition(session);
    const bytesBefore = await binlogBytes(session);
    const load = startLoad({
      address: source.address,
      schema: SCHEMA,
      workload,
      seed,
      threads: options.threads,
      ...(transactions === undefined ? {} : { transactions }),
      intervalMs: 5000,
      onInterval: (interval) => onProgress(`source: ${describeInterval(interval)}`),
    });
    const summary = await load.done;
    onProgress(
      `source: backlog of ${summary.transactions} transactions made in ${(summary.elapsedMs / 1000).toFixed(1)} s, ${summary.errors} deadlocks`,
    );
    return {
      source,
      from,
      until: await gtidPosition(session),
      transactions: summary.transactions,
      checksums: await checksumTables(session, SCHEMA),
      binlogBytes: (await binlogBytes(session)) - bytesBefore,
      copyStart: (target) => copyFolder(start, target),
      folders: [source.dataFolder, start],
    };
  } finally {
    await session.close();
  }
}

function describeInterval(interval: LoadInterval): string {
  return `${interval.total.transactions} transactions, ${Math.round(interval.transactionsPerSecond)} per second`;
}

async function binlogBytes(session: Session): Promise<number> {
  const files = await session.query("SHOW BINARY LOGS");
  return files.reduce((sum, file) => sum + Number(file["File_size"]), 0);
}

function copyFolder(from: string, to: string): Promise<void> {
  return cp(from, to, { recursive: true, mode: constants.COPYFILE_FICLONE });
}
