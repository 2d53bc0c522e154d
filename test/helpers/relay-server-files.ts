import { spawnSync } from "node:child_process";
import { createReadStream } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RowDataPacket } from "mysql2/promise";
import { expect } from "vitest";
import { query } from "./servers.ts";
import { silentLog } from "../../src/base/log.ts";
import { EVENT_FLAG, eventFlags, eventType } from "../../src/binlog/event.ts";
import { EVENT_TYPE } from "../../src/binlog/event-type.ts";
import { BinlogFileSplitter } from "../../src/binlog/file-reader.ts";
import { commandOf } from "../../src/sandbox/installation.ts";
import type { ServerInstallation } from "../../src/sandbox/installation.ts";
import type { SandboxServer } from "../../src/sandbox/start.ts";
import { encodeRotate } from "../../src/relay/prologue.ts";
import { RelayLog } from "../../src/relay/relay-log.ts";
import type { GtidState } from "../../src/relay/state.ts";
import { TransactionScanner } from "../../src/relay/transaction-scanner.ts";

/** The server's binlog files, oldest first. */
async function binlogFiles(server: SandboxServer): Promise<string[]> {
  const index = await readFile(join(server.dataFolder, "binlog.index"), "utf8");
  return index
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => join(server.dataFolder, line.replace(/^.*\//, "")));
}

/** Hands a server's binlog file over as its dump thread sends it: artificial Rotate, FORMAT_DESCRIPTION, events. */
async function appendBinlogFile(relay: RelayLog, path: string): Promise<void> {
  const splitter = new BinlogFileSplitter();
  let scanner: TransactionScanner | undefined;
  const append = (event: Buffer): void => {
    if (scanner === undefined) {
      const { format } = splitter;
      const source = { file: path.replace(/^.*\//, ""), position: 4 };
      relay.append(encodeRotate(source, event, format), 4, "outside");
      // The dump thread clears the flag of the file that is still open.
      if ((eventFlags(event) & EVENT_FLAG.BINLOG_IN_USE) !== 0) event.writeUInt16LE(eventFlags(event) & ~1, 17);
      scanner = new TransactionScanner({ description: event, format, source, gtids: { kind: "none" } });
    }
    const boundary = scanner.take(event);
    const sourceEnd = eventType(event) === EVENT_TYPE.ROTATE ? splitter.endOffset : scanner.tracker.position;
    relay.append(event, sourceEnd, boundary, boundary === "outside" ? undefined : scanner.id);
  };
  for await (const chunk of createReadStream(path)) {
    splitter.feed(chunk as Buffer);
    for (let event = splitter.next(); event !== undefined; event = splitter.next()) append(event);
    await relay.flush();
  }
}

/** What a server's own mysqlbinlog says of the files: the rows and GTIDs, one per line. It must find no fault. */
function rowsAndGtids(installation: ServerInstallation, files: readonly string[]): string[] {
  const args = ["--no-defaults", "--verify-binlog-checksum", "--base64-output=decode-rows", "--verbose", ...files];
  const command = commandOf(installation, installation.mysqlbinlog ?? "", args);
  const { status, stdout, stderr } = spawnSync(command.file, command.args, {
    env: command.env,
    encoding: "utf8",
    maxBuffer: 1 << 28,
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return stdout
    .split("\n")
    .filter((line) => /^### |GTID_NEXT= '|\tGTID \d+-/.test(line) && !line.includes("AUTOMATIC"));
}

/**
 * Copies the server's binlog into a relay log of small files. Both must say the same to mysqlbinlog, all files together and each of ours alone, and reopened, the relay log
 * must end where it was left. Returns the GTIDs it ends with.
 */
export async function copyAndCompare(
  server: SandboxServer,
  gtids: GtidState,
  installation = server.installation,
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "abreast-relay-"));
  try {
    const relay = await RelayLog.open({ folder, fileBytesMax: 5000, log: silentLog });
    await relay.reset(gtids);
    const binlogs = await binlogFiles(server);
    for (const file of binlogs) await appendBinlogFile(relay, file);
    const { source, end } = relay.received;
    await relay.close();

    const again = await RelayLog.open({ folder, log: silentLog });
    const { recovered, fileCount } = again;
    await again.close();
    expect({ source: recovered.source, end: recovered.end }).toEqual({ source, end });
    expect(fileCount).toBeGreaterThan(binlogs.length);
    const numbers = Array.from({ length: fileCount }, (_, index) => String(index + 1).padStart(6, "0"));
    const relayFiles = numbers.map((number) => join(folder, `relay-bin.${number}`));
    const expected = rowsAndGtids(installation, binlogs);
    expect(expected.length).toBeGreaterThan(400);
    expect(rowsAndGtids(installation, relayFiles)).toEqual(expected);
    for (const file of relayFiles) rowsAndGtids(installation, [file]);
    return textOf(recovered.gtids);
  } finally {
    await rm(folder, { recursive: true });
  }
}

function textOf(gtids: GtidState): string {
  if (gtids.kind === "none") return "";
  return gtids.kind === "mysql" ? gtids.set.toString() : gtids.position.toString();
}

/** The one value of the one row. */
export async function queryValue(server: SandboxServer, sql: string): Promise<string> {
  const [row] = await query<RowDataPacket[]>(server, sql);
  return String(Object.values(row ?? {})[0]);
}
