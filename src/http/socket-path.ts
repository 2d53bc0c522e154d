import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

/** `sun_path` of unix(7) has 108 bytes, the last of them a zero; a longer path would be cut without a word. */
const SOCKET_PATH_BYTES_MAX = 107;

const SOCKET_NAME = "control.sock";
/** Holds the path of a socket that is not in the folder itself. */
const RECORD_NAME = "control.path";

/** Where the engine of a folder listens: in the folder, or where its path is too long, in a folder of its own among the temporary files. */
export function chooseSocketPath(folder: string): string {
  const record = path.join(folder, RECORD_NAME);
  const inFolder = path.join(folder, SOCKET_NAME);
  if (Buffer.byteLength(inFolder) <= SOCKET_PATH_BYTES_MAX) {
    rmSync(record, { force: true });
    return inFolder;
  }
  const recorded = readRecord(record);
  if (recorded !== undefined && existsSync(path.dirname(recorded))) return recorded;
  // mkdtemp makes a folder that only its owner may enter, so nobody else can put a socket there.
  const socket = path.join(mkdtempSync(path.join(tmpdir(), "abreast-")), SOCKET_NAME);
  writeFileSync(record, `${socket}\n`);
  return socket;
}

/** Where the engine of a folder would be listening. */
export function findSocketPath(folder: string): string {
  return readRecord(path.join(folder, RECORD_NAME)) ?? path.join(folder, SOCKET_NAME);
}

/** Removes what `chooseSocketPath` made outside the folder. */
export function forgetSocketPath(folder: string): void {
  const record = path.join(folder, RECORD_NAME);
  const recorded = readRecord(record);
  if (recorded === undefined) return;
  rmSync(path.dirname(recorded), { recursive: true, force: true });
  rmSync(record, { force: true });
}

function readRecord(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, "utf8").trim() : undefined;
}
