import type { SpillFile } from "../../src/inspect/rows/reverse-spool.ts";

/** What would go to a temporary file. */
export function memory(): SpillFile {
  let held = Buffer.alloc(0);
  return {
    write: (bytes, at) => {
      held = Buffer.concat([held.subarray(0, at), bytes]);
    },
    read: (at, length) => Buffer.from(held.subarray(at, at + length)),
  };
}
