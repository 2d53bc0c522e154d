import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Log } from "../base/log.ts";
import type { EngineStatus } from "../engine/status.ts";
import { hidePasswords } from "../observe/secrets.ts";

const FILE = "last-status.json";

/**
 * The last status of the engine that ran in a folder, for those who ask when it has ended. An engine that starts removes that of the one before: of one that was
 * killed nothing is known, rather than what its predecessor said. Only its owner may read it.
 */
export function keepLastStatus(folder: string, status: EngineStatus, log: Log): void {
  const file = path.join(folder, FILE);
  try {
    rmSync(`${file}.new`, { force: true });
    writeFileSync(`${file}.new`, `${hidePasswords(JSON.stringify(status, undefined, 2))}\n`, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  } catch (error) {
    // A full disk must not hide why the engine ended.
    log.warn("the last status could not be kept", { file, reason: String(error) });
  }
}

export function forgetLastStatus(folder: string): void {
  rmSync(path.join(folder, FILE), { force: true });
}

/** Undefined where nothing is known: no engine ran there, it was killed, or the file is not ours to read. */
export function readLastStatus(folder: string): EngineStatus | undefined {
  try {
    return JSON.parse(readFileSync(path.join(folder, FILE), "utf8")) as EngineStatus;
  } catch {
    return undefined;
  }
}
