import { closeSync, openSync, readSync, rmSync, statSync, type Stats, writeFileSync } from "node:fs";
import { ReplicationError } from "../base/error.ts";
import { systemReason } from "../base/system-error.ts";

/** `\xfebin`, and that of an encrypted file. */
const BINLOG_MAGICS = ["fe62696e", "fd62696e"];
/** Reasons that are the machine's, not the command line's. */
const RUNTIME_CODES = new Set(["ENOSPC", "EDQUOT", "EFBIG", "EIO"]);

/**
 * To be called before anything is read: an output that is one of the files that are read, by whatever name, would be the end of it.
 * @throws ReplicationError CONFIG: it is one of `read`, or a binlog
 */
export function checkOutputFile(flag: string, file: string | undefined, read: readonly (string | undefined)[]): void {
  if (file === undefined) return;
  const there = statusOf(file);
  if (there?.isFile() !== true) return;
  const isRead = read.some((one) => {
    const stats = one === undefined ? undefined : statusOf(one);
    return stats !== undefined && stats.dev === there.dev && stats.ino === there.ino;
  });
  if (!isRead && !BINLOG_MAGICS.includes(headOf(file))) return;
  throw new ReplicationError("CONFIG", `${flag} ${file} would overwrite ${isRead ? "what is read" : "a binlog"}`, {
    hint: `give ${flag} the name of a new file`,
  });
}

/** To the file that `flag` names. What could be written of it only in part is removed. @throws ReplicationError CONFIG, OUTPUT */
export function writeOutputFile(flag: string, file: string, text: string): void {
  checkOutputFile(flag, file, []);
  try {
    writeFileSync(file, text);
  } catch (error) {
    const isOurs = RUNTIME_CODES.has((error as NodeJS.ErrnoException).code ?? "");
    if (isOurs && statusOf(file)?.isFile() === true) rmSync(file, { force: true });
    throw new ReplicationError(
      isOurs ? "OUTPUT" : "CONFIG",
      `${flag} ${file} cannot be written: ${systemReason(error)}`,
      {
        cause: error,
      },
    );
  }
}

function statusOf(file: string): Stats | undefined {
  try {
    return statSync(file);
  } catch {
    return undefined;
  }
}

function headOf(file: string): string {
  const head = Buffer.alloc(4);
  let descriptor: number;
  try {
    descriptor = openSync(file, "r");
  } catch {
    return "";
  }
  try {
    return head.subarray(0, readSync(descriptor, head, 0, head.length, 0)).toString("hex");
  } finally {
    closeSync(descriptor);
  }
}
