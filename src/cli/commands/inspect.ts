import { readFileSync, writeFileSync } from "node:fs";
import { Command } from "commander";
import { ReplicationError } from "../../base/error.ts";
import { systemReason } from "../../base/system-error.ts";
import { findInputs } from "../../inspect/input/input.ts";
import { type Bound, describeBound, parseBound, type Range } from "../../inspect/input/range.ts";
import { inspect } from "../../inspect/inspect.ts";
import type { Schema } from "../../schema/dump.ts";
import { renderInspect, renderInspectLine } from "../render/inspect.ts";
import { Screen } from "../screen.ts";

const HELP = `
Files may be plain, or packed with gzip or zstd. A folder stands for the binlog files in it, an index file for the files that it names, - for standard input.
No server is needed. Checksums are not looked at without --verify-checksums. What cannot be read is told with offset and reason; all that can be is counted.

A bound of --from and --to is a time ("2026-11-30 03:12", UTC unless it says otherwise), a GTID, or a position ("binlog.000003:1234").

Rows are told apart by their key where the log (binlog_row_metadata=FULL, or minimal row images) or --schema tells it; else the first column is taken for it, and the
report says so.

Exit codes: 0 all was read; 1 not all could be read; 2 usage; 3 failure.

Examples:
  abreast inspect binlog.000042
  abreast inspect /var/lib/mysql --from "2026-11-30 03:00" --to "2026-11-30 03:15"
  abreast inspect binlog.0000* --html report.html
  mysqldump --no-data --all-databases > schema.sql; abreast inspect binlog.000042 --schema schema.sql
  abreast inspect binlog.000042 --json | jq '.tables[] | select(.keyFrom == "none")'`;

interface InspectFlags {
  from?: string;
  to?: string;
  schema?: string;
  top: string;
  verifyChecksums?: true;
  json?: true;
  html?: string;
}

export function inspectCommand(): Command {
  return new Command("inspect")
    .description("show what is in binlog files: load, tables, patterns, large transactions, parallelism")
    .argument("[FILE...]", "binlog files, folders with binlog files, or index files")
    .option("--from <BOUND>", "begin with the first transaction at or behind this time, GTID or position")
    .option("--to <BOUND>", "end before this time or position, or with this GTID")
    .option("--schema <FILE>", "names and keys of tables: the output of mysqldump --no-data, or of SHOW CREATE TABLE")
    .option("--top <NUMBER>", "rows to show of each table", "10")
    .option("--verify-checksums", "check each event's CRC32")
    .option("--json", "print the report as JSON")
    .option("--html <FILE>", "write the report as one page with charts")
    .helpOption("-h, --help", "print help")
    .addHelpText("after", HELP)
    .action(run);
}

async function run(paths: string[], flags: InspectFlags): Promise<void> {
  if (paths.length === 0) {
    throw new ReplicationError("CONFIG", "inspect needs a file", { hint: "abreast inspect --help" });
  }
  const screen = new Screen(process.stdout, process.stderr);
  const top = topOf(flags.top);
  const range = rangeOf(flags);
  const schema = flags.schema === undefined ? undefined : await readSchema(flags.schema);
  const inputs = await findInputs(paths);
  let missing: Bound | undefined;
  const report = await inspect(inputs, {
    ...(range === undefined ? {} : { range }),
    ...(schema === undefined ? {} : { schema }),
    verifyChecksums: flags.verifyChecksums === true,
    onBytes: progress(inputs.map(({ bytes }) => bytes)),
    onMissing: (bound) => (missing = bound),
  });
  clearProgress();
  if (missing !== undefined) screen.note(`note: ${describeBound(missing)} is not in these files`);
  if (flags.html !== undefined) {
    const { inspectPage } = await import("../../inspect/html.ts");
    writePage(flags.html, inspectPage(report));
    screen.note(`the page is in ${flags.html}`);
  }
  if (flags.json) screen.print(JSON.stringify(report, undefined, 2));
  else if (flags.html === undefined) screen.print(renderInspect(report, { width: screen.width, top }));
  if (report.faults.length > 0) process.exitCode = 1;
}

function rangeOf({ from, to }: InspectFlags): Range | undefined {
  if (from === undefined && to === undefined) return undefined;
  return { from: from === undefined ? undefined : parseBound(from), to: to === undefined ? undefined : parseBound(to) };
}

function topOf(text: string): number {
  const top = Number(text);
  if (/^\d+$/.test(text) && top >= 1) return top;
  throw new ReplicationError("CONFIG", `--top is ${JSON.stringify(text)}`, { hint: "give a whole number from 1 on" });
}

async function readSchema(file: string): Promise<Schema> {
  const { parseSchemaDump } = await import("../../schema/dump.ts");
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

function writePage(file: string, page: string): void {
  try {
    writeFileSync(file, page);
  } catch (error) {
    throw new ReplicationError("CONFIG", `--html ${file} cannot be written: ${systemReason(error)}`, { cause: error });
  }
}

/** Before it nobody has begun to wait. */
const PROGRESS_AFTER_MS = 500;
const PROGRESS_EVERY_MS = 200;
const COLUMNS_DEFAULT = 80;

/** A line on standard error, where that is a terminal, about how far the reading is. Compressed files are told by what comes out of them: then there is no total. */
function progress(sizes: readonly (number | undefined)[]): (bytes: number) => void {
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
    process.stderr.write(`\r\u001B[2K${renderInspectLine(done, total, elapsedMs).slice(0, width)}`);
  };
}

function clearProgress(): void {
  if (process.stderr.isTTY) process.stderr.write("\r\u001B[2K");
}
