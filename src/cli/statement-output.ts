import { fstatSync } from "node:fs";
import { ReplicationError } from "../base/error.ts";
import { systemReason } from "../base/system-error.ts";

/** Whoever read standard output has gone: there is nothing more to do, and nothing is wrong. */
export class OutputClosed extends Error {}

/** As long as nothing comes, so often is an empty line written to a pipe: only that shows that nobody reads it any more. */
const QUIET_MS = 2_000;
const READER_GONE = new Set(["EPIPE", "EIO"]);

/** Standard output, for statements: whoever writes waits until they are taken. */
export class StatementOutput {
  #wroteAtMs = performance.now();

  /** @throws OutputClosed; ReplicationError OUTPUT */
  readonly write = (bytes: Buffer | string): Promise<void> =>
    new Promise((resolve, reject) => {
      this.#wroteAtMs = performance.now();
      process.stdout.write(bytes, (error) => {
        if (error === null || error === undefined) resolve();
        else reject(failureOf(error));
      });
    });

  /**
   * From here on a reader that goes away is noticed, also where nothing is to be written.
   * @returns ends it
   */
  watchReader(): () => void {
    const stats = fstatSync(process.stdout.fd);
    if (!stats.isFIFO() && !stats.isSocket()) return () => {};
    const timer = setInterval(() => {
      // That it failed is told to whoever listens to standard output.
      if (performance.now() - this.#wroteAtMs >= QUIET_MS) this.write("\n").catch(() => {});
    }, QUIET_MS);
    return () => clearInterval(timer);
  }
}

function failureOf(error: NodeJS.ErrnoException): Error {
  if (READER_GONE.has(error.code ?? "")) return new OutputClosed();
  return new ReplicationError("OUTPUT", `standard output cannot be written: ${systemReason(error)}`, { cause: error });
}
