import { mkdtempSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { ReplicationError } from "../base/error.ts";
import { systemReason } from "../base/system-error.ts";
import type { SpillFile } from "../inspect/rows/reverse-spool.ts";
import { formatBytes } from "./render/units.ts";

/** A temporary file without a name: it is gone with the process, however that ends. @throws ReplicationError DISK_FULL, also from what it returns */
export function openSpillFile(): SpillFile {
  const folder = tmpdir();
  let length = 0;
  const attempt = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      throw unusable(folder, length, error);
    }
  };
  const descriptor = attempt(() => {
    const own = mkdtempSync(path.join(folder, "abreast-undo-"));
    const opened = openSync(path.join(own, "spill"), "w+", 0o600);
    rmSync(own, { recursive: true });
    return opened;
  });
  return {
    write: (bytes, at) => {
      length = at;
      attempt(() => {
        for (let done = 0; done < bytes.length;) {
          const written = writeSync(descriptor, bytes, done, bytes.length - done, at + done);
          done += written;
          length += written;
        }
      });
    },
    read: (at, wanted) => {
      const bytes = Buffer.allocUnsafe(wanted);
      attempt(() => {
        for (let done = 0; done < wanted;) {
          const read = readSync(descriptor, bytes, done, wanted - done, at + done);
          if (read === 0) throw new Error("it is shorter than what was written");
          done += read;
        }
      });
      return bytes;
    },
  };
}

function unusable(folder: string, length: number, cause: unknown): ReplicationError {
  const held = length === 0 ? "" : `, with ${formatBytes(length)} of statements in it`;
  return new ReplicationError(
    "DISK_FULL",
    `the temporary file that --undo needs in ${folder} cannot be used${held}: ${systemReason(cause)}`,
    { retry: "never", hint: "TMPDIR=FOLDER, one with about as much room as the log has bytes uncompressed", cause },
  );
}
