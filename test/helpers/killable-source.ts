import { writeFile } from "node:fs/promises";
import path from "node:path";
import type { ServerFlavour } from "../../src/sandbox/flavours.ts";

/** A commit waits for the acknowledgement for as long as it takes: with the servers' default of 10 s a slow restart would look like a loss. */
const SEMI_SYNC_TIMEOUT_MS = 3_600_000;

/** Options of a source that is killed: it loses nothing that it said was committed. `folder`: for a file of its own. */
export async function killableSource(
  { flavour, semiSync }: { flavour: ServerFlavour; semiSync: boolean },
  folder: string,
): Promise<readonly string[]> {
  // A source that loses transactions in a crash has lost them for everybody: that is not what is tested.
  const durable = ["--sync-binlog=1", "--innodb-flush-log-at-trx-commit=1", "--max-binlog-size=4M"];
  if (!semiSync) return durable;
  if (flavour.startsWith("mysql")) {
    return [
      ...durable,
      "--plugin-load-add=semisync_source.so",
      "--loose-rpl-semi-sync-source-enabled=ON",
      `--loose-rpl-semi-sync-source-timeout=${SEMI_SYNC_TIMEOUT_MS}`,
    ];
  }
  // MariaDB 10.11 waits for acknowledgements also of what it commits in crash recovery, before it lets anybody connect: on only once that is done.
  const initFile = path.join(folder, "semi-sync.sql");
  await writeFile(initFile, "SET GLOBAL rpl_semi_sync_master_enabled=ON;\n");
  return [
    ...durable,
    `--init-file=${initFile}`,
    `--rpl-semi-sync-master-timeout=${SEMI_SYNC_TIMEOUT_MS}`,
    "--rpl-semi-sync-master-wait-point=AFTER_SYNC",
  ];
}
