import { mkdtempSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { ReplicationError } from "../base/error.ts";
import { systemReason } from "../base/system-error.ts";
import type { SpillFile } from "../inspect/rows/reverse-spool.ts";

/** A temporary file without a name: it is gone with the process, however that ends. */
export function openSpillFile(): SpillFile {
  const folder = tmpdir();
  const descriptor = attempt(folder, () => {
    const own = mkdtempSync(path.join(folder, "abreast-undo-"));
    const opened = openSync(path.join(own, "spill"), "w+", 0o600);
    rmSync(own, { recursive: true });
    return opened;
  });
  return {
    write: (bytes, at) => {
      attempt(folder, () => {
        for (let done = 0; done < bytes.length;)
          done += writeSync(descriptor, bytes, done, bytes.length - done, at + done);
      });
    },
    read: (at, length) => {
      const bytes = Buffer.allocUnsafe(length);
      attempt(folder, () => {
        for (let done = 0; done < length;) {
          const read = readSync(descriptor, bytes, done, length - done, at + done);
          if (read === 0) throw new Error("the temporary file is shorter than what was written");
          done += read;
        }
      });
      return bytes;
    },
  };
}

function attempt<T>(folder: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new ReplicationError("DISK_FULL", `the temporary file in ${folder} cannot be used: ${systemReason(error)}`, {
      retry: "never",
      hint: "set TMPDIR to a folder with as much room as the log has bytes",
      cause: error,
    });
  }
}
