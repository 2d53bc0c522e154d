import { readFileSync } from "node:fs";
import { ReplicationError } from "../base/error.ts";
import { systemReason } from "../base/system-error.ts";
import type { BinlogInput } from "../inspect/input/input.ts";
import { parseBound, type Range } from "../inspect/input/range.ts";
import type { Schema } from "../schema/dump.ts";
import type { Screen } from "./screen.ts";

/** What commands that read binlog files have in common. */

/** Of `--from` and `--to`. @throws ReplicationError CONFIG */
export function rangeOf({ from, to }: { from?: string; to?: string }): Range | undefined {
  if (from === undefined && to === undefined) return undefined;
  return { from: from === undefined ? undefined : parseBound(from), to: to === undefined ? undefined : parseBound(to) };
}

/** The file of `--schema`. @throws ReplicationError CONFIG */
export async function readSchema(file: string): Promise<Schema> {
  const { parseSchemaDump } = await import("../schema/dump.ts");
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new ReplicationError("CONFIG", `--schema ${file} cannot be read: ${systemReason(error)}`, {
      hint: "give the output of mysqldump --no-data",
      cause: error,
    });
  }
  const schema = parseSchemaDump(text);
  if (schema.tables.length > 0) return schema;
  throw new ReplicationError("CONFIG", `--schema ${file} has no CREATE TABLE`, {
    hint: "give the output of mysqldump --no-data --all-databases, or of SHOW CREATE TABLE",
  });
}

/** Files of several servers are one log to none of them. @returns what it says of them, undefined when they are of one */
export async function noteMixed(inputs: readonly BinlogInput[], screen: Screen): Promise<string | undefined> {
  if (inputs.length < 2) return undefined;
  const { mixedOrigins } = await import("../inspect/input/origin.ts");
  const mixed = await mixedOrigins(inputs);
  if (mixed !== undefined) screen.note(`note: these files are read as one log, but ${mixed}`);
  return mixed;
}

/** Before it nobody has begun to wait. */
const PROGRESS_AFTER_MS = 500;
const PROGRESS_EVERY_MS = 200;
const COLUMNS_DEFAULT = 80;

/**
 * A line on standard error, where that is a terminal, about how far the reading is. `sizes`: of the files, where they are known; compressed ones are told by what comes out of them:
 * then there is no total.
 * @returns to be called with the bytes read since the last call
 */
export function progressLine(
  sizes: readonly (number | undefined)[],
  line: (done: number, total: number | undefined, elapsedMs: number) => string,
): (bytes: number) => void {
  if (!process.stderr.isTTY) return () => {};
  const total = sizes.reduce((sum, size) => (sum === undefined || size === undefined ? undefined : sum + size), 0);
  const startMs = performance.now();
  let nextMs = PROGRESS_AFTER_MS;
  let done = 0;
  return (bytes) => {
    done += bytes;
    const elapsedMs = performance.now() - startMs;
    if (elapsedMs < nextMs) return;
    nextMs = elapsedMs + PROGRESS_EVERY_MS;
    const width = (process.stderr.columns ?? COLUMNS_DEFAULT) - 1;
    process.stderr.write(`\r\u001B[2K${line(done, total, elapsedMs).slice(0, width)}`);
  };
}

export function clearProgressLine(): void {
  if (process.stderr.isTTY) process.stderr.write("\r\u001B[2K");
}
